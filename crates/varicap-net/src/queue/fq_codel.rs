//! Flow queueing with CoDel: flows hashed into queues, served by deficit round robin with new flows first. Source: RFC 8290.
//!
//! A queue is on one of two lists while it is active: on that of new queues from its first packet until it has used its quantum or
//! runs empty, then on that of old ones. CoDel decides in each queue what leaves, is dropped or is marked.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Span, Time};

use super::codel::{Control, Law, Source};
use super::limit::holds_a_packet;
use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, TransmitterState, Waiting};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// Most queues.
const MOST_QUEUES: u32 = 65_536;
/// Most packets that are dropped at once where there is no more room (RFC 8290 §4.1).
const MOST_DROPS: u32 = 64;
/// Least quantum: a large packet must not take many rounds [B].
const LEAST_QUANTUM: Bytes = Bytes::new(100);

/// Flow queueing with CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCoDelConfig {
    /// Limit of what waits in all queues together. Default: 10240 packets (RFC 8290 §5.2.3).
    pub limit: Amount,
    /// Queues into which flows are hashed; those that fall into the same one share it. A hash that is drawn anew for each seed.
    /// Default: 1024 (RFC 8290 §5.2.5).
    pub queues: u32,
    /// The bytes that a queue may send in a round. Default: 1514 B (RFC 8290 §5.2.4).
    pub quantum: Bytes,
    /// Acceptable standing queueing delay of a queue. Default: 5 ms (RFC 8290 §5.2.2).
    pub target: Span,
    /// How long the delay may stay above the target. Default: 100 ms (RFC 8290 §5.2.1).
    pub interval: Span,
    /// Mark ECN-capable frames instead of dropping them. Default: true (RFC 8290 §5.2.6).
    pub ecn: bool,
    /// Sojourn time above which each ECN-capable frame is marked (RFC 8290 §5.2.7). Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
}

impl Default for FqCoDelConfig {
    fn default() -> FqCoDelConfig {
        FqCoDelConfig {
            limit: Amount::Packets(10_240),
            queues: 1024,
            quantum: Bytes::new(1514),
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: true,
            ce_threshold: None,
        }
    }
}

impl FqCoDelConfig {
    /// The law by which CoDel drops and marks.
    fn law(&self) -> Law {
        let FqCoDelConfig { target, interval, ecn, ce_threshold, .. } = *self;
        Law { target, interval, ecn, ce_threshold }
    }
}

impl Part for FqCoDelConfig {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)?;
        let good = (1..=MOST_QUEUES).contains(&self.queues);
        part::require("queues", good, self.queues, format!("1 to {MOST_QUEUES}"))?;
        part::size("quantum", self.quantum)?;
        let least = format!("at least {LEAST_QUANTUM}");
        part::require("quantum", self.quantum >= LEAST_QUANTUM, self.quantum, least)?;
        self.law().check()
    }

    fn draws(&self) -> bool {
        true
    }
}

impl QueuePart for FqCoDelConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        holds_a_packet("limit", self.limit, packet, bdp)
    }
}

/// On which list a queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum List {
    /// On none: nothing waits in it.
    #[default]
    Inactive,
    New,
    Old,
}

/// One of the queues.
#[derive(Debug)]
struct Slot<F> {
    fifo: Fifo<F>,
    control: Control,
    list: List,
    /// The bytes that it may still send in this round, or has sent too much [B].
    credits: i64,
}

/// Queues of flows, with CoDel in each.
#[derive(Debug)]
pub struct FqCoDel<F> {
    slots: Box<[Slot<F>]>,
    /// Active queues: the first of the new ones is served, then the first of the old ones.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    held: Backlog,
    limit: Limit,
    quantum: i64,
    law: Law,
    salt: u64,
}

/// One queue as CoDel sees it, and the count of all.
struct Counted<'a, F> {
    fifo: &'a mut Fifo<F>,
    held: &'a mut Backlog,
}

