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

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Time};

use super::flows::{Arrival, DropFrom, Flows, Per, Sharing, Terms};
use super::{Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, Waiting};
use crate::frame::{Backlog, Frame, Watch};

/// Flows that are remembered before the first look for those that are past.
const FLOWS: usize = 64;

/// Start-time fair queueing: the packet whose service would have begun first in a fair fluid system goes first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SfqConfig {
    /// Limit of what waits in all queues together. Default: 1 bdp.
    pub limit: Amount,
    /// Limit of the queue of each flow. Default: none but `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<Amount>,
    /// The flows that have a queue of their own. Default: flow.
    pub per: Per,
    /// The flow that loses a packet where all queues together are full. Default: longest.
    pub drop: DropFrom,
    /// Weights of flows by name; those of a group have the weight each, or together if `per = "group"`. Default: 1.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("default" = null))]
    pub weights: IndexMap<String, f64>,
}

impl Default for SfqConfig {
    fn default() -> SfqConfig {
        SfqConfig {
            limit: Amount::Bdp(1.0),
            flow_limit: None,
            per: Per::Flow,
            drop: DropFrom::Longest,
            weights: IndexMap::new(),
        }
    }
}

impl SfqConfig {
    /// How its flows share its room.
    fn terms(&self) -> Terms<'_> {
        let SfqConfig { limit, flow_limit, per, drop, ref weights } = *self;
        Terms { limit, flow_limit, per, drop, weights }
    }
}

impl Part for SfqConfig {
    fn check(&self) -> Checked {
        self.terms().check()
    }
}

impl QueuePart for SfqConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        self.terms().flow_limit().into_iter().collect()
    }

    fn flows(&self) -> Vec<(String, &str)> {
        self.terms().flows()
    }

    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        self.terms().fits(packet, bdp)
    }
}

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

/// The discipline's state of a flow.
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
    /// An empty queue.
    pub fn new(config: &SfqConfig, site: &Site<'_>) -> Sfq<F> {
        let sharing = Sharing::new(config.terms(), site);
        let (flows, heap, clock) = (Flows::new(sharing), BinaryHeap::new(), VirtualClock::default());
        Sfq { flows, heap, clock, arrivals: 0, most_flows: FLOWS }
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

    fn set_limit(&mut self, limit: Limit) {
        self.flows.set_limit(limit);
    }
}
