//! Measurements of a link: what it offered, carried, lost and held.

use varicap_net::{Ahead, Backlog, CapacityParts, LossCause};
use varicap_units::{Bytes, Rate, Span, Time, Work};

use crate::results::histogram::Histogram;

varicap_units::totals! {
    /// The counts of a link since the start of the run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LinkTotals {
        /// Work that the capacity offered, used or not.
        pub offered: Work,
        /// Work that the server could have done: as `offered`, but with at-start service a frame in service keeps its rate
        /// until it ends, whatever is offered meanwhile.
        pub available: Work,
        /// Frames offered to the link.
        pub arrived_frames: u64,
        /// Frames that left the server.
        pub carried_frames: u64,
        /// Bytes that left the server [B].
        pub carried: Bytes,
        /// Bytes that passed by the server, counted as carried, yet without taking capacity [B].
        pub bypassed: Bytes,
        /// Frames lost because the queue was full.
        pub overflowed_frames: u64,
        /// Frames dropped early by active queue management.
        pub aqm_dropped_frames: u64,
        /// Frames dropped as they arrived because they did not conform to their reservation.
        pub policed_frames: u64,
        /// Frames lost on the channel, after they had left the server.
        pub channel_lost_frames: u64,
        /// Bytes lost on the channel, after they had left the server [B].
        pub channel_lost: Bytes,
        /// Frames that came twice after they had left the server: how many copies there were.
        pub duplicated_frames: u64,
        /// Bytes of these copies [B].
        pub duplicated: Bytes,
        /// Frames, copies included, that were damaged after they had left the server.
        pub corrupted_frames: u64,
        /// Frames marked (ECN).
        pub marked_frames: u64,
        /// Link-layer packets that a link with ARQ sent, including retransmissions.
        pub transmissions: u64,
        /// Link-layer packets that a link with ARQ retransmitted.
        pub retransmissions: u64,
        /// Frames that conformed to a reservation and were lost for any cause.
        pub reserved_lost_frames: u64,
        /// Integral of the waiting frames over time [frames ns].
        pub frame_time: u128,
        /// Integral of the waiting bytes over time [B ns].
        pub byte_time: u128,
    }
}

impl LinkTotals {
    /// Frames lost for any cause.
    pub const fn lost_frames(&self) -> u64 {
        self.overflowed_frames + self.aqm_dropped_frames + self.policed_frames + self.channel_lost_frames
    }

    /// Frames that came through, copies included.
    pub const fn delivered_frames(&self) -> u64 {
        self.carried_frames + self.duplicated_frames - self.channel_lost_frames
    }

    /// Bytes that came through, copies included [B].
    pub fn delivered(&self) -> Bytes {
        self.carried + self.duplicated - self.channel_lost
    }
}

/// Measures one link; its methods mirror `varicap_net::Watch` and take sizes instead of frames.
#[derive(Clone, Debug, Default)]
pub struct LinkMeter {
    totals: LinkTotals,
    /// The backlog since `settled`, without the frame in service.
    waiting: Backlog,
    settled: Time,
    /// Whether the link passes delivery opportunities, and therefore has no server that holds a frame.
    is_slotted: bool,
    peak: Backlog,
    /// Of a link that plans departures: what the integrals count of the time after the last report, and what waits.
    ahead: Ahead,
    /// The capacity since `rated`.
    rate: Rate,
    rated: Time,
    /// The rate that a frame in service kept, or keeps, as the capacity changed, and when it ends.
    kept: Rate,
    kept_until: Time,
    was_unlimited: bool,
    range: CapacityRange,
    sojourn: Histogram,
    base: LinkTotals,
    since: Time,
    /// Frames that were inside when measuring began, and the bytes that were sent of those in service [B].
    held: u64,
    begun: Bytes,
}

/// The range in which a capacity varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityRange {
    /// The least capacity.
    pub minimum: Rate,
    /// The greatest capacity.
    pub maximum: Rate,
    /// How long the capacity was at its least.
    pub at_minimum: Span,
}

/// The range before any capacity was observed.
impl Default for CapacityRange {
    fn default() -> CapacityRange {
        CapacityRange { minimum: Rate::UNLIMITED, maximum: Rate::ZERO, at_minimum: Span::ZERO }
    }
}

impl CapacityRange {
    /// Adds that the capacity was `rate` for `span`.
    fn extend(&mut self, rate: Rate, span: Span) {
        if span == Span::ZERO {
            return;
        }
        if rate < self.minimum {
            (self.minimum, self.at_minimum) = (rate, Span::ZERO);
        }
        if rate == self.minimum {
            self.at_minimum += span;
        }
        self.maximum = self.maximum.max(rate);
    }
}

