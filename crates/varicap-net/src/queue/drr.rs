//! Deficit round robin. Source: [shreedhar96].
//!
//! Flows that have something waiting stand in a ring. Whose turn it is gets its quantum and sends frames as long as its
//! deficit lasts; what is too little for the next frame it keeps for its next turn. A flow that runs empty loses it. Over
//! any time in which two flows have frames waiting, what they sent differs by less than a quantum and a largest frame
//! for each turn's share.

use std::collections::VecDeque;

use varicap_units::Time;

use super::flows::{Arrival, Flows, Sharing};
use super::{DrrConfig, Limit, QueueDiscipline, Supply, Transmitter, Waiting};
use crate::{Backlog, Frame, LinkParts, Watch};

/// A queue for each flow, served in turn.
#[derive(Debug)]
pub struct Drr<F> {
    flows: Flows<F, Share>,
    /// The flows that have something waiting, by their slots; the first has its turn.
    ring: VecDeque<u32>,
    /// Whether the first of the ring has had its quantum.
    is_served: bool,
    /// What a flow of weight 1 may send in a round [B].
    quantum: u64,
}

/// What a flow may send.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// In a round [B].
    quantum: u64,
    /// In this turn [B].
    deficit: u64,
}

impl<F: Frame> Drr<F> {
    /// An empty queue for a link of `parts`.
    pub fn new(config: &DrrConfig, parts: &LinkParts) -> Drr<F> {
        let DrrConfig { limit, flow_limit, per, drop, weights, .. } = config;
        let sharing = Sharing::new(parts, (*limit, *flow_limit), *per, *drop, |name| weights.get(name));
        let quantum = config.quantum.bytes(parts.packet, parts.bdp).as_u64().max(1);
        Drr { flows: Flows::new(sharing), ring: VecDeque::new(), is_served: false, quantum }
    }

    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.flows.set_limit(limit);
    }

    /// The first of the ring has had its turn.
    fn next_turn(&mut self) {
        self.ring.rotate_left(1);
        self.is_served = false;
    }
}

impl<F: Frame> QueueDiscipline<F> for Drr<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let quantum = self.quantum as f64;
        let begin = |weight: f64| Share { quantum: ((quantum * weight) as u64).max(1), deficit: 0 };
        let Arrival { first, emptied } = self.flows.push(now, frame, transmitter, watch, begin);
        self.ring.extend(first);
        if let Some(slot) = emptied {
            self.is_served &= self.ring.front() != Some(&slot);
            self.ring.retain(|waiting| *waiting != slot);
            self.flows.forget(slot);
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, _now: Time, _supply: Supply, _watch: &mut W) -> Option<Waiting<F>> {
        loop {
            let slot = *self.ring.front()?;
            let flow = self.flows.flow(slot);
            let size = flow.first_size()?.as_u64();
            if !self.is_served {
                self.is_served = true;
                flow.state.deficit += flow.state.quantum;
            }
            if size > flow.state.deficit {
                self.next_turn();
                continue;
            }
            flow.state.deficit -= size;
            let next = self.flows.pop(slot);
            if self.flows.flow(slot).is_empty() {
                self.flows.forget(slot);
                self.ring.pop_front();
                self.is_served = false;
            }
            return next;
        }
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}
