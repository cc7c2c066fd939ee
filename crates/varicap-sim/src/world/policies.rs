//! Intervals that end: policies act, and an environment may decide.

use varicap_engine::{Links as _, NodeId, Reactives as _};
use varicap_experiment::measure::LinkTotals;
use varicap_experiment::{FlowSpec, Transport};
use varicap_net::{QueueSample, Setting};
use varicap_tcp::Congestion;
use varicap_tcp::congestion::{Controller, IntervalSample, MOST_ACTIONS};
use varicap_units::{Cadence, Rate, Span, Time};

use super::{Source, World, respond};
use crate::budget::enforce_budget;
use crate::events::EventQueue;

/// When something is due, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timetable {
    /// The instant at which it is due next.
    pub next: Time,
    /// The time from one such instant to the next.
    pub interval: Span,
}

/// When an environment decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decisions {
    /// By the clock.
    Timed(Timetable),
    /// Whenever a connection whose policy has no source has counted such an interval, or is over.
    Counted(Cadence),
}

/// An environment that decides, and the instant at which it does so next.
#[derive(Debug)]
struct Environment {
    decisions: Decisions,
    due: Time,
}

/// The flow groups whose policies decide by themselves, and when each does so next; and when an environment decides.
#[derive(Debug)]
pub struct Policies {
    groups: Vec<(u16, Timetable)>,
    /// The groups whose connections count their intervals.
    counting: Vec<u16>,
    /// Connections of these that have counted one at the instant `asked_at`.
    asking: Vec<u32>,
    asked_at: Time,
    environment: Option<Environment>,
}

impl Policies {
    /// The policies of `flows`, and an environment that decides; `None` if there is neither.
    pub fn new(flows: &[FlowSpec], decisions: Option<Decisions>) -> Option<Policies> {
        let (mut groups, mut counting) = (Vec::new(), Vec::new());
        for (group, flow) in (0u16..).zip(flows) {
            if let Transport::Tcp { tcp, .. } = &flow.transport
                && let Congestion::Policy(policy) = &tcp.congestion
                && policy.source().is_some()
            {
                match policy.interval.time() {
                    Some(interval) => {
                        groups.push((group, Timetable { next: Time::ZERO + interval, interval }));
                    }
                    None => counting.push(group),
                }
            }
        }
        let environment = decisions.map(|decisions| {
            let due = match decisions {
                Decisions::Timed(timetable) => timetable.next,
                Decisions::Counted(_) => Time::NEVER,
            };
            Environment { decisions, due }
        });
        let is_none = groups.is_empty() && counting.is_empty() && environment.is_none();
        (!is_none).then_some(Policies {
            groups,
            counting,
            asking: Vec::new(),
            asked_at: Time::NEVER,
            environment,
        })
    }

    /// The instant at which the next interval ends.
    pub fn poll_at(&self) -> Time {
        let own = self.groups.iter().map(|(_, timetable)| timetable.next);
        let decision = self.environment.as_ref().map(|environment| environment.due);
        own.chain(decision).min().unwrap_or(Time::NEVER).min(self.asked_at)
    }

    /// Connection `owner` of flow group `group` has counted an interval at `now`: whether that makes anybody act.
    fn ask(&mut self, now: Time, group: u16, owner: u32) -> bool {
        if self.counting.contains(&group) {
            debug_assert!(
                self.asking.is_empty() || self.asked_at == now,
                "nobody answered at {:?}",
                self.asked_at
            );
            // Acknowledgements of one instant belong to one interval.
            if !self.asking.contains(&owner) {
                self.asking.push(owner);
            }
            self.asked_at = now;
            return true;
        }
        match &mut self.environment {
            Some(Environment { decisions: Decisions::Counted(_), due }) => {
                *due = now;
                true
            }
            _ => false,
        }
    }

    /// The next connection that has counted an interval at `now`.
    fn pop_asking(&mut self, now: Time) -> Option<u32> {
        if self.asked_at > now {
            return None;
        }
        let owner = (!self.asking.is_empty()).then(|| self.asking.remove(0));
        if self.asking.is_empty() {
            self.asked_at = Time::NEVER;
        }
        owner
    }

    /// The environment has decided.
    fn pass(&mut self, now: Time) {
        let Some(Environment { decisions, due }) = &mut self.environment else { return };
        debug_assert!(*due == now, "a decision of {due:?} comes at {now:?}");
        *due = match decisions {
            Decisions::Timed(timetable) => now + timetable.interval,
            Decisions::Counted(_) => Time::NEVER,
        };
    }

    /// The next flow group whose interval ends at `now`.
    fn pop(&mut self, now: Time) -> Option<u16> {
        let (group, timetable) = self.groups.iter_mut().find(|(_, timetable)| timetable.next <= now)?;
        debug_assert!(timetable.next == now, "the interval of {:?} ends at {now:?}", timetable.next);
        timetable.next += timetable.interval;
        Some(*group)
    }
}

impl World {
    /// Handles every event up to the next decision of the environment, or up to and including `end` if that comes first;
    /// returns the instant of the decision. What happens at that instant before it has then happened.
    pub fn run_to_decision(&mut self, end: Time) -> Option<Time> {
        let (node, _) = self.policies()?;
        self.end = end;
        while let Some((now, due)) = self.net.queue.first_by(end.min(EventQueue::LAST)) {
            if due == node && self.decides_at() == Some(now) {
                return Some(now);
            }
            self.step(now, due);
            self.events.count();
        }
        self.net.advance(end);
        None
    }

