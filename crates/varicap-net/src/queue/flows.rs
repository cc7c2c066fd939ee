//! A FIFO for each flow, within limits: what the disciplines of fair queueing have in common.
//!
//! Flows get a slot when their first frame comes and give it back when the discipline forgets them; slots and their rings are
//! used again, so that nothing is allocated in the steady state.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked};
use varicap_units::{Amount, Bytes, JsonSchema, Time};

use super::limit::holds_a_packet;
use super::{Fifo, Limit, Site, Transmitter, TransmitterState, Waiting};
use crate::by_flow::ByFlow;
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// Least and greatest weight of a flow.
const LEAST_WEIGHT: f64 = 0.01;
const MOST_WEIGHT: f64 = 1000.0;

/// The flows that have a queue of their own in fair queueing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each connection (of a group with a `count`, each of them).
    #[default]
    Flow,
    /// Each group of flows, whatever its `count`.
    Group,
}

/// The flow that loses a packet where all queues together are full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropFrom {
    /// The flow with the most bytes waiting, its last packet.
    #[default]
    Longest,
    /// The one whose packet arrives.
    Arriving,
}

/// The terms in a scenario by which flows share the room of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    /// Limit of what waits in all queues together.
    pub limit: Amount,
    /// Limit of the queue of each flow.
    pub flow_limit: Option<Amount>,
    pub per: Per,
    pub drop: DropFrom,
    /// Weights of flows by name.
    pub weights: &'a IndexMap<String, f64>,
}

impl<'a> Terms<'a> {
    /// Whether the limits and weights make sense.
    pub fn check(self) -> Checked {
        part::amount("limit", self.limit)?;
        self.flow_limit.map_or(Ok(()), |limit| part::amount("flow_limit", limit))?;
        self.weights.iter().try_for_each(|(name, weight)| {
            let good = (LEAST_WEIGHT..=MOST_WEIGHT).contains(weight);
            let expected = format!("a weight from {LEAST_WEIGHT} to {MOST_WEIGHT}");
            part::require(&part::join(&["weights", name]), good, weight, expected)
        })
    }

    /// The flows that have a weight, by the keys that name them.
    pub fn flows(self) -> Vec<(String, &'a str)> {
        self.weights.keys().map(|name| (part::join(&["weights", name]), name.as_str())).collect()
    }

    /// The limit of each flow, if there is one, by its key.
    pub fn flow_limit(self) -> Option<(&'static str, Amount)> {
        self.flow_limit.map(|limit| ("flow_limit", limit))
    }

    /// Whether each limit holds a packet.
    pub fn fits(self, packet: Bytes, bdp: Bytes) -> Checked {
        holds_a_packet("limit", self.limit, packet, bdp)?;
        self.flow_limit().map_or(Ok(()), |(key, limit)| holds_a_packet(key, limit, packet, bdp))
    }
}

/// How flows share the room of a queue.
#[derive(Debug)]
pub(super) struct Sharing {
    limit: Limit,
    flow_limit: Option<Limit>,
    per: Per,
    drop: DropFrom,
    /// Of each flow group.
    weights: Box<[f64]>,
}

impl Sharing {
    /// As a scenario says it, where `site` says.
    pub fn new(terms: Terms<'_>, site: &Site<'_>) -> Sharing {
        let weight = |name: &str| terms.weights.get(name).copied().unwrap_or(1.0);
        Sharing {
            limit: site.limit(terms.limit),
            flow_limit: terms.flow_limit.map(|limit| site.limit(limit)),
            per: terms.per,
            drop: terms.drop,
            weights: site.groups.iter().map(|name| weight(name)).collect(),
        }
    }

    /// The weight of the flow that a frame belongs to.
    pub fn weight<F: Frame>(&self, frame: &F) -> f64 {
        self.weights.get(usize::from(frame.group())).copied().unwrap_or(1.0)
    }

    fn key<F: Frame>(&self, frame: &F) -> u32 {
        match self.per {
            Per::Flow => frame.flow(),
            Per::Group => u32::from(frame.group()),
        }
    }
}

/// A flow that has a slot.
#[derive(Debug)]
pub(super) struct Flow<F, S> {
    key: u32,
    fifo: Fifo<F>,
    /// The discipline's state of it.
    pub state: S,
}

impl<F: Frame, S> Flow<F, S> {
    /// Whether none of its frames waits.
    pub fn is_empty(&self) -> bool {
        self.fifo.backlog().frames == 0
    }

    /// Size of the frame that waits longest [B].
    pub fn first_size(&self) -> Option<Bytes> {
        self.fifo.first().map(|waiting| waiting.frame.wire_size())
    }
}

/// The flows with their queues.
#[derive(Debug)]
pub(super) struct Flows<F, S> {
    sharing: Sharing,
    slots: Vec<Flow<F, S>>,
    free: Vec<u32>,
    by_key: ByFlow<u32>,
    held: Backlog,
}

