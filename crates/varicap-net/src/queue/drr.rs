//! Deficit round robin. Source: [shreedhar96].
//!
//! Flows that have something waiting stand in a ring. Whose turn it is gets its quantum and sends frames as long as its
//! deficit lasts; what is too little for the next frame it keeps for its next turn. A flow that runs empty loses it. Over
//! any time in which two flows have frames waiting, what they sent differs by less than a quantum and a largest frame
//! for each turn's share.

use std::collections::VecDeque;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Time};

use super::flows::{Arrival, DropFrom, Flows, Per, Sharing, Terms};
use super::{Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, Waiting};
use crate::frame::{Backlog, Frame, Watch};

/// Least quantum: a large packet must not take many rounds [B].
const LEAST_QUANTUM: Bytes = Bytes::new(100);

/// Deficit round robin: a flow sends its quantum in each round, and keeps what is too little for its next packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrrConfig {
    /// Limit of what waits in all queues together. Default: 1 bdp.
    pub limit: Amount,
    /// Limit of the queue of each flow. Default: none but `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<Amount>,
    /// The amount that a flow of weight 1 may send in a round. Default: 1 packets (full-sized).
    pub quantum: Amount,
    /// The flows that have a queue of their own. Default: flow.
    pub per: Per,
    /// The flow that loses a packet where all queues together are full. Default: longest.
    pub drop: DropFrom,
    /// Weights of flows by name; those of a group have the weight each, or together if `per = "group"`. Default: 1.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("default" = null))]
    pub weights: IndexMap<String, f64>,
}

impl Default for DrrConfig {
    fn default() -> DrrConfig {
        DrrConfig {
            limit: Amount::Bdp(1.0),
            flow_limit: None,
            quantum: Amount::Packets(1),
            per: Per::Flow,
            drop: DropFrom::Longest,
            weights: IndexMap::new(),
        }
    }
}

impl DrrConfig {
    /// How its flows share its room.
    fn terms(&self) -> Terms<'_> {
        let DrrConfig { limit, flow_limit, per, drop, ref weights, .. } = *self;
        Terms { limit, flow_limit, per, drop, weights }
    }
}

impl Part for DrrConfig {
    fn check(&self) -> Checked {
        part::amount("quantum", self.quantum)?;
        let least = Amount::Bytes(LEAST_QUANTUM);
        let good = match self.quantum {
            Amount::Bytes(quantum) => quantum >= LEAST_QUANTUM,
            quantum => quantum != Amount::Unlimited,
        };
        part::require("quantum", good, self.quantum, format!("a finite amount of at least {least}"))?;
        self.terms().check()
    }
}

impl QueuePart for DrrConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        let quantum = ("quantum", self.quantum);
        std::iter::once(quantum).chain(self.terms().flow_limit()).collect()
    }

    fn flows(&self) -> Vec<(String, &str)> {
        self.terms().flows()
    }

    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        self.terms().fits(packet, bdp)
    }
}

/// A queue for each flow, served in turn.
#[derive(Debug)]
pub struct Drr<F> {
    flows: Flows<F, Share>,
    /// The flows that have something waiting, by their slots; the first has its turn.
    ring: VecDeque<u32>,
    /// Whether the first of the ring has had its quantum.
    is_served: bool,
    /// The bytes that a flow of weight 1 may send in a round [B].
    quantum: u64,
}

/// The share that a flow may send.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// In a round [B].
    quantum: u64,
    /// In this turn [B].
    deficit: u64,
}

impl<F: Frame> Drr<F> {
    /// An empty queue.
    pub fn new(config: &DrrConfig, site: &Site<'_>) -> Drr<F> {
        let sharing = Sharing::new(config.terms(), site);
        let quantum = config.quantum.bytes(site.packet, site.bdp).as_u64().max(1);
        Drr { flows: Flows::new(sharing), ring: VecDeque::new(), is_served: false, quantum }
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

    fn set_limit(&mut self, limit: Limit) {
        self.flows.set_limit(limit);
    }
}