/// The measurements of a link.
#[derive(Clone, Debug)]
pub struct LinkMeasure {
    /// How long the link was measured.
    pub span: Span,
    /// The counts of the link in that time.
    pub done: LinkTotals,
    /// Frames that were waiting or in service when measuring began: they are carried or lost in that time, too.
    pub held_frames: u64,
    /// Bytes for which the capacity of that time was used: of a frame that was in service as measuring began, what was left
    /// to send; nothing of those that passed by the server [B].
    pub used: Bytes,
    /// The maximum number of frames and of bytes that waited, not necessarily at the same instant.
    pub peak: Backlog,
    /// Whether the capacity was unlimited at some time, in which case it has no mean.
    pub was_unlimited: bool,
    /// The range in which the capacity varied; meaningless on a link that passes delivery opportunities.
    pub range: Option<CapacityRange>,
    /// Times from a frame's arrival to its departure from the server [ns].
    pub sojourn: Histogram,
}

impl LinkMeter {
    /// A meter for an empty link, starting at time zero.
    pub fn new() -> LinkMeter {
        LinkMeter::default()
    }

    /// A meter for an empty link of this capacity, starting at time zero.
    pub fn of(capacity: &CapacityParts) -> LinkMeter {
        let is_slotted = matches!(capacity, CapacityParts::Opportunities(_));
        LinkMeter { is_slotted, ..LinkMeter::default() }
    }

    /// Notes that a frame of `size` was offered to the link, which held `backlog` before it.
    #[inline]
    pub fn on_arrival(&mut self, at: Time, size: Bytes, backlog: Backlog) {
        debug_assert_eq!(self.waiting, backlog, "what waits at {at:?} follows from the events before");
        self.settle(at);
        // The frame waits behind any other; even if none is waiting, there may be one in service.
        if backlog.frames > 0 || self.is_slotted || self.inside() > 0 {
            self.waiting.frames += 1;
            self.waiting.bytes += size;
        }
        self.totals.arrived_frames += 1;
    }

    /// Frames that are waiting or in service.
    #[inline]
    fn inside(&self) -> u64 {
        let totals = &self.totals;
        let dropped = totals.overflowed_frames + totals.aqm_dropped_frames + totals.policed_frames;
        totals.arrived_frames - dropped - totals.carried_frames
    }

    /// Notes that a frame of `size` was lost for `cause`.
    pub fn on_lost(&mut self, at: Time, size: Bytes, cause: LossCause) {
        match cause {
            LossCause::Overflow => self.totals.overflowed_frames += 1,
            LossCause::Aqm => self.totals.aqm_dropped_frames += 1,
            LossCause::Policed => self.totals.policed_frames += 1,
            LossCause::Channel => {
                self.totals.channel_lost_frames += 1;
                self.totals.channel_lost += size;
                return; // the frame had left the server
            }
        }
        // A frame that is lost on arrival never waited, so it does not count towards the peak.
        if at > self.settled {
            self.settle(at);
        }
        if self.inside() > 0 || self.is_slotted {
            self.waiting.frames = self.waiting.frames.saturating_sub(1);
            self.waiting.bytes = self.waiting.bytes.saturating_sub(size);
        }
    }

    /// Notes that the frame that was lost conformed to a reservation.
    pub fn on_reserved_lost(&mut self) {
        self.totals.reserved_lost_frames += 1;
    }

    /// Notes that a frame of `size` came twice.
    pub fn on_copied(&mut self, size: Bytes) {
        self.totals.duplicated_frames += 1;
        self.totals.duplicated += size;
    }

    /// Notes that a frame was damaged.
    pub fn on_damaged(&mut self) {
        self.totals.corrupted_frames += 1;
    }

    /// Notes that a queue marked a frame (ECN).
    #[inline]
    pub fn on_mark(&mut self) {
        self.totals.marked_frames += 1;
    }

    /// Notes that a frame of `size` that arrived at `arrived` left the server; `backlog` is still waiting.
    #[inline]
    pub fn on_departure(&mut self, at: Time, arrived: Time, size: Bytes, backlog: Backlog) {
        self.settle(at);
        self.waiting = backlog;
        self.totals.carried_frames += 1;
        self.totals.carried += size;
        self.sojourn.record(at.since(arrived).as_nanos());
    }

