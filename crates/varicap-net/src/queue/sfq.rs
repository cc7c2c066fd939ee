//! Start-time fair queueing. Source: [goyal97, §2].
//!
//! A frame of l bytes of a flow of weight w that arrives at virtual time v gets the start tag S = max(v, F) and the finish
//! tag F' = S + l / w, where F is the finish tag of the flow's frame before. Frames are served in the order of their start
//! tags; the virtual time is the start tag of the frame in service, and after a busy period the largest finish tag.
//! The capacity plays no part, which is why shares stay fair where it varies.
//!
//! While a flow has frames waiting each start tag is the finish tag before it, so that one tag for each flow is enough.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use varicap_units::{Bytes, Time};

use super::flows::{Arrival, Flows, Sharing};
use super::{Limit, QueueDiscipline, SfqConfig, Supply, Transmitter, Waiting};
use crate::{Backlog, Frame, LinkParts, Watch};

/// Flows that are remembered before the first look for those that are past.
const FLOWS: usize = 64;

/// A queue for each flow, served in the order of virtual time.
#[derive(Debug)]
pub struct Sfq<F> {
    flows: Flows<F, Tagged>,
    /// The flows that have something waiting, by the start tag of their first frame; at equal tags by their first arrival.
    heap: BinaryHeap<Reverse<(u128, u64, u32)>>,
    clock: VirtualClock,
    /// Arrivals to empty queues so far.
    arrivals: u64,
    /// When there are more flows than this, those that are past are forgotten.
    most_flows: usize,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
struct Tagged {
    cost: Cost,
    /// Start tag of its first frame; if none waits, finish tag of its last.
    tag: u128,
    /// Its place among those of equal tags.
    order: u64,
}

/// Virtual time that a byte takes, 2^-32 bytes of a flow of weight 1 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost(u64);

impl Cost {
    pub fn of_weight(weight: f64) -> Cost {
        Cost(((1u64 << 32) as f64 / weight) as u64)
    }

    pub fn of(self, size: Bytes) -> u128 {
        u128::from(self.0) * u128::from(size.as_u64())
    }
}

/// Virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VirtualClock {
    now: u128,
    latest_finish: u128,
}

impl VirtualClock {
    pub fn now(self) -> u128 {
        self.now
    }

    /// A frame with these tags goes into service.
    pub fn serve(&mut self, start: u128, finish: u128) {
        self.now = start;
        self.latest_finish = self.latest_finish.max(finish);
    }

    /// The busy period is over.
    pub fn rest(&mut self) {
        self.now = self.latest_finish;
    }
}

impl<F: Frame> Sfq<F> {
    /// An empty queue for a link of `parts`.
    pub fn new(config: &SfqConfig, parts: &LinkParts) -> Sfq<F> {
        let SfqConfig { limit, flow_limit, per, drop, weights } = config;
        let sharing = Sharing::new(parts, (*limit, *flow_limit), *per, *drop, |name| weights.get(name));
        let (flows, heap, clock) = (Flows::new(sharing), BinaryHeap::new(), VirtualClock::default());
        Sfq { flows, heap, clock, arrivals: 0, most_flows: FLOWS }
    }

    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.flows.set_limit(limit);
    }

    /// A flow whose finish tag is past begins anew as one that was never seen.
    fn forget_past(&mut self) {
        if self.flows.len() > self.most_flows {
            let now = self.clock.now();
            self.flows.forget_past(|flow| flow.tag <= now);
            self.most_flows = (2 * self.flows.len()).max(FLOWS);
        }
    }
}

impl<F: Frame> QueueDiscipline<F> for Sfq<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let clock = self.clock.now();
        let begin = |weight: f64| Tagged { cost: Cost::of_weight(weight), tag: clock, order: 0 };
        let Arrival { first, emptied } = self.flows.push(now, frame, transmitter, watch, begin);
        if let Some(slot) = first {
            self.arrivals += 1;
            let flow = &mut self.flows.flow(slot).state;
            (flow.tag, flow.order) = (flow.tag.max(clock), self.arrivals);
            self.heap.push(Reverse((flow.tag, flow.order, slot)));
        }
        if let Some(slot) = emptied {
            self.heap.retain(|Reverse((.., waiting))| *waiting != slot);
        }
        self.forget_past();
    }

    fn dequeue<W: Watch<F>>(&mut self, _now: Time, _supply: Supply, _watch: &mut W) -> Option<Waiting<F>> {
        let Some(Reverse((start, order, slot))) = self.heap.pop() else {
            self.clock.rest();
            return None;
        };
        let next = self.flows.pop(slot)?;
        let flow = self.flows.flow(slot);
        let finish = start + flow.state.cost.of(next.frame.wire_size());
        flow.state.tag = finish;
        if !flow.is_empty() {
            self.heap.push(Reverse((finish, order, slot)));
        }
        self.clock.serve(start, finish);
        Some(next)
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}
