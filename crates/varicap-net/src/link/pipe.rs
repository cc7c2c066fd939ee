//! First in, first out, at a rate that never changes: when a frame leaves is known as it arrives.
//!
//! Nothing is looked at between the arrival of a frame and its delivery, so that it costs a third of what it costs where
//! each departure is an event. What happens in between is reported late, on delivery or on request
//! ([`Pipe::advance`]), each departure with its own time; what waits, and for how long, is reported on arrival.

use varicap_units::{Bytes, Rate, Span, Time, Work};

use super::ring::Ring;
use super::server::Server;
use crate::config::Framing;
use crate::frame::{Ahead, Backlog, Frame, Watch};
use crate::queue::{LineLimit, TransmitterState};

/// A frame of which is known when it leaves.
#[derive(Clone, Debug)]
struct Planned<F> {
    leaves: Time,
    arrived: Time,
    frame: F,
}

/// A link on which every departure is known.
#[derive(Debug)]
pub struct Pipe<F> {
    /// When the first of the line comes out; never if there is none.
    due: Time,
    /// When the last one leaves the server.
    idle_from: Time,
    delay: Span,
    server: Server,
    framing: Framing,
    limit: LineLimit,
    /// Frames inside: those that have left the server, the one in service, those that wait.
    line: Ring<Planned<F>>,
    /// The number of the first frame that is not known to have left the server, and the bytes from there on [B]. They are
    /// looked at when it matters whether some of them have.
    held: usize,
    held_bytes: Bytes,
    /// As long as no more is held, with the next frame, it is let in, and its observer has been told of a backlog as large.
    calm: Backlog,
    /// The number of the first frame whose departure has not been reported.
    reported: usize,
    /// When it was advanced last.
    now: Time,
    /// Whether it began although nothing was let in, and whether the rate has been reported.
    has_begun: bool,
    has_reported_rate: bool,
}

impl<F: Frame> Pipe<F> {
    /// A pipe that is idle at time zero. The server's rate must be above zero: else nothing would ever leave.
    pub(super) fn new(server: Server, delay: Span, framing: Framing, limit: LineLimit) -> Pipe<F> {
        debug_assert!(server.rate() > Rate::ZERO, "a pipe that carries nothing");
        Pipe {
            due: Time::NEVER,
            idle_from: Time::ZERO,
            delay,
            server,
            framing,
            limit,
            line: Ring::new(),
            held: 0,
            held_bytes: Bytes::ZERO,
            calm: Backlog::default(),
            reported: 0,
            now: Time::ZERO,
            has_begun: false,
            has_reported_rate: false,
        }
    }

