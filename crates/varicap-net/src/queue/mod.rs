//! Queues in front of a server: who waits, in which order, and who is lost.

mod accel_brake;
mod cbq;
mod codel;
mod config;
mod drop_tail;
mod drr;
mod ered;
mod flows;
mod red;
mod sfq;
mod tail;

use std::collections::VecDeque;

use varicap_units::{Amount, Bytes, Rate, Stream, Time, Work};

use crate::{Backlog, Frame, Framing, LinkParts, Watch};

pub use accel_brake::AccelBrake;
pub use cbq::Cbq;
pub use codel::CoDel;
pub use config::*;
pub(crate) use drop_tail::DropTail;
pub use drr::Drr;
pub use ered::Ered;
pub use red::Red;
pub use sfq::Sfq;
use tail::Tail;

/// A frame and when it arrived.
#[derive(Clone, Debug)]
pub struct Waiting<F> {
    /// The frame.
    pub frame: F,
    /// When it arrived.
    pub arrived: Time,
}

/// The transmitter that a queue feeds, as a frame finds it on arrival.
#[derive(Clone, Copy, Debug)]
pub struct Transmitter {
    /// What it is doing.
    pub state: TransmitterState,
    /// The rate that it offers now (for a trace of opportunities its mean) [b/s].
    pub rate: Rate,
}

/// What the transmitter that a queue feeds can carry, as it asks for a frame.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// The rate that it offers now (for a trace of opportunities its mean) [b/s].
    pub rate: Rate,
    /// What its opportunities so far could have carried; none if it has a rate at each instant.
    pub offered: Option<Work>,
    /// What it adds to each frame.
    pub framing: Framing,
}

/// What a transmitter is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitterState {
    /// Nothing: the frame goes into service at once.
    Free,
    /// It is idle between opportunities: the frame has to wait for the next one.
    Waiting,
    /// It has a frame of that many bytes in service [B].
    Busy(Bytes),
}

/// A queue. Every loss leaves through the watch, at enqueue and at dequeue alike.
pub trait QueueDiscipline<F: Frame> {
    /// Takes a frame, or loses it.
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W);
    /// Gives the next frame to the transmitter; `None` means that the transmitter goes idle.
    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>>;
    /// What waits; the frame in service is not included.
    fn backlog(&self) -> Backlog;
}

/// Random streams by the names of what draws from them.
pub(crate) type StreamOf<'a> = dyn Fn(&str) -> Stream + 'a;

/// The queue of a link, dispatched without a pointer.
#[derive(Debug)]
pub(crate) enum Queue<F> {
    /// A limit of what may wait in the line of the link.
    DropTail(DropTail),
    /// A queue that keeps its frames, and decides at each of them.
    Managed(Managed<F>),
}

/// Active queue management.
#[derive(Debug)]
pub(crate) enum Managed<F> {
    Red(Box<Red<F>>),
    Ered(Box<Ered<F>>),
    CoDel(Box<CoDel<F>>),
    Drr(Box<Drr<F>>),
    Sfq(Box<Sfq<F>>),
    Cbq(Box<Cbq<F>>),
    Tail(Box<Tail<F>>),
    AccelBrake(Box<AccelBrake<F>>),
}

impl<F: Frame> Queue<F> {
    /// The queue of a link of `parts`.
    pub fn new(parts: &LinkParts, stream: &StreamOf<'_>) -> Queue<F> {
        match &parts.queue {
            QueueConfig::DropTail(drop_tail) => Queue::DropTail(DropTail::of(drop_tail, parts)),
            managed => Queue::Managed(Managed::new(managed, parts, "queue", stream)),
        }
    }

    /// The queue as one that keeps its frames.
    pub fn managed(self) -> Queue<F> {
        match self {
            Queue::DropTail(limit) => Queue::Managed(Managed::Tail(Box::new(Tail::new(limit)))),
            managed => managed,
        }
    }
}

impl<F: Frame> Managed<F> {
    /// The queue of `config` on a link of `parts`, whose random stream is called `name`.
    pub fn new(config: &QueueConfig, parts: &LinkParts, name: &str, stream: &StreamOf<'_>) -> Managed<F> {
        let LinkParts { packet, bdp, .. } = *parts;
        let limit = Limit::new(config.limit(), packet, bdp);
        match config {
            QueueConfig::DropTail(config) => Managed::Tail(Box::new(Tail::new(DropTail::of(config, parts)))),
            QueueConfig::Red(config) => {
                Managed::Red(Box::new(Red::new(config, limit, packet, bdp, stream(name))))
            }
            QueueConfig::Ered(config) => {
                Managed::Ered(Box::new(Ered::new(config, limit, packet, bdp, stream(name))))
            }
            QueueConfig::CoDel(config) => Managed::CoDel(Box::new(CoDel::new(config, limit))),
            QueueConfig::Drr(config) => Managed::Drr(Box::new(Drr::new(config, parts))),
            QueueConfig::Cbq(config) => Managed::Cbq(Box::new(Cbq::new(config, parts, stream))),
            QueueConfig::Sfq(config) => Managed::Sfq(Box::new(Sfq::new(config, parts))),
            QueueConfig::AccelBrake(config) => Managed::AccelBrake(Box::new(AccelBrake::new(config, limit))),
        }
    }

    /// From now on no more than `limit` may wait; what waits already stays.
    pub fn set_limit(&mut self, limit: Limit) {
        match self {
            Managed::Red(queue) => queue.set_limit(limit),
            Managed::Ered(queue) => queue.set_limit(limit),
            Managed::CoDel(queue) => queue.set_limit(limit),
            Managed::Drr(queue) => queue.set_limit(limit),
            Managed::Sfq(queue) => queue.set_limit(limit),
            Managed::Cbq(_) => {} // each class has its own
            Managed::AccelBrake(queue) => queue.set_limit(limit),
            Managed::Tail(queue) => queue.set_limit(limit),
        }
    }