/// The changes that an arrival made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// The slot in which it is the only frame that waits.
    pub first: Option<u32>,
    /// The slot that lost its only frame to make room.
    pub emptied: Option<u32>,
}

impl<F: Frame, S> Flows<F, S> {
    pub fn new(sharing: Sharing) -> Flows<F, S> {
        let (slots, free) = (Vec::new(), Vec::new());
        Flows { sharing, slots, free, by_key: ByFlow::default(), held: Backlog::default() }
    }

    pub fn set_limit(&mut self, limit: Limit) {
        self.sharing.limit = limit;
    }

    pub fn backlog(&self) -> Backlog {
        self.held
    }

    pub fn flow(&mut self, slot: u32) -> &mut Flow<F, S> {
        &mut self.slots[slot as usize]
    }

    /// How many flows have a slot.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Takes a frame in, if there is room or others make it; a flow without a slot begins with what `begin` makes of its
    /// weight.
    pub fn push<W: Watch<F>>(
        &mut self,
        now: Time,
        frame: F,
        transmitter: Transmitter,
        watch: &mut W,
        begin: impl FnOnce(f64) -> S,
    ) -> Arrival {
        let size = frame.wire_size();
        let key = self.sharing.key(&frame);
        let slot = self.by_key.get(&key).copied();
        let own = slot.map_or(Backlog::default(), |slot| self.slots[slot as usize].fifo.backlog());
        let Sharing { limit, flow_limit, drop, .. } = self.sharing;
        // A frame that goes into service at once does not wait.
        let is_free = transmitter.state == TransmitterState::Free && self.held.frames == 0;
        let room = is_free || limit.admits(self.held, size);
        let fits = is_free || flow_limit.is_none_or(|limit| limit.admits(own, size));
        if !fits || !room && (drop == DropFrom::Arriving || size + limit.overhead > limit.bytes) {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
            return Arrival { first: None, emptied: None };
        }
        let slot = slot.unwrap_or_else(|| self.begin(key, begin(self.sharing.weight(&frame))));
        let before = self.held;
        self.slots[slot as usize].fifo.push(now, frame);
        self.held.frames += 1;
        self.held.bytes += size;
        let emptied = if room { None } else { self.make_room(now, before, watch) };
        let first = (own.frames == 0 && emptied != Some(slot)).then_some(slot);
        Arrival { first, emptied }
    }

    /// Takes frames from the tails of the longest queues until what waits is within the limit, or no more than `before`; gives
    /// the slot that lost its only frame. There is no second: its flow was the longest, so that its frame left room for any
    /// other's.
    fn make_room<W: Watch<F>>(&mut self, now: Time, before: Backlog, watch: &mut W) -> Option<u32> {
        let limit = self.sharing.limit;
        let frames = limit.frames.max(u64::from(before.frames));
        let counted = |held: Backlog| held.bytes + limit.overhead * u64::from(held.frames);
        let bytes = limit.bytes.max(counted(before));
        let mut emptied = None;
        while u64::from(self.held.frames) > frames || counted(self.held) > bytes {
            // At equal lengths the last slot.
            let longest = (0..self.slots.len()).max_by_key(|slot| self.slots[*slot].fifo.backlog().bytes)?;
            let waiting = self.slots[longest].fifo.pop_last()?;
            self.held.frames -= 1;
            self.held.bytes -= waiting.frame.wire_size();
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame: waiting.frame });
            if self.slots[longest].is_empty() {
                emptied = Some(longest as u32);
            }
        }
        emptied
    }

    fn begin(&mut self, key: u32, state: S) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                let flow = &mut self.slots[slot as usize];
                (flow.key, flow.state) = (key, state);
                slot
            }
            None => {
                self.slots.push(Flow { key, fifo: Fifo::new(), state });
                (self.slots.len() - 1) as u32
            }
        };
        self.by_key.insert(key, slot);
        slot
    }

    /// Takes the frame that waits longest in a slot.
    pub fn pop(&mut self, slot: u32) -> Option<Waiting<F>> {
        let waiting = self.slots[slot as usize].fifo.pop()?;
        self.held.frames -= 1;
        self.held.bytes -= waiting.frame.wire_size();
        Some(waiting)
    }

    /// Forgets a flow that has nothing waiting.
    pub fn forget(&mut self, slot: u32) {
        let flow = &self.slots[slot as usize];
        debug_assert!(flow.is_empty(), "a flow with frames is forgotten");
        if self.by_key.remove(&flow.key).is_some() {
            self.free.push(slot);
        }
    }

    /// Forgets the flows that have nothing waiting and of which `is_past` says so.
    pub fn forget_past(&mut self, is_past: impl Fn(&S) -> bool) {
        let (slots, free) = (&self.slots, &mut self.free);
        self.by_key.retain(|_, slot| {
            let flow = &slots[*slot as usize];
            let gone = flow.is_empty() && is_past(&flow.state);
            if gone {
                free.push(*slot);
            }
            !gone
        });
        // The order of the table must not matter.
        free.sort_unstable_by(|a, b| b.cmp(a));
    }
}
