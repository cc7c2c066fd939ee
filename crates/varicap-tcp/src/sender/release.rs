//! The release of segments: pacing, the limit of bursts, and the reservation of a sender
//! that has one. The sender asks here, and knows none of them.

use varicap_units::{Bytes, Pacer, Rate, Span, Stream, Time, Work};

use crate::reservation::{Reservation, Reserved};
use crate::rtt::RttEstimator;
use crate::segment::Flags;

/// The conditions under which a segment that the window allows may leave.
#[derive(Debug)]
pub(super) struct Release {
    /// From here on segments leave without a further look; NEVER: each is looked at.
    open_from: Time,
    /// The instant at which pacing lets the next segment leave.
    paced_until: Time,
    /// Keeps the rate exact over many segments, after the last one that was paced and before it.
    pacer: Pacer,
    pacer_before: Pacer,
    last_sent_at: Time,
    last_wire_size: u16,
    /// Segments that may yet go out in answer to the last acknowledgement.
    burst_left: u32,
    max_burst: u32,
    /// When to poll again: pacing alone held a segment back, or a reservation's timer expires.
    wake_at: Time,
    looks_at_each: bool,
    terms: Terms,
}

/// By which terms segments leave.
#[derive(Debug)]
enum Terms {
    /// By the window and pacing alone.
    Free,
    /// A reservation marks what conforms to it, may send by a timer, and may hold segments back.
    /// Source: [minrate, §IV].
    Reserved(Box<Reserved>),
}

impl Release {
    pub(super) fn new(now: Time, max_burst: Option<u32>) -> Release {
        let max_burst = max_burst.unwrap_or(u32::MAX).max(1);
        Release {
            open_from: Time::ZERO,
            paced_until: Time::ZERO,
            pacer: Pacer::default(),
            pacer_before: Pacer::default(),
            last_sent_at: now,
            last_wire_size: 0,
            burst_left: max_burst,
            max_burst,
            wake_at: Time::NEVER,
            looks_at_each: false,
            terms: Terms::Free,
        }
    }

    /// From now on no segment leaves without a look.
    pub(super) fn look_at_each(&mut self) {
        self.looks_at_each = true;
        self.open_from = Time::NEVER;
    }

    /// Whether segments may leave at `now` without a further look.
    #[inline]
    pub(super) fn is_open(&self, now: Time) -> bool {
        now >= self.open_from && self.burst_left > 0
    }

    /// Whether the limit of bursts lets another segment out.
    #[inline]
    pub(super) fn has_burst(&self) -> bool {
        self.burst_left > 0
    }

    /// Whether it is pacing alone that holds segments back at `now`.
    #[inline]
    pub(super) fn is_only_paced(&self, now: Time) -> bool {
        now < self.paced_until && !self.looks_at_each && self.burst_left > 0
    }

    /// Whether a segment that the window allows may leave at `now`, by a control that `paces` or does not.
    #[inline]
    pub(super) fn allows(&self, now: Time, paces: bool) -> bool {
        self.burst_left > 0 && !self.is_paced(now, paces)
    }

    #[inline]
    fn is_paced(&self, now: Time, paces: bool) -> bool {
        paces && now < self.paced_until
    }

    /// How long pacing holds the next segment back.
    #[inline]
    pub(super) fn held(&self, now: Time) -> Span {
        self.paced_until.max(now).since(now)
    }

    /// The instant at which to poll again.
    #[inline]
    pub(super) fn wake_at(&self) -> Time {
        self.wake_at
    }

    /// Nothing is to be sent before something arrives.
    #[inline]
    pub(super) fn rest(&mut self) {
        self.wake_at = Time::NEVER;
    }

    /// A segment was not allowed to leave at `now`.
    pub(super) fn wait(&mut self, now: Time, paces: bool) {
        let is_paced = self.burst_left > 0 && self.is_paced(now, paces);
        self.wake_at = if is_paced { self.paced_until } else { Time::NEVER };
    }

    /// As [`Release::wait`], where it [is only pacing](Release::is_only_paced) that holds segments back.
    #[inline]
    pub(super) fn wait_for_pace(&mut self, paces: bool) {
        self.wake_at = if paces { self.paced_until } else { Time::NEVER };
    }

    /// Something arrived: another burst may leave.
    #[inline]
    pub(super) fn refill(&mut self) {
        self.burst_left = self.max_burst;
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn count(&mut self) {
        debug_assert!(self.burst_left > 0, "a segment leaves that may not");
        self.burst_left -= 1;
    }

    /// `wire_size` bytes leave.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, wire_size: u16) {
        debug_assert!(now >= self.last_sent_at, "{now:?} is before {:?}", self.last_sent_at);
        self.last_sent_at = now;
        self.last_wire_size = wire_size;
    }