    /// Offers a frame, and gives it back if there is no room for it: it is lost then.
    #[must_use]
    #[inline(always)]
    pub fn push<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) -> Option<F> {
        watch.on_offered();
        let size = frame.wire_size();
        let begins = if self.idle_from <= now {
            // All has left: there is nothing to count.
            (self.held, self.held_bytes) = (self.line.end(), Bytes::ZERO);
            if !self.limit.admits(Backlog::default(), TransmitterState::Free, size) {
                self.has_begun = true;
                return Some(frame);
            }
            self.server.idle();
            now
        } else {
            if !self.is_calm(size) && !self.is_calm_after(now, size) && !self.admits(size, watch) {
                return Some(frame);
            }
            watch.on_planned(self.idle_from - now, size);
            self.idle_from
        };
        let leaves = self.server.begin(begins, size, &self.framing);
        self.idle_from = leaves;
        self.held_bytes += size;
        if self.due.is_never() {
            self.due = leaves + self.delay;
        }
        self.line.push(Planned { leaves, arrived: now, frame });
        None
    }

    /// Whether a frame of `size` makes no difference beyond itself, even if nothing of what is held has left.
    #[inline(always)]
    fn is_calm(&self, size: Bytes) -> bool {
        self.line.end() - self.held < self.calm.frames as usize && self.held_bytes + size <= self.calm.bytes
    }

    /// The same once it is counted what has left by `now`.
    #[inline(always)]
    fn is_calm_after(&mut self, now: Time, size: Bytes) -> bool {
        self.pass(now);
        self.is_calm(size)
    }

    /// Whether there is room for a frame of `size` behind others, of which those are counted that have left; the observer
    /// learns of a backlog that it does not know.
    #[inline(never)]
    fn admits<W: Watch<F>>(&mut self, size: Bytes, watch: &mut W) -> bool {
        let Backlog { frames, bytes } = self.backlog();
        let in_service = self.in_service().map_or(Bytes::ZERO, F::wire_size);
        if !self.limit.admits(Backlog { frames, bytes }, TransmitterState::Busy(in_service), size) {
            return false;
        }
        let known = watch.on_waiting(Backlog { frames: frames + 1, bytes: bytes + size });
        self.calm = self.limit.within(Backlog { frames: known.frames.saturating_add(1), ..known });
        true
    }

    /// Counts what has left the server by `now`.
    #[inline(always)]
    fn pass(&mut self, now: Time) {
        let (mut held, mut bytes) = (self.held, self.held_bytes);
        while let Some(next) = self.line.get(held).filter(|next| next.leaves <= now) {
            bytes -= next.frame.wire_size();
            held += 1;
        }
        (self.held, self.held_bytes) = (held, bytes);
    }

    /// The next frame that has come out by `now`.
    #[inline(always)]
    pub fn poll<W: Watch<F>>(&mut self, now: Time, watch: &mut W) -> Option<F> {
        if self.due > now {
            return None;
        }
        let number = self.line.first();
        let Planned { leaves, arrived, frame } = self.line.take_first()?;
        self.due = self.line.get(number + 1).map_or(Time::NEVER, |next| next.leaves + self.delay);
        if number == self.held {
            self.held += 1;
            self.held_bytes -= frame.wire_size();
        }
        if number >= self.reported {
            watch.on_passed(leaves, arrived, &frame);
        }
        Some(frame)
    }

    /// The frame that comes out after `others` others, if it is inside already.
    #[inline]
    pub(super) fn coming(&self, others: usize) -> Option<&F> {
        if others < self.line.len() {
            self.line.get(self.line.first() + others).map(|next| &next.frame)
        } else {
            None
        }
    }

    /// When the next frame comes out.
    #[inline]
    pub fn poll_at(&self) -> Time {
        self.due
    }

    /// Reports all that has happened up to `now`.
    pub fn advance<W: Watch<F>>(&mut self, now: Time, watch: &mut W) {
        if !std::mem::replace(&mut self.has_reported_rate, true) {
            watch.on_capacity(Time::ZERO, self.server.rate());
        }
        self.has_begun = true;
        self.now = now;
        self.pass(now);
        let from = self.line.first().max(self.reported);
        for Planned { leaves, arrived, frame } in
            self.line.iter_from(from).take(self.held.saturating_sub(from))
        {
            watch.on_passed(*leaves, *arrived, frame);
        }
        self.reported = self.held;
        // It may be measured anew from now on.
        self.calm = Backlog::default();
        let mut ahead = Ahead { waiting: self.backlog(), ..Ahead::default() };
        let mut begins = self.line.get(self.held).map_or(now, |serving| serving.leaves);
        for Planned { leaves, frame, .. } in self.waits() {
            let left = u128::from((begins - now).as_nanos());
            ahead.frame_time += left;
            ahead.byte_time += left * u128::from(frame.wire_size().as_u64());
            begins = *leaves;
        }
        watch.on_reported(ahead);
    }

    /// The frames that wait behind the one in service, at the time to which the pipe was advanced.
    fn waits(&self) -> impl Iterator<Item = &Planned<F>> {
        self.line.iter_from(self.held).skip(1)
    }

    /// The frames that wait at the time to which the pipe was advanced.
    pub fn backlog(&self) -> Backlog {
        let Some(serving) = self.in_service() else { return Backlog::default() };
        let frames = (self.line.end() - self.held - 1) as u32; // all of them are in memory
        Backlog { frames, bytes: self.held_bytes - serving.wire_size() }
    }

    /// The frame in service at the time to which the pipe was advanced.
    pub fn in_service(&self) -> Option<&F> {
        self.line.get(self.held).map(|planned| &planned.frame)
    }

    /// Work left of the frame in service at the time to which the pipe was advanced: of all that is left, what does not
    /// wait.
    pub fn left(&self) -> Work {
        let work = |planned: &Planned<F>| Work::of(self.framing.framed(planned.frame.wire_size()));
        let waits: Work = self.waits().map(work).sum();
        self.server.left(self.now, self.idle_from).saturating_sub(waits)
    }

    /// Frames inside.
    pub fn inside(&self) -> usize {
        self.line.len()
    }

    /// When the capacity changes: at zero, as long as nothing has moved, and never again.
    pub fn changes_at(&self) -> Time {
        if self.has_begun || self.line.end() > 0 { Time::NEVER } else { Time::ZERO }
    }
}
