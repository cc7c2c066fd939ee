//! Congestion control as a task: each flow whose policy has neither file nor name is an agent.

use varicap_experiment::{FlowSpec, Network, Transport};
use varicap_tcp::Congestion;
use varicap_tcp::congestion::{IntervalSample, MOST_ACTIONS, PolicyConfig, Quantity};
use varicap_units::{Span, Time, stream_name};

use super::{Phase, Report, Shape, ratio};
use crate::world::{Decisions, Timetable, World};

/// The quantities of a sample: those of the connection.
pub(super) const SAMPLED: [Quantity; IntervalSample::QUANTITIES.len()] = IntervalSample::QUANTITIES;

/// Queueing beyond this many round trips costs no more.
const MOST_STRETCH: f64 = 10.0;

/// The reward of an interval for a flow:
///
/// ```text
/// throughput * delivered / (capacity * span) - delay * (rtt / base_rtt - 1) - loss * lost / (lost + delivered)
/// ```
///
/// with the mean capacity of the slowest link to the receiver and the round trip of the empty path. The RTT is the mean of the
/// interval, or the last one that there was; its term counts from 0 to 10.
///
/// Intervals that are counted in acknowledgements or round trips differ in length. What they are worth adds up instead, so
/// that slow ones are not worth as much as quick ones; over a base RTT it is nearly the same:
///
/// ```text
/// (throughput * delivered - loss * lost) / (capacity * base_rtt) - delay * (rtt / base_rtt - 1) * span / base_rtt
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowTask {
    /// Worth of a link that is used fully.
    pub throughput: f64,
    /// Cost of each round trip that packets wait in queues.
    pub delay: f64,
    /// Cost of losing everything.
    pub loss: f64,
}

/// The agent of one flow of a group.
#[derive(Debug)]
struct Agent {
    group: u16,
    member: u32,
    actions: usize,
    capacity_bps: f64,
    base_rtt_s: f64,
    /// Whether its intervals are counted rather than timed.
    counts: bool,
    owner: Option<u32>,
    phase: Phase,
    sample: IntervalSample,
    rtt_s: f64,
}

/// The flows of an episode.
pub(super) struct FlowDriver {
    task: FlowTask,
    observed: usize,
    actions: usize,
    agents: Vec<Agent>,
}

/// The policy of a flow, if an environment acts in its place.
fn vacant(flow: &FlowSpec) -> Option<&PolicyConfig> {
    match &flow.transport {
        Transport::Tcp { tcp, .. } => match &tcp.congestion {
            Congestion::Policy(policy) if policy.source().is_none() => Some(policy),
            _ => None,
        },
        Transport::Datagrams(_) | Transport::Endpoint { .. } => None,
    }
}

impl FlowTask {
    pub(super) fn shape(&self, network: &Network) -> Result<Shape, String> {
        let mut agents = Vec::new();
        let mut first: Option<&PolicyConfig> = None;
        for flow in &network.flows {
            let Some(policy) = vacant(flow) else { continue };
            if flow.carries_arrivals() {
                return Err(format!(
                    "`{}` is transfers that come and go: nobody can act for them one by one",
                    flow.name
                ));
            }
            slowest(network, flow)?;
            if first.is_some_and(|first| first != policy) {
                return Err(format!("`{}` has another policy than the flows before it", flow.name));
            }
            first = Some(policy);
            let several = flow.count > 1;
            let member = |member| stream_name::connection(&flow.name, several.then_some(member));
            agents.extend((0..flow.count).map(member));
        }
        let Some(policy) = first else { return Err("no flow has a policy without a file".to_owned()) };
        let decisions = decisions(policy, &agents, network)?;
        Ok(Shape {
            agents,
            observed: policy.observed(),
            actions: policy.moves.actions(),
            sampled: SAMPLED.len(),
            decisions,
        })
    }

    /// The flows of `network`, none of which is open yet.
    pub(super) fn driver(&self, network: &Network) -> FlowDriver {
        let mut driver = FlowDriver { task: *self, observed: 0, actions: 0, agents: Vec::new() };
        for (group, flow) in (0u16..).zip(&network.flows) {
            let Some(policy) = vacant(flow) else { continue };
            (driver.observed, driver.actions) = (policy.observed(), policy.moves.actions());
            driver.agents.extend((0..flow.count).map(|member| Agent {
                group,
                member,
                actions: policy.moves.actions(),
                capacity_bps: slowest(network, flow).unwrap_or(f64::INFINITY),
                base_rtt_s: network.base_rtt(flow).as_secs_f64(),
                counts: policy.interval.time().is_none(),
                owner: None,
                phase: Phase::Waiting,
                sample: IntervalSample::default(),
                rtt_s: 0.0,
            }));
        }
        driver
    }
}