    /// The instant at which the last segment left.
    pub(super) fn last_sent_at(&self) -> Time {
        self.last_sent_at
    }

    /// How long nothing has left.
    pub(super) fn idle(&self, now: Time) -> Span {
        now.since(self.last_sent_at)
    }

    /// Whether nothing has left for longer than `span`.
    pub(super) fn is_idle(&self, now: Time, span: Span) -> bool {
        self.last_sent_at + span < now
    }

    /// Sets when the next segment may go, given the one that has just left and the rate to pace at. A rate of zero still
    /// lets one out each RTO.
    pub(super) fn pace(&mut self, rate: Rate, rtt: &RttEstimator) {
        self.pacer_before = self.pacer;
        self.pace_anew(Some(rate), rtt);
    }

    /// As [`Release::pace`], where the rate has changed since the last segment left.
    pub(super) fn pace_anew(&mut self, rate: Option<Rate>, rtt: &RttEstimator) {
        self.paced_until = match rate {
            Some(rate) => {
                self.pacer = self.pacer_before;
                let gap = self.pacer.gap(rate, Bytes::new(u64::from(self.last_wire_size)));
                self.last_sent_at + rtt.at_most_rto(gap)
            }
            None => Time::ZERO,
        };
        if !self.looks_at_each {
            self.open_from = self.paced_until;
        }
    }

    /// The distance from a segment of `bytes` to the next one at `rate`, for [`Release::space`].
    #[inline]
    pub(super) fn gap(&mut self, rate: Rate, bytes: u64) -> Span {
        self.pacer.gap(rate, Bytes::new(bytes))
    }

    /// The longer distance, of those to the next segment at each of these rates.
    pub(super) fn longest_gap(&mut self, rates: impl Iterator<Item = (Rate, u64)>) -> Option<Span> {
        let before = self.pacer;
        let gaps = rates.map(|(rate, bytes)| {
            let mut pacer = before;
            (pacer.gap(rate, Bytes::new(bytes)), pacer)
        });
        let (gap, pacer) = gaps.max_by_key(|(gap, _)| *gap)?;
        self.pacer = pacer;
        Some(gap)
    }

    /// The next segment may go `gap` after the last one was due; of the time by which that left later, at most half a gap
    /// counts, so that a pause lets no burst out. Source: Linux, `tcp_update_skb_after_send`.
    pub(super) fn space(&mut self, now: Time, gap: Span) {
        // A segment that does not wait, such as a probe, leaves before its time: the schedule goes on from there.
        let due = self.paced_until;
        self.paced_until = now.max(due) + gap.saturating_sub(now.since(due).min(gap / 2));
        if !self.looks_at_each {
            self.open_from = self.paced_until;
        }
    }

    /// From `now` on segments that conform to `terms` are marked; `packet` is a full one on the wire.
    pub(super) fn reserve(&mut self, now: Time, terms: &Reservation, packet: Bytes, stream: Stream) {
        let mut reserved = Reserved::new(now, terms, packet, stream);
        self.wake_at = self.wake_at.min(reserved.poll_at(now, false));
        self.terms = Terms::Reserved(Box::new(reserved));
        self.look_at_each();
    }

    /// The reservation, if there is one, is `rate` from `now` on.
    pub(super) fn set_reserved_rate(&mut self, now: Time, rate: Rate) {
        if let Terms::Reserved(reserved) = &mut self.terms {
            reserved.set_rate(now, rate);
            self.wake_at = self.wake_at.min(reserved.poll_at(now, false));
        }
    }

    fn reserved(&self) -> Option<&Reserved> {
        match &self.terms {
            Terms::Free => None,
            Terms::Reserved(reserved) => Some(reserved),
        }
    }

    pub(super) fn lost_tokens(&self, now: Time) -> Option<Work> {
        self.reserved().map(|reserved| reserved.lost_tokens(now))
    }

    pub(super) fn reserved_rate(&self) -> Option<Rate> {
        self.reserved().map(Reserved::rate)
    }

    pub(super) fn marked_packets(&self) -> u64 {
        self.reserved().map_or(0, Reserved::marked_packets)
    }

    /// The sender is polled: what wanted to be polled is.
    pub(super) fn on_poll(&mut self) {
        if let Terms::Reserved(_) = self.terms {
            self.wake_at = Time::NEVER;
        }
    }