    /// The environment has decided at `now`.
    pub fn pass_decision(&mut self, now: Time) {
        if let Some((_, policies)) = self.policies() {
            policies.pass(now);
        }
        self.poll_policies(now);
    }

    fn decides_at(&mut self) -> Option<Time> {
        let (_, policies) = self.policies()?;
        policies.environment.as_ref().map(|environment| environment.due)
    }

    /// Connection `owner`, whose policy counts its intervals, has heard something at `now`, or is over: its interval may be,
    /// too.
    #[cold]
    pub(super) fn ask(&mut self, now: Time, owner: u32) {
        let connection = &self.connections[owner as usize];
        if connection.is_open() && !connection.sender.is_interval_over() {
            return;
        }
        let group = connection.group;
        if let Some((node, policies)) = self.policies()
            && policies.ask(now, group, owner)
        {
            self.net.queue.wake_by(node, now);
        }
    }

    /// The policies, and the node that polls them.
    fn policies(&mut self) -> Option<(NodeId, &mut Policies)> {
        let nodes = self.net.nodes();
        let sources = self.sources.iter_mut().enumerate();
        sources.into_iter().find_map(|(index, source)| match source {
            Source::Policies(policies) => Some((nodes.source(index), policies)),
            _ => None,
        })
    }

    /// The policies whose intervals end at `now` act.
    #[cold]
    pub(super) fn poll_policies(&mut self, now: Time) {
        while let Some(group) = self.policies().and_then(|(_, policies)| policies.pop(now)) {
            for owner in 0..self.connections.len() as u32 {
                let connection = &mut self.connections[owner as usize];
                if !connection.is_open() || connection.group != group {
                    continue;
                }
                if let Some(sample) = connection.sender.end_interval(now) {
                    self.act(now, owner, &sample, None);
                }
            }
        }
        while let Some(owner) = self.policies().and_then(|(_, policies)| policies.pop_asking(now)) {
            let connection = &mut self.connections[owner as usize];
            // Its slot may be another's by now.
            if connection.is_open()
                && connection.sender.is_interval_over()
                && let Some(sample) = connection.sender.end_interval(now)
            {
                self.act(now, owner, &sample, None);
            }
        }
        if let Some((node, policies)) = self.policies() {
            let due = policies.poll_at();
            self.net.queue.wake(node, due);
        }
    }

    /// The policy of connection `owner` acts: by `action`, or as it decides itself.
    pub fn act(
        &mut self,
        now: Time,
        owner: u32,
        sample: &IntervalSample,
        action: Option<&[f32; MOST_ACTIONS]>,
    ) {
        let connection = &mut self.connections[owner as usize];
        connection.sender.act(sample, action);
        // To think may take long, and nobody else asks in the meantime.
        enforce_budget();
        respond(&mut self.net, &mut self.observer, now, owner, connection);
    }

    /// The interval of connection `owner` ends: what happened in it, and how a policy observes it.
    pub fn end_interval(&mut self, now: Time, owner: u32) -> Option<(IntervalSample, &[f32])> {
        let sender = &mut self.connections.get_mut(owner as usize)?.sender;
        let sample = sender.end_interval(now)?;
        match sender.control() {
            Controller::Policy(policy) => Some((sample, policy.observation())),
            _ => None,
        }
    }

    /// Whether the connection in slot `owner` is open, and that of member number `member` of flow group `group`.
    #[inline]
    pub fn holds(&self, owner: u32, group: u16, member: u32) -> bool {
        let connection = &self.connections[owner as usize];
        connection.is_open() && connection.group == group && connection.member == Some(member)
    }

    /// The slot of member number `member` of flow group `group`, if its connection is open.
    pub fn member(&self, group: u16, member: u32) -> Option<u32> {
        (0..self.connections.len() as u32).find(|&owner| self.holds(owner, group, member))
    }

    /// From now on samples of a load-reactive link are taken from outside.
    pub fn hand_over(&mut self, link: usize) {
        self.net.hand_over(link);
    }

    /// The totals of a link up to `now`, and its capacity.
    pub fn link(&mut self, now: Time, link: usize) -> (LinkTotals, Rate) {
        (self.net.totals(now, link), self.net.rate(link))
    }

    /// The sample of a load-reactive link whose samples are taken from outside.
    pub fn observe_link(&mut self, now: Time, link: usize) -> Option<QueueSample> {
        self.net.observe(now, link)
    }

    /// Sets a load-reactive link from `now` on.
    pub fn set_link(&mut self, now: Time, link: usize, setting: Setting) {
        self.net.allot(now, link, setting);
        if let Some(feedback) = &self.feedback {
            self.net.queue.wake_by(feedback.node, now);
        }
    }

    /// From `now` on flow group `group` is advised its rate times `factor`.
    pub fn advise(&mut self, now: Time, group: u16, factor: f64) {
        if let Some(feedback) = &mut self.feedback {
            feedback.state.advise(group, factor);
            self.net.queue.wake_by(feedback.node, now);
        }
    }
}
