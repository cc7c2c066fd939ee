//! Rate advice as a task: the agent is a link, and says how far above or below its exact rate it advises a flow group.

use varicap_experiment::Network;
use varicap_experiment::measure::LinkTotals;
use varicap_tcp::congestion::Quantity;
use varicap_units::{Rate, Time};

use super::{Report, Shape, ratio};
use crate::world::{Decisions, Timetable, World};

/// The quantities of a sample.
pub(super) const SAMPLED: [Quantity; 9] = [
    Quantity::new("at", "s", "The end of the interval."),
    Quantity::new("span", "s", "Its length."),
    Quantity::new("capacity", "b/s", "The capacity at its end."),
    Quantity::new("offered", "b", "What the capacity could have carried."),
    Quantity::new("carried", "B", "What left the server."),
    Quantity::new("arrived_packets", "1", "Packets that arrived, lost or not."),
    Quantity::new("lost_packets", "1", "Packets that were lost, on the channel or before."),
    Quantity::new("mean_waiting", "B", "The mean backlog."),
    Quantity::new("factor", "1", "What was advised, over the exact rate."),
];

/// The quantities that the agent observes.
pub(super) const OBSERVED: [Quantity; 6] = [
    Quantity::new("capacity", "1", "The capacity over its long-run mean, at most 10."),
    Quantity::new("used", "1", "What was carried, of what could have been; 1 where nothing could."),
    Quantity::new(
        "waiting",
        "1",
        "The mean backlog, as what the mean capacity carries in base round trips: at most 10.",
    ),
    Quantity::new("growth", "1", "By how much that grew since the interval before: -10 to 10."),
    Quantity::new("loss", "1", "Packets lost, of those that arrived, at most 1."),
    Quantity::new("advice", "1", "Binary logarithm of what was advised over the exact rate."),
];

/// A flow group that is advised, and what an interval is worth to its link:
///
/// ```text
/// throughput * carried / offered - delay * waiting - loss * lost / arrived
/// ```
///
/// in the terms of an observation. Over an interval without capacity the first term is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceTask {
    /// The flow group's name.
    pub flow: String,
    /// Worth of a link that is used fully.
    pub throughput: f64,
    /// Cost of a backlog of what the mean capacity carries in a round trip.
    pub delay: f64,
    /// Cost of losing everything.
    pub loss: f64,
}

/// The link of an episode.
pub(super) struct AdviceDriver {
    task: AdviceTask,
    group: u16,
    link: usize,
    mean: Rate,
    base_rtt_s: f64,
    before: LinkTotals,
    since: Time,
    waiting: f64,
    factor: f64,
}

impl AdviceTask {
    /// The number of the flow group, and its link that advertises.
    fn find(&self, network: &Network) -> Result<(u16, usize), String> {
        let mut flows = (0u16..).zip(&network.flows);
        let (group, flow) = flows
            .find(|(_, flow)| *flow.name == *self.flow)
            .ok_or_else(|| format!("there is no flow `{}`", self.flow))?;
        let feedback = flow.feedback.as_ref();
        let feedback =
            feedback.ok_or_else(|| format!("nothing advises `{}`: it has no feedback", self.flow))?;
        match feedback.links[..] {
            [link] => Ok((group, link)),
            _ => Err(format!("several links advise `{}`, and the agent is one", self.flow)),
        }
    }

    pub(super) fn shape(&self, network: &Network) -> Result<Shape, String> {
        let (group, link) = self.find(network)?;
        let feedback = network.flows[usize::from(group)].feedback.as_ref();
        let interval = feedback.and_then(|feedback| feedback.estimator.interval());
        let interval = interval.ok_or_else(|| format!("the feedback of `{}` has no interval", self.flow))?;
        Ok(Shape {
            agents: vec![network.links[link].name.to_string()],
            observed: OBSERVED.len(),
            actions: 1,
            sampled: SAMPLED.len(),
            decisions: Decisions::Timed(Timetable { next: Time::ZERO + interval, interval }),
        })
    }

    pub(super) fn driver(&self, network: &Network) -> AdviceDriver {
        let (group, link) = self.find(network).unwrap_or_default();
        AdviceDriver {
            task: self.clone(),
            group,
            link,
            mean: network.links[link].mean_capacity,
            base_rtt_s: network.base_rtt(&network.flows[usize::from(group)]).as_secs_f64(),
            before: LinkTotals::default(),
            since: Time::ZERO,
            waiting: 0.0,
            factor: 1.0,
        }
    }
}

impl AdviceDriver {
    pub(super) fn report(&mut self, now: Time, world: &mut World, report: &mut Report<'_>) {
        let (totals, capacity) = world.link(now, self.link);
        let before = std::mem::replace(&mut self.before, totals);
        let span = now.since(std::mem::replace(&mut self.since, now));
        let offered = (totals.offered - before.offered).as_bits_f64();
        let carried = (totals.carried - before.carried).as_u64() as f64;
        let arrived = (totals.arrived_frames - before.arrived_frames) as f64;
        let lost = (totals.lost_frames() - before.lost_frames()) as f64;
        let byte_time = (totals.byte_time - before.byte_time) as f64;
        let mean_waiting = ratio(byte_time, span.as_nanos() as f64);
        report.samples.copy_from_slice(&[
            now.as_secs_f64(),
            span.as_secs_f64(),
            capacity.as_bps() as f64,
            offered,
            carried,
            arrived,
            lost,
            mean_waiting,
            self.factor,
        ]);
        let mean_bps = self.mean.as_bps() as f64;
        let waiting = ratio(mean_waiting * 8.0, mean_bps * self.base_rtt_s).min(10.0);
        let growth = waiting - std::mem::replace(&mut self.waiting, waiting);
        let used = if offered > 0.0 { (carried * 8.0 / offered).min(1.0) } else { 1.0 };
        let loss = ratio(lost, arrived).min(1.0);
        let share = ratio(capacity.as_bps() as f64, mean_bps).min(10.0);
        let seen = [share, used, waiting, growth.clamp(-10.0, 10.0), loss, libm::log2(self.factor)];
        report.observations.copy_from_slice(&seen.map(|value| value as f32));
        let worth = if offered > 0.0 { used } else { 0.0 };
        report.rewards[0] = self.task.throughput * worth - self.task.delay * waiting - self.task.loss * loss;
    }

    pub(super) fn act(&mut self, now: Time, world: &mut World, actions: &[f32]) {
        let action = f64::from(actions[0].clamp(-1.0, 1.0));
        self.factor = libm::exp2(if action.is_nan() { 0.0 } else { action });
        world.advise(now, self.group, self.factor);
    }
}