    /// When it will give a frame after it gave none, if nothing else comes and the rate stays; never if none waits.
    pub fn ready_at(&self) -> Time {
        match self {
            Managed::Cbq(queue) => queue.ready_at(),
            _ => Time::NEVER,
        }
    }
}

impl<F: Frame> QueueDiscipline<F> for Managed<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        match self {
            Managed::Red(queue) => queue.enqueue(now, frame, transmitter, watch),
            Managed::Ered(queue) => queue.enqueue(now, frame, transmitter, watch),
            Managed::CoDel(queue) => queue.enqueue(now, frame, transmitter, watch),
            Managed::Drr(queue) => queue.enqueue(now, frame, transmitter, watch),
            Managed::Sfq(queue) => queue.enqueue(now, frame, transmitter, watch),
            Managed::Cbq(queue) => queue.enqueue(now, frame, transmitter, watch),
            Managed::Tail(queue) => queue.enqueue(now, frame, transmitter, watch),
            Managed::AccelBrake(queue) => queue.enqueue(now, frame, transmitter, watch),
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        match self {
            Managed::Red(queue) => queue.dequeue(now, supply, watch),
            Managed::Ered(queue) => queue.dequeue(now, supply, watch),
            Managed::CoDel(queue) => queue.dequeue(now, supply, watch),
            Managed::Drr(queue) => queue.dequeue(now, supply, watch),
            Managed::Sfq(queue) => queue.dequeue(now, supply, watch),
            Managed::Cbq(queue) => queue.dequeue(now, supply, watch),
            Managed::AccelBrake(queue) => queue.dequeue(now, supply, watch),
            Managed::Tail(queue) => queue.dequeue(now, supply, watch),
        }
    }

    fn backlog(&self) -> Backlog {
        match self {
            Managed::Red(queue) => queue.backlog(),
            Managed::Ered(queue) => queue.backlog(),
            Managed::CoDel(queue) => queue.backlog(),
            Managed::Drr(queue) => queue.backlog(),
            Managed::Sfq(queue) => queue.backlog(),
            Managed::Cbq(queue) => queue.backlog(),
            Managed::Tail(queue) => queue.backlog(),
            Managed::AccelBrake(queue) => queue.backlog(),
        }
    }
}

/// The most that a queue may hold: frames or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Frames.
    pub frames: u64,
    /// Bytes [B].
    pub bytes: Bytes,
}

impl Limit {
    /// Packets limit the frames, everything else the bytes. A multiple of the BDP is at least one packet, for
    /// less would let nothing through.
    pub fn new(amount: Amount, packet: Bytes, bdp: Bytes) -> Limit {
        match amount {
            Amount::Packets(frames) => Limit { frames, bytes: Bytes::MAX },
            Amount::Bdp(_) => Limit { frames: u64::MAX, bytes: amount.bytes(packet, bdp).max(packet) },
            Amount::Bytes(_) | Amount::Unlimited => {
                Limit { frames: u64::MAX, bytes: amount.bytes(packet, bdp) }
            }
        }
    }

    /// Whether a frame of `bytes` fits beside `held`.
    #[inline]
    pub fn admits(&self, held: Backlog, bytes: Bytes) -> bool {
        u64::from(held.frames) < self.frames && held.bytes.saturating_add(bytes) <= self.bytes
    }

    /// Whether a frame of `bytes` fits beside what waits and, if `counts_in_service`, what is in service. A frame
    /// that goes into service at once does not wait.
    #[inline]
    pub(crate) fn has_room(
        &self,
        waiting: Backlog,
        state: TransmitterState,
        counts_in_service: bool,
        bytes: Bytes,
    ) -> bool {
        let free = state == TransmitterState::Free;
        (free && !counts_in_service) || self.admits(held(waiting, state, counts_in_service), bytes)
    }
}

/// What waits and, if `counts_in_service`, what is in service.
#[inline]
pub(crate) fn held(waiting: Backlog, state: TransmitterState, counts_in_service: bool) -> Backlog {
    match state {
        TransmitterState::Busy(bytes) if counts_in_service => {
            Backlog { frames: waiting.frames + 1, bytes: waiting.bytes + bytes }
        }
        _ => waiting,
    }
}

/// First in, first out, with the bytes counted.
#[derive(Debug)]
pub(crate) struct Fifo<F> {
    frames: VecDeque<Waiting<F>>,
    bytes: Bytes,
}

impl<F: Frame> Fifo<F> {
    pub fn new() -> Fifo<F> {
        Fifo { frames: VecDeque::new(), bytes: Bytes::ZERO }
    }

    #[inline]
    pub fn push(&mut self, arrived: Time, frame: F) {
        self.bytes += frame.wire_size();
        self.frames.push_back(Waiting { frame, arrived });
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Waiting<F>> {
        let waiting = self.frames.pop_front()?;
        self.bytes -= waiting.frame.wire_size();
        Some(waiting)
    }

    /// The frame that waits longest.
    pub fn first(&self) -> Option<&Waiting<F>> {
        self.frames.front()
    }

    /// Takes the frame that came last.
    pub fn pop_last(&mut self) -> Option<Waiting<F>> {
        let waiting = self.frames.pop_back()?;
        self.bytes -= waiting.frame.wire_size();
        Some(waiting)
    }

    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { frames: self.frames.len() as u32, bytes: self.bytes }
    }
}
