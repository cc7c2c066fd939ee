//! Load-reactive capacity as a task: the agent is one link, and moves its capacity by steps.

use varicap_experiment::Network;
use varicap_net::{CapacityParts, QueueSample, ReactiveParts, Setting};
use varicap_tcp::congestion::Quantity;
use varicap_units::{Rate, Time};

use super::{Report, Shape};
use crate::world::{Decisions, Timetable, World};

/// The quantities of a sample.
pub(super) const SAMPLED: [Quantity; 10] = [
    Quantity::new("at", "s", "The instant of the sample."),
    Quantity::new("span", "s", "Time since the last sample; 0 at the first."),
    Quantity::new("capacity", "b/s", "The capacity in that time."),
    Quantity::new("minimum", "b/s", "The least capacity that the link is to have."),
    Quantity::new("residual", "b/s", "What there is for it at most now."),
    Quantity::new("waiting", "B", "The backlog now."),
    Quantity::new("mean_waiting", "B", "The mean backlog since the last sample."),
    Quantity::new("arrived", "B", "Data that has arrived since the last sample, lost or not."),
    Quantity::new("arrived_packets", "1", "The same in packets."),
    Quantity::new("lost_packets", "1", "Packets lost at the queue since the last sample."),
];

/// The quantities that an agent observes.
pub(super) const OBSERVED: [Quantity; 5] = [
    Quantity::new("capacity", "Mb/s", "The capacity."),
    Quantity::new("waiting", "kB", "The backlog now."),
    Quantity::new("mean_waiting", "kB", "Its mean since the last sample."),
    Quantity::new("arrivals", "Mb/s", "The rate of arrivals since the last sample."),
    Quantity::new("lost", "1", "Packets lost since the last sample."),
];

/// A link, and what each second costs; the reward is what the time since the last sample has cost, negative.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTask {
    /// The link's name.
    pub link: String,
    /// By how much an action of 1 moves the capacity.
    pub step: Rate,
    /// Cost of a second with a capacity of a Mb/s.
    pub per_mbps: f64,
    /// Cost of a second in which 1000 bytes wait.
    pub per_kb: f64,
    /// Cost of each packet that is lost.
    pub per_lost: f64,
}

/// The link of an episode.
pub(super) struct LinkDriver {
    task: LinkTask,
    link: usize,
    capacity: Rate,
}

impl LinkTask {
    fn find<'a>(&self, network: &'a Network) -> Result<(usize, &'a ReactiveParts), String> {
        let mut reactive = Vec::new();
        for (index, link) in network.links.iter().enumerate() {
            let CapacityParts::LoadReactive(parts) = &link.parts.capacity else { continue };
            if *link.name == *self.link {
                return Ok((index, parts));
            }
            reactive.push(&*link.name);
        }
        Err(match reactive[..] {
            [] => "no link has a load-reactive capacity".to_owned(),
            _ => format!("`{}` is not load-reactive; {} are", self.link, reactive.join(", ")),
        })
    }

    pub(super) fn shape(&self, network: &Network) -> Result<Shape, String> {
        let (_, parts) = self.find(network)?;
        if let Some(pool) = &parts.config.pool {
            return Err(format!("`{}` shares its capacity with the pool `{pool}`", self.link));
        }
        Ok(Shape {
            agents: vec![self.link.clone()],
            observed: OBSERVED.len(),
            actions: 1,
            sampled: SAMPLED.len(),
            decisions: Decisions::Timed(Timetable {
                next: Time::ZERO + parts.config.phase,
                interval: parts.config.interval,
            }),
        })
    }

    pub(super) fn driver(&self, network: &Network, world: &mut World) -> LinkDriver {
        let link = self.find(network).map_or(0, |(link, _)| link);
        world.hand_over(link);
        LinkDriver { task: self.clone(), link, capacity: Rate::ZERO }
    }

    fn cost(&self, sample: &QueueSample) -> f64 {
        let megabits = sample.capacity.as_bps() as f64 / 1e6;
        let running = self.per_mbps * megabits + self.per_kb * sample.mean.bytes / 1e3;
        running * sample.span.as_secs_f64() + self.per_lost * f64::from(sample.lost.frames)
    }
}

impl LinkDriver {
    pub(super) fn report(&mut self, now: Time, world: &mut World, report: &mut Report<'_>) {
        let Some(sample) = world.observe_link(now, self.link) else { return };
        self.capacity = sample.capacity;
        let bps = |rate: Rate| if rate.is_unlimited() { f64::INFINITY } else { rate.as_bps() as f64 };
        let span = sample.span.as_secs_f64();
        let (waiting, arrived) = (sample.waiting.bytes.as_u64() as f64, sample.arrived.bytes.as_u64() as f64);
        report.samples.copy_from_slice(&[
            now.as_secs_f64(),
            span,
            bps(sample.capacity),
            bps(sample.minimum),
            bps(sample.residual),
            waiting,
            sample.mean.bytes,
            arrived,
            f64::from(sample.arrived.frames),
            f64::from(sample.lost.frames),
        ]);
        let arrivals = super::ratio(arrived * 8.0 / 1e6, span);
        let lost = f64::from(sample.lost.frames);
        let seen = [bps(sample.capacity) / 1e6, waiting / 1e3, sample.mean.bytes / 1e3, arrivals, lost];
        report.observations.copy_from_slice(&seen.map(|value| value as f32));
        report.rewards[0] = -self.task.cost(&sample);
    }

    pub(super) fn act(&mut self, now: Time, world: &mut World, actions: &[f32]) {
        let by = f64::from(actions[0].clamp(-1.0, 1.0)) * self.task.step.as_bps() as f64;
        // As a cast: what is no number, and what would be negative, is none.
        let capacity = Rate::from_bps((self.capacity.as_bps() as f64 + by + 0.5) as u64);
        let capacity = if by == 0.0 || by.is_nan() { self.capacity } else { capacity };
        world.set_link(now, self.link, Setting::of(capacity));
    }
}