    /// Notes that a frame was offered to a link that plans departures.
    #[inline]
    pub fn on_offered(&mut self) {
        self.totals.arrived_frames += 1;
    }

    /// Notes that a frame of `size` will wait for `wait`.
    #[inline]
    pub fn on_planned(&mut self, wait: Span, size: Bytes) {
        self.totals.frame_time += u128::from(wait.as_nanos());
        self.totals.byte_time += u128::from(wait.as_nanos()) * u128::from(size.as_u64());
    }

    /// Notes that `backlog` waits; returns the most that ever did.
    pub fn on_waiting(&mut self, backlog: Backlog) -> Backlog {
        self.raise_peak(backlog);
        self.peak
    }

    /// Notes that a frame of `size` has left the server after `sojourn`, as planned.
    #[inline]
    pub fn on_passed(&mut self, sojourn: Span, size: Bytes) {
        self.totals.carried_frames += 1;
        // In between, so that the two are not added as one vector, which takes more instructions.
        self.sojourn.record(sojourn.as_nanos());
        self.totals.carried += size;
    }

    /// Notes that all departures up to now were told, and `ahead` is still to come.
    pub fn on_reported(&mut self, ahead: Ahead) {
        self.ahead = ahead;
    }

    /// Notes that the frame of `size` that departs next took no capacity.
    pub fn on_bypass(&mut self, size: Bytes) {
        self.totals.bypassed += size;
    }

    /// Notes that from `at` on `backlog` waits.
    pub fn on_backlog(&mut self, at: Time, backlog: Backlog) {
        // A packet that comes and goes at one instant never waited, so it does not count towards the peak.
        if at > self.settled {
            self.settle(at);
        }
        self.waiting = backlog;
    }

    /// Notes that a link with ARQ began to send a link-layer packet; `is_again` if it had been lost before.
    pub fn on_transmission(&mut self, is_again: bool) {
        self.totals.transmissions += 1;
        self.totals.retransmissions += u64::from(is_again);
    }

    /// Notes that the link offers `rate` from `at` on.
    pub fn on_capacity(&mut self, at: Time, rate: Rate) {
        self.settle_capacity(at);
        self.rate = rate;
        self.was_unlimited |= rate.is_unlimited();
    }

    /// Notes that the capacity changes at `at`, yet the frame in service keeps `rate` until it ends at `until`.
    pub fn on_rate_kept(&mut self, at: Time, rate: Rate, until: Time) {
        debug_assert!(!rate.is_unlimited(), "a frame at an unlimited rate takes no time");
        self.settle_capacity(at);
        (self.kept, self.kept_until) = (rate, until);
    }

    /// Notes that a delivery opportunity of `offered` bytes passed, used or not.
    #[inline]
    pub fn on_opportunity(&mut self, offered: Bytes) {
        self.is_slotted = true;
        self.totals.offered += Work::of(offered);
        self.totals.available += Work::of(offered);
    }

    /// Adds the backlog since the last event to the integrals.
    #[inline]
    fn settle(&mut self, at: Time) {
        let span = at.since(self.settled).as_nanos();
        self.settled = at;
        self.totals.frame_time += u128::from(span) * u128::from(self.waiting.frames);
        self.totals.byte_time += u128::from(span) * u128::from(self.waiting.bytes.as_u64());
        self.raise_peak(self.waiting);
    }

    /// A new maximum is rare, so a predicted branch is cheaper than computing the maximum.
    #[inline]
    fn raise_peak(&mut self, backlog: Backlog) {
        if backlog.frames > self.peak.frames {
            self.peak.frames = backlog.frames;
        }
        if backlog.bytes > self.peak.bytes {
            self.peak.bytes = backlog.bytes;
        }
    }

    fn settle_capacity(&mut self, at: Time) {
        let span = at.since(self.rated);
        let kept = self.kept_until.min(at).since(self.rated);
        if !self.rate.is_unlimited() {
            self.totals.offered += self.rate * span;
            self.totals.available += self.rate * (span - kept);
        }
        self.totals.available += self.kept * kept;
        self.range.extend(self.rate, span);
        self.rated = at;
    }

    /// The totals up to `now`, which must not be earlier than the last event.
    pub fn totals(&mut self, now: Time) -> LinkTotals {
        self.settle(now);
        self.settle_capacity(now);
        LinkTotals {
            frame_time: self.totals.frame_time - self.ahead.frame_time,
            byte_time: self.totals.byte_time - self.ahead.byte_time,
            ..self.totals
        }
    }

