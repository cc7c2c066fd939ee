//! First in, first out, at a rate that never changes: when a frame leaves is known as it arrives.
//!
//! Nothing is looked at between the arrival of a frame and its delivery, so that it costs a third of what it costs where
//! each departure is an event. What happens in between is reported late, on delivery or on request
//! ([`Pipe::advance`]), each departure with its own time; what waits, and for how long, is reported on arrival.

use std::collections::VecDeque;

use varicap_units::{Bytes, Rate, Span, Time, Work};

use super::server::Server;
use crate::queue::{LineLimit, TransmitterState};
use crate::{Ahead, Backlog, Frame, Framing, Watch};

/// A frame of which is known when it leaves.
#[derive(Debug)]
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
    /// When the frame in service leaves the server; never if there is none.
    finish: Time,
    /// When the last one leaves the server.
    idle_from: Time,
    delay: Span,
    server: Server,
    framing: Framing,
    limit: LineLimit,
    /// Frames inside: those that have left the server, the one in service, those that wait.
    line: VecDeque<Planned<F>>,
    /// How many of the last of them had not left the server, when the line was looked at last.
    held: usize,
    /// How many of those that had left have been reported.
    reported: usize,
    /// What waited then, and the size of the frame in service [B].
    waiting: Backlog,
    in_service: Bytes,
    /// When it was advanced last.
    now: Time,
    /// Whether anything has arrived or was requested, and whether the rate has been reported.
    has_begun: bool,
    has_reported_rate: bool,
}

impl<F: Frame> Pipe<F> {
    /// A pipe that is idle at time zero. The server's rate must be above zero: else nothing would ever leave.
    pub(super) fn new(server: Server, delay: Span, framing: Framing, limit: LineLimit) -> Pipe<F> {
        debug_assert!(server.rate() > Rate::ZERO, "a pipe that carries nothing");
        Pipe {
            due: Time::NEVER,
            finish: Time::NEVER,
            idle_from: Time::ZERO,
            delay,
            server,
            framing,
            limit,
            line: VecDeque::new(),
            held: 0,
            reported: 0,
            waiting: Backlog::default(),
            in_service: Bytes::ZERO,
            now: Time::ZERO,
            has_begun: false,
            has_reported_rate: false,
        }
    }

    /// Offers a frame, and gives it back if there is no room for it: it is lost then.
    #[must_use]
    #[inline(always)]
    pub fn push<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) -> Option<F> {
        self.has_begun = true;
        watch.on_offered();
        let size = frame.wire_size();
        let leaves = if self.idle_from <= now {
            // All has left: there is nothing to count.
            (self.held, self.waiting, self.finish) = (0, Backlog::default(), Time::NEVER);
            if !self.limit.admits(self.waiting, TransmitterState::Free, size) {
                return Some(frame);
            }
            self.server.idle();
            let leaves = self.server.begin(now, self.framing.framed(size));
            (self.finish, self.in_service) = (leaves, size);
            leaves
        } else {
            self.pass(now);
            if !self.limit.admits(self.waiting, TransmitterState::Busy(self.in_service), size) {
                return Some(frame);
            }
            self.waiting.frames += 1;
            self.waiting.bytes += size;
            watch.on_planned(self.idle_from - now, size, self.waiting);
            self.server.begin(self.idle_from, self.framing.framed(size))
        };
        self.idle_from = leaves;
        self.held += 1;
        if self.due.is_never() {
            self.due = leaves + self.delay;
        }
        self.line.push_back(Planned { leaves, arrived: now, frame });
        None
    }

    /// Counts what has left the server by `now`.
    #[inline(always)]
    fn pass(&mut self, now: Time) {
        while self.finish <= now {
            self.held -= 1;
            match self.line.get(self.line.len() - self.held) {
                Some(next) => {
                    self.finish = next.leaves;
                    self.in_service = next.frame.wire_size();
                    self.waiting.frames -= 1;
                    self.waiting.bytes -= self.in_service;
                }
                None => self.finish = Time::NEVER,
            }
        }
    }

    /// The next frame that has come out by `now`.
    #[inline(always)]
    pub fn poll<W: Watch<F>>(&mut self, now: Time, watch: &mut W) -> Option<F> {
        if self.due > now {
            return None;
        }
        if self.held == self.line.len() {
            self.pass(now);
        }
        let Planned { leaves, arrived, frame } = self.line.pop_front()?;
        self.due = self.line.front().map_or(Time::NEVER, |next| next.leaves + self.delay);
        if self.reported == 0 {
            watch.on_passed(leaves, arrived, &frame);
        } else {
            self.reported -= 1;
        }
        Some(frame)
    }

    /// How many had left the server when the line was looked at last.
    fn gone(&self) -> usize {
        self.line.len() - self.held
    }

    /// The frame that comes out after `others` others, if it is inside already.
    #[inline]
    pub(super) fn coming(&self, others: usize) -> Option<&F> {
        self.line.get(others).map(|planned| &planned.frame)
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
        let gone = self.gone();
        for Planned { leaves, arrived, frame } in self.line.range(self.reported..gone) {
            watch.on_passed(*leaves, *arrived, frame);
        }
        self.reported = gone;
        let mut ahead = Ahead { waiting: self.waiting, ..Ahead::default() };
        let mut begins = self.finish;
        for Planned { leaves, frame, .. } in self.line.iter().skip(gone + 1) {
            let left = u128::from((begins - now).as_nanos());
            ahead.frame_time += left;
            ahead.byte_time += left * u128::from(frame.wire_size().as_u64());
            begins = *leaves;
        }
        watch.on_reported(ahead);
    }

    /// What waited when the line was looked at last.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.waiting
    }

    /// The frame in service when the line was looked at last.
    pub fn in_service(&self) -> Option<&F> {
        self.line.get(self.gone()).map(|planned| &planned.frame)
    }

    /// Work left of the frame in service at the time to which the pipe was advanced: of all that is left, what does not
    /// wait.
    pub fn left(&self) -> Work {
        let work = |planned: &Planned<F>| Work::of(self.framing.framed(planned.frame.wire_size()));
        let waits: Work = self.line.iter().skip(self.gone() + 1).map(work).sum();
        self.server.left(self.now, self.idle_from).saturating_sub(waits)
    }

    /// Frames inside.
    pub fn inside(&self) -> usize {
        self.line.len()
    }

    /// When the capacity changes: at zero, as long as nothing has moved, and never again.
    pub fn changes_at(&self) -> Time {
        if self.has_begun { Time::NEVER } else { Time::ZERO }
    }
}
