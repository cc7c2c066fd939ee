//! A link whose propagation delay varies, or on which frames are copied or damaged.

use varicap_units::{Span, Streams, Time, stream_name};

use super::{Link, LinkParts};
use crate::capacity::CapacityParts;
use crate::delay::{Delay, DelayProcess};
use crate::frame::{Frame, Watch};
use crate::netem::Copies;

/// The changes of a link's delay, and the copies and damage of its frames.
#[derive(Debug)]
pub(super) struct Varying {
    path: Delay,
    /// Until when the present delay holds.
    until: Time,
    /// Whether each frame draws a delay of its own.
    is_per_frame: bool,
    /// Whether a frame may overtake those under way.
    reorders: bool,
    /// Which frames are copied and damaged, if any are.
    pub copies: Option<Box<Copies>>,
}

impl Varying {
    /// The changes of the delay of the link called `name`; nothing if it is constant, unless a controller may set it where
    /// frames may overtake, or frames are copied or damaged.
    pub fn new(parts: &LinkParts, name: &str, streams: &Streams) -> Option<Box<Varying>> {
        let is_set = matches!(parts.capacity, CapacityParts::LoadReactive(_)) && parts.reorders;
        let acts = parts.netem.acts();
        if parts.delay.constant().is_some() && !is_set && !acts {
            return None;
        }
        let path = Delay::new(&parts.delay, name, streams);
        let stream = || streams.stream(&stream_name::link(name, "netem"));
        Some(Box::new(Varying {
            path,
            until: Time::ZERO,
            is_per_frame: parts.delay.is_per_frame(),
            reorders: parts.reorders,
            copies: acts.then(|| Box::new(Copies::new(&parts.netem, stream()))),
        }))
    }
}

impl<F: Frame> Link<F> {
    /// Propagation delay of what leaves the server at `now`, which never decreases from call to call, nor lies before what
    /// has left. Where each frame draws its own: that of the last frame.
    pub fn delay(&mut self, now: Time) -> Span {
        if self.varying.as_ref().is_none_or(|varying| !varying.is_per_frame) {
            self.renew_delay(now);
        }
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
        if self.varying.as_ref().is_some_and(|varying| varying.copies.is_some()) {
            return self.send_off_copied(at, watch);
        }
        self.send_off_delayed(at, watch);
    }

    /// The same without a copy; whether the frame comes through.
    pub(super) fn send_off_delayed<W: Watch<F>>(&mut self, at: Time, watch: &mut W) -> bool {
        self.renew_delay(at);
        let before = self.under_way;
        self.set_off(at, watch);
        let comes_through = self.under_way > before;
        if comes_through {
            self.damage(at, watch);
            self.settle();
        }
        comes_through
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
            (varying.until, varying.is_per_frame) = (Time::NEVER, false);
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