    /// The capacity after its last change [b/s]; zero on a link that passes delivery opportunities.
    pub fn capacity(&self) -> Rate {
        self.rate
    }

    /// The backlog after the last event, without the frame in service.
    pub fn waiting(&self) -> Backlog {
        let Backlog { frames, bytes } = self.ahead.waiting;
        Backlog { frames: self.waiting.frames + frames, bytes: self.waiting.bytes + bytes }
    }

    /// Ends the warm-up: measuring begins at `now`, and the backlog is kept. Of the frames in service `begun` is sent [B].
    pub fn reset(&mut self, now: Time, begun: Bytes) {
        self.base = self.totals(now);
        (self.held, self.begun) = (self.inside(), begun);
        self.since = now;
        self.peak = self.waiting();
        self.was_unlimited = self.rate.is_unlimited();
        self.range = CapacityRange::default();
        self.sojourn.clear();
    }

    /// The measurements from the last reset (or the start) to `now`.
    pub fn finish(mut self, now: Time) -> LinkMeasure {
        let done = self.totals(now).since(&self.base);
        debug_assert!(done.lost_frames() <= done.arrived_frames + self.held, "more is lost than there was");
        LinkMeasure {
            held_frames: self.held,
            used: (done.carried - done.bypassed).saturating_sub(self.begun),
            span: now.since(self.since),
            done,
            range: (!self.is_slotted && !self.was_unlimited).then_some(self.range),
            peak: self.peak,
            was_unlimited: self.was_unlimited,
            sojourn: self.sojourn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::new(1000);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn waiting(frames: u32) -> Backlog {
        Backlog { frames, bytes: SIZE * u64::from(frames) }
    }

    /// Frames x milliseconds as the integral counts them.
    fn frame_ms(count: u128) -> u128 {
        count * 1_000_000
    }

    #[test]
    fn the_frame_in_service_does_not_wait() {
        let mut meter = LinkMeter::new();
        meter.on_arrival(at(0), SIZE, waiting(0));
        meter.on_departure(at(10), at(0), SIZE, waiting(0));
        let measure = meter.finish(at(20));
        assert_eq!((measure.done.frame_time, measure.peak), (0, waiting(0)));
        assert_eq!(measure.sojourn.mean(), Some(10e6));
    }

    #[test]
    fn backlog_is_integrated_from_arrival_to_the_start_of_service() {
        let mut meter = LinkMeter::new();
        meter.on_arrival(at(0), SIZE, waiting(0));
        meter.on_arrival(at(2), SIZE, waiting(0)); // waits from 2 ms to 10 ms
        meter.on_arrival(at(4), SIZE, waiting(1)); // waits from 4 ms to 20 ms
        meter.on_departure(at(10), at(0), SIZE, waiting(1));
        meter.on_departure(at(20), at(2), SIZE, waiting(0));
        let measure = meter.finish(at(25));
        assert_eq!(measure.done.frame_time, frame_ms(8 + 16));
        assert_eq!(measure.done.byte_time, frame_ms(8 + 16) * 1000);
        assert_eq!(measure.peak, waiting(2));
    }

    #[test]
    fn a_frame_lost_as_it_arrives_never_waits() {
        let mut meter = LinkMeter::new();
        meter.on_arrival(at(0), SIZE, waiting(0));
        meter.on_arrival(at(1), SIZE, waiting(0));
        meter.on_lost(at(1), SIZE, LossCause::Overflow);
        meter.on_departure(at(10), at(0), SIZE, waiting(0));
        let measure = meter.finish(at(10));
        assert_eq!((measure.done.frame_time, measure.peak), (0, waiting(0)));
        assert_eq!((measure.done.overflowed_frames, measure.done.arrived_frames), (1, 2));
    }

    #[test]
    fn a_frame_dropped_at_dequeue_waited_until_then() {
        let mut meter = LinkMeter::new();
        for _ in 0..3 {
            meter.on_arrival(at(0), SIZE, meter.waiting());
        }
        meter.on_lost(at(10), SIZE, LossCause::Aqm); // the second; the third enters the server
        meter.on_departure(at(10), at(0), SIZE, waiting(0));
        assert_eq!(meter.finish(at(20)).done.frame_time, frame_ms(2 * 10));
    }

    #[test]
    fn a_slotted_link_has_no_server_that_holds_a_frame() {
        let mut meter = LinkMeter::new();
        meter.on_opportunity(Bytes::new(1500));
        meter.on_arrival(at(0), SIZE, waiting(0));
        meter.on_departure(at(10), at(0), SIZE, waiting(0));
        assert_eq!(meter.finish(at(10)).done.frame_time, frame_ms(10));
    }

    #[test]
    fn a_loss_on_the_channel_leaves_the_queue_alone() {
        let mut meter = LinkMeter::new();
        for _ in 0..3 {
            meter.on_arrival(at(0), SIZE, meter.waiting());
        }
        meter.on_departure(at(10), at(0), SIZE, waiting(1));
        meter.on_lost(at(10), SIZE, LossCause::Channel);
        assert_eq!((meter.inside(), meter.waiting()), (2, waiting(1)));
        let done = meter.finish(at(20)).done;
        assert_eq!((done.carried, done.channel_lost, done.frame_time), (SIZE, SIZE, frame_ms(2 * 10 + 10)));
    }

    #[test]
    fn offered_work_is_the_integral_of_the_capacity() {
        let mut meter = LinkMeter::new();
        meter.on_capacity(at(0), Rate::from_bps(8_000));
        meter.on_capacity(at(1000), Rate::ZERO);
        meter.on_capacity(at(3000), Rate::from_bps(16_000));
        meter.on_opportunity(Bytes::new(1500));
        assert_eq!(meter.finish(at(4000)).done.offered, Work::of(Bytes::new(1000 + 2000 + 1500)));
    }

    #[test]
    fn the_range_of_a_capacity_counts_from_the_reset_on() {
        let mut meter = LinkMeter::new();
        meter.on_capacity(at(0), Rate::ZERO);
        meter.on_capacity(at(1000), Rate::from_bps(500));
        meter.reset(at(2000), Bytes::ZERO);
        meter.on_capacity(at(3000), Rate::from_bps(900));
        meter.on_capacity(at(3000), Rate::from_bps(100)); // for no time at all
        meter.on_capacity(at(3000), Rate::from_bps(700));
        meter.on_capacity(at(4000), Rate::from_bps(500));
        let range = meter.finish(at(5500)).range.unwrap();
        let expected = (Rate::from_bps(500), Rate::from_bps(700), Span::from_millis(2500));
        assert_eq!((range.minimum, range.maximum, range.at_minimum), expected);
    }

    #[test]
    fn what_a_frame_in_service_keeps_is_available_and_not_offered() {
        let mut meter = LinkMeter::new();
        meter.on_capacity(at(0), Rate::from_bps(8_000));
        meter.on_rate_kept(at(1000), Rate::from_bps(8_000), at(2500));
        meter.on_capacity(at(1000), Rate::ZERO);
        meter.totals(at(1700)); // whoever looks changes nothing
        meter.on_rate_kept(at(2000), Rate::from_bps(8_000), at(2500));
        meter.on_capacity(at(2000), Rate::from_bps(16_000));
        let done = meter.finish(at(3000)).done;
        assert_eq!(done.offered, Work::of(Bytes::new(1000 + 2000)));
        assert_eq!(done.available, Work::of(Bytes::new(2500 + 1000)));
    }

    #[test]
    fn unlimited_capacity_is_told_apart() {
        let mut meter = LinkMeter::new();
        meter.on_capacity(at(0), Rate::UNLIMITED);
        let measure = meter.finish(at(1));
        assert!(measure.was_unlimited);
        assert_eq!(measure.done.offered, Work::ZERO);
    }

    #[test]
    fn reset_cuts_the_warm_up_and_keeps_what_waits() {
        let mut meter = LinkMeter::new();
        meter.on_capacity(at(0), Rate::from_bps(8_000));
        meter.on_arrival(at(0), SIZE, waiting(0));
        meter.on_arrival(at(0), SIZE, waiting(0));
        meter.on_arrival(at(0), SIZE, waiting(1));
        meter.on_departure(at(10), at(0), SIZE, waiting(1));
        meter.reset(at(15), Bytes::new(500));
        meter.on_departure(at(20), at(0), SIZE, waiting(0));
        let measure = meter.finish(at(1015));
        assert_eq!(measure.span, Span::from_secs(1));
        assert_eq!((measure.done.carried_frames, measure.done.arrived_frames), (1, 0));
        // Half of the frame in service was sent before, and one more waited.
        assert_eq!((measure.used, measure.held_frames), (Bytes::new(500), 2));
        assert_eq!(measure.done.frame_time, frame_ms(5));
        assert_eq!(measure.done.offered, Work::of(SIZE));
        assert_eq!(measure.peak, waiting(1));
        assert_eq!(measure.sojourn.count(), 1);
    }
}