/// When `agents`, whose flows have this policy in `network`, decide.
fn decisions(policy: &PolicyConfig, agents: &[String], network: &Network) -> Result<Decisions, String> {
    let interval = policy.interval;
    if let Some(interval) = interval.time() {
        return Ok(Decisions::Timed(Timetable { next: Time::ZERO + interval, interval }));
    }
    if agents.len() > 1 {
        let why = "would each count their own; let them act after a time";
        return Err(format!("an interval of {interval} is one flow's: {} {why}", agents.join(", ")));
    }
    let mut acting = network.flows.iter().filter(|flow| vacant(flow).is_some());
    if acting.any(|flow| network.base_rtt(flow) == Span::ZERO) {
        return Err(format!("an interval of {interval} needs a path with a round trip"));
    }
    Ok(Decisions::Counted(interval))
}

/// The mean capacity of the slowest link to the receiver [b/s].
fn slowest(network: &Network, flow: &FlowSpec) -> Result<f64, String> {
    let rates = flow.forward.iter().map(|link| network.links[*link].mean_capacity);
    let least = rates.min().filter(|rate| !rate.is_unlimited() && rate.as_bps() > 0);
    let least = least
        .ok_or_else(|| format!("`{}` passes no link with a capacity, of which a reward speaks", flow.name))?;
    Ok(least.as_bps() as f64)
}

impl FlowDriver {
    pub(super) fn report(&mut self, now: Time, world: &mut World, report: &mut Report<'_>) {
        let observations = report.observations.chunks_exact_mut(self.observed);
        let samples = report.samples.chunks_exact_mut(SAMPLED.len());
        let places = samples.zip(observations).zip(report.rewards.iter_mut());
        for (agent, ((sample, observation), reward)) in self.agents.iter_mut().zip(places) {
            sample.fill(0.0);
            observation.fill(0.0);
            *reward = 0.0;
            sample[0] = now.as_secs_f64();
            agent.look(world);
            if agent.phase != Phase::Acting {
                continue;
            }
            let Some(owner) = agent.owner else { continue };
            let Some((found, observed)) = world.end_interval(now, owner) else { continue };
            sample.copy_from_slice(&found.values());
            observation.copy_from_slice(observed);
            agent.sample = found;
            *reward = agent.reward(&self.task);
        }
    }

    pub(super) fn act(&mut self, now: Time, world: &mut World, actions: &[f32]) {
        for (agent, action) in self.agents.iter().zip(actions.chunks_exact(self.actions)) {
            let (Phase::Acting, Some(owner)) = (agent.phase, agent.owner) else { continue };
            let mut padded = [0.0; MOST_ACTIONS];
            padded[..agent.actions].copy_from_slice(action);
            world.act(now, owner, &agent.sample, Some(&padded));
        }
    }

    pub(super) fn phase(&self) -> Phase {
        let all = |phase: Phase| self.agents.iter().all(|agent| agent.phase == phase);
        if self.agents.iter().any(|agent| agent.phase == Phase::Acting) {
            Phase::Acting
        } else if all(Phase::Over) {
            Phase::Over
        } else {
            Phase::Waiting
        }
    }
}

impl Agent {
    /// Looks for its connection, which opens and is over at some time.
    fn look(&mut self, world: &World) {
        // A slot is used again by others once it is free.
        if self.phase == Phase::Over
            || self.owner.is_some_and(|owner| world.holds(owner, self.group, self.member))
        {
            return;
        }
        self.owner = world.member(self.group, self.member);
        self.phase = match (self.owner, self.phase) {
            (Some(_), _) => Phase::Acting,
            (None, Phase::Waiting) => Phase::Waiting,
            (None, _) => Phase::Over,
        };
    }

    fn reward(&mut self, task: &FlowTask) -> f64 {
        let sample = &self.sample;
        if sample.rtt.as_nanos() > 0 {
            self.rtt_s = sample.rtt.as_secs_f64();
        }
        let (delivered, lost) = (sample.delivered.as_u64() as f64, sample.lost.as_u64() as f64);
        let stretch = (ratio(self.rtt_s, self.base_rtt_s) - 1.0).clamp(0.0, MOST_STRETCH);
        if self.counts {
            let rounds = sample.span.as_secs_f64() / self.base_rtt_s;
            let worth = 8.0 * (task.throughput * delivered - task.loss * lost);
            return worth / (self.capacity_bps * self.base_rtt_s) - task.delay * stretch * rounds;
        }
        let share = ratio(8.0 * delivered, self.capacity_bps * sample.span.as_secs_f64());
        task.throughput * share - task.delay * stretch - task.loss * ratio(lost, lost + delivered)
    }
}
