//! A link whose propagation delay varies.

use varicap_units::{Span, Streams, Time};

use super::{Link, LinkParts};
use crate::capacity::CapacityParts;
use crate::delay::{Delay, DelayProcess};
use crate::frame::{Frame, Watch};

/// What moves the delay of a link.
#[derive(Debug)]
pub(super) struct Varying {
    path: Delay,
    /// Until when the present delay holds.
    until: Time,
    /// Whether a frame may overtake those under way.
    reorders: bool,
}

impl Varying {
    /// What moves the delay of the link called `name`; nothing if it is constant, unless a controller may set it where
    /// frames may overtake.
    pub fn new(parts: &LinkParts, name: &str, streams: &Streams) -> Option<Box<Varying>> {
        let is_set = matches!(parts.capacity, CapacityParts::LoadReactive(_)) && parts.reorders;
        if parts.delay.constant().is_some() && !is_set {
            return None;
        }
        let path = Delay::new(&parts.delay, name, streams);
        Some(Box::new(Varying { path, until: Time::ZERO, reorders: parts.reorders }))
    }
}

impl<F: Frame> Link<F> {
    /// Propagation delay of what leaves the server at `now`, which never decreases from call to call, nor lies before what
    /// has left.
    pub fn delay(&mut self, now: Time) -> Span {
        self.renew_delay(now);
        self.delay
    }

    /// Whether the next frame that leaves the server may come out before those under way.
    #[inline(always)]
    pub(super) fn may_overtake(&self) -> bool {
        self.varying.as_ref().is_some_and(|varying| varying.reorders)
    }

    /// The frame in service is through at `at`, with the delay of that instant.
    #[inline(never)]
    pub(super) fn send_off_varying<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        self.renew_delay(at);
        let before = self.under_way;
        self.set_off(at, watch);
        if self.under_way > before {
            self.settle();
        }
    }

    /// Moves the delay on to `at`.
    #[inline]
    pub(super) fn renew_delay(&mut self, at: Time) {
        if let Some(varying) = &mut self.varying
            && varying.until <= at
        {
            let segment = varying.path.segment(at);
            debug_assert!(segment.delay >= self.least_delay, "{} is less than the least", segment.delay);
            (self.delay, varying.until) = (segment.delay, segment.until);
        }
    }

    /// A controller sets the delay of all that leaves from now on, whatever moved it before.
    pub(super) fn set_delay(&mut self, delay: Span) {
        // Where a controller acts, the link is polled at each of its changes.
        (self.delay, self.least_delay) = (delay, delay);
        if let Some(varying) = &mut self.varying {
            varying.until = Time::NEVER;
        }
    }

    /// The frame that set out last takes its place among those under way: in the order in which they come out, behind
    /// those of the same instant.
    pub(super) fn settle(&mut self) {
        if !self.may_overtake() {
            return;
        }
        let last = self.under_way - 1;
        let due = self.line[last].time;
        // Of those under way before it, which are in order.
        let (mut place, mut end) = (0, last);
        while place < end {
            let middle = place + (end - place) / 2;
            if self.line[middle].time <= due {
                place = middle + 1;
            } else {
                end = middle;
            }
        }
        if place < last
            && let Some(inside) = self.line.remove(last)
        {
            self.line.insert(place, inside);
        }
    }
}