impl<F: Frame> Source<F> for Counted<'_, F> {
    fn pop(&mut self) -> Option<Waiting<F>> {
        let waiting = self.fifo.pop()?;
        self.held.frames -= 1;
        self.held.bytes -= waiting.frame.wire_size();
        Some(waiting)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

impl<F: Frame> FqCoDel<F> {
    /// Empty queues, with a hash of their own.
    pub fn new(config: &FqCoDelConfig, site: &Site<'_>) -> FqCoDel<F> {
        let slot =
            || Slot { fifo: Fifo::new(), control: Control::default(), list: List::default(), credits: 0 };
        FqCoDel {
            slots: (0..config.queues).map(|_| slot()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            held: Backlog::default(),
            limit: site.limit(config.limit),
            quantum: config.quantum.as_u64() as i64,
            law: config.law(),
            salt: site.stream().bits(),
        }
    }

    /// The queue of a flow. RFC 8290 §4.1.1: a hash, which nobody outside can know.
    fn slot_of(&self, flow: u32) -> u32 {
        mixed(self.salt ^ u64::from(flow)) as u32 % self.slots.len() as u32
    }

    /// Makes room until what waits is within the limit, or no more than `before`. RFC 8290 §4.1: half the packets of the longest
    /// queue go, from its head, 64 at most.
    fn make_room<W: Watch<F>>(&mut self, now: Time, before: Backlog, watch: &mut W) {
        let Limit { overhead, .. } = self.limit;
        let counted = |held: Backlog| held.bytes + overhead * u64::from(held.frames);
        let frames = self.limit.frames.max(u64::from(before.frames));
        let bytes = self.limit.bytes.max(counted(before));
        while u64::from(self.held.frames) > frames || counted(self.held) > bytes {
            let active = self.new.iter().chain(&self.old);
            let longest = active.max_by_key(|slot| self.slots[**slot as usize].fifo.backlog().bytes).copied();
            let Some(longest) = longest else { return };
            let fifo = &mut self.slots[longest as usize].fifo;
            let count = fifo.backlog().frames.div_ceil(2).min(MOST_DROPS);
            let mut source = Counted { fifo, held: &mut self.held };
            for waiting in (0..count).map_while(|_| source.pop()) {
                watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame: waiting.frame });
            }
        }
    }

    /// RFC 8290 §4.2: the first new queue, else the first old one, that has credits left; the others get a quantum.
    fn turn(&mut self) -> Option<u32> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let slot = *list.front()?;
            let state = &mut self.slots[slot as usize];
            if state.credits > 0 {
                return Some(slot);
            }
            state.credits += self.quantum;
            state.list = List::Old;
            list.pop_front();
            self.old.push_back(slot);
        }
    }

    /// RFC 8290 §4.2: a new queue that is found empty becomes an old one, so that it cannot be new in each round; an old one
    /// leaves its list.
    fn rest(&mut self, slot: u32) {
        let state = &mut self.slots[slot as usize];
        if state.list == List::New {
            state.list = List::Old;
            self.new.pop_front();
            self.old.push_back(slot);
        } else {
            state.list = List::Inactive;
            self.old.pop_front();
        }
    }
}

/// SplitMix64's finalizer: every bit of the number decides about every bit of the result.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

impl<F: Frame> QueueDiscipline<F> for FqCoDel<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let size = frame.wire_size();
        // A frame that goes into service at once does not wait.
        let is_free = transmitter.state == TransmitterState::Free && self.held.frames == 0;
        if !is_free && size + self.limit.overhead > self.limit.bytes {
            return watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
        let before = self.held;
        let slot = self.slot_of(frame.flow());
        let state = &mut self.slots[slot as usize];
        state.control.on_arrival(size);
        state.fifo.push(now, frame);
        self.held.frames += 1;
        self.held.bytes += size;
        if state.list == List::Inactive {
            (state.list, state.credits) = (List::New, self.quantum);
            self.new.push_back(slot);
        }
        if !is_free {
            self.make_room(now, before, watch);
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, _supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        loop {
            let slot = self.turn()?;
            let state = &mut self.slots[slot as usize];
            let mut source = Counted { fifo: &mut state.fifo, held: &mut self.held };
            match state.control.dequeue(&self.law, now, &mut source, watch) {
                Some(next) => {
                    state.credits -= next.frame.wire_size().as_u64() as i64;
                    return Some(next);
                }
                None => self.rest(slot),
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.held
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