    /// Whether the next segment may leave regardless of cwnd: the sender `is_ready`, a timer has expired, and a full
    /// segment conforms. Source: [minrate, Fig. 5].
    pub(super) fn grants(&mut self, now: Time, is_ready: bool) -> bool {
        let Terms::Reserved(reserved) = &mut self.terms else { return false };
        if !reserved.is_expired(now) {
            return false;
        }
        let grants = is_ready && reserved.conforms(now);
        if !grants {
            reserved.end_expiry();
        }
        grants
    }

    /// Withdraws a grant that the sender did not use.
    pub(super) fn end_grant(&mut self) {
        if let Terms::Reserved(reserved) = &mut self.terms {
            reserved.end_expiry();
        }
    }

    /// Whether segments leave by a timer now.
    pub(super) fn is_granting(&mut self, now: Time) -> bool {
        match &mut self.terms {
            Terms::Free => false,
            Terms::Reserved(reserved) => reserved.is_expired(now),
        }
    }

    /// Segments that are granted are no burst: returns what was left of it, for [`Release::end_exemption`].
    pub(super) fn exempt(&mut self) -> u32 {
        std::mem::replace(&mut self.burst_left, u32::MAX)
    }

    pub(super) fn end_exemption(&mut self, burst_left: u32) {
        self.burst_left = burst_left;
    }

    /// Whether the next segment is held back although the window allows it.
    #[inline]
    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        match &mut self.terms {
            Terms::Free => false,
            Terms::Reserved(reserved) => reserved.holds(now),
        }
    }

    /// The sender has nothing more to send at `now`, or at all if it `is_over`.
    pub(super) fn settle(&mut self, now: Time, is_over: bool) {
        if let Terms::Reserved(reserved) = &mut self.terms {
            self.wake_at = self.wake_at.min(reserved.poll_at(now, is_over));
        }
    }

    /// The marks of the segment that leaves at `now`. All below `una` was acknowledged.
    pub(super) fn stamp(&mut self, now: Time, una: u64, data: (u64, u64), wire_size: u16) -> Flags {
        let Terms::Reserved(reserved) = &mut self.terms else { return Flags::default() };
        if reserved.mark(now, una, data, wire_size) { Flags::RESERVED } else { Flags::default() }
    }

    /// The segment at `seq` was lost; true: the sender no longer trusts its reservation.
    pub(super) fn on_lost(&mut self, seq: u64) -> bool {
        match &mut self.terms {
            Terms::Free => false,
            Terms::Reserved(reserved) => reserved.on_lost(seq),
        }
    }

    /// How much of the data in flight counts when the window falls from `cwnd`: what a timer sent beyond it does not.
    pub(super) fn counted(&self, in_flight: u64, cwnd: u64) -> u64 {
        // [minrate, §IV-A]: CWND is cut in half, where RFC 5681 (4) halves the data in flight, which may be more here.
        if self.reserved().is_some_and(Reserved::is_timed) { in_flight.min(cwnd) } else { in_flight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::Timer;

    #[test]
    fn what_leaves_before_its_time_puts_the_next_segment_off() {
        let ms = |millis| Time::ZERO + Span::from_millis(millis);
        let gap = Span::from_millis(10);
        let mut release = Release::new(Time::ZERO, None);
        release.space(ms(100), gap);
        assert!(!release.allows(ms(104), true) && release.allows(ms(105), true), "half a gap after a pause");
        release.space(ms(102), gap);
        assert!(!release.allows(ms(114), true) && release.allows(ms(115), true));
        release.space(ms(117), gap);
        assert!(!release.allows(ms(124), true) && release.allows(ms(125), true), "on schedule again");
    }

    #[test]
    fn paced_segments_have_the_rate_that_was_asked_for() {
        // 1500 B at 399 Gb/s are 30.08 ns.
        let (rate, rtt) = (Rate::from_bps(399_000_000_000), RttEstimator::new(&Timer::default(), false));
        let expected = rate.transmission_time(Bytes::new(1500 * 1000));
        let [mut own, mut spaced] = [(); 2].map(|()| Release::new(Time::ZERO, None));
        for release in [&mut own, &mut spaced] {
            release.on_sent(Time::ZERO, 1500);
        }
        for _ in 0..1000 {
            own.pace(rate, &rtt);
            // The rate is heard once more.
            own.pace_anew(Some(rate), &rtt);
            own.on_sent(own.paced_until, 1500);
            let gap = spaced.longest_gap([(rate, 1500), (Rate::UNLIMITED, 1500)].into_iter()).unwrap();
            spaced.space(spaced.paced_until, gap);
        }
        assert_eq!(own.last_sent_at, Time::ZERO + expected);
        assert_eq!(spaced.paced_until, Time::ZERO + expected);
    }
}
