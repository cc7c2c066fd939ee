//! What a sender sends, and when.

use std::num::NonZeroU16;

use varicap_units::{Bytes, Span, Time};

use super::{Sampling, Sender, TimerKind};
use crate::congestion::{CongestionControl, CongestionKind};
use crate::recovery::Space;
use crate::recovery::State;
use crate::segment::{Flags, Segment};

/// A segment to be sent, before it is written where it is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) seq: u64,
    pub(super) len: u32,
    pub(super) wire_size: NonZeroU16,
    pub(super) flags: Flags,
}

impl Outgoing {
    #[inline]
    fn write(self, now: Time, place: &mut Segment) {
        let Outgoing { seq, len, wire_size, flags } = self;
        *place = Segment { seq, len, sent_at: now, flags, wire_size: wire_size.get(), ..Segment::default() };
    }
}

impl Sender {
    /// The next segment to send now, if there is one. Works off an expired timer first.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment).then_some(segment)
    }

    /// As [`Sender::poll`], for a caller that keeps segments in places of its own: writes it there, or returns false.
    #[inline]
    pub fn poll_into(&mut self, now: Time, place: &mut Segment) -> bool {
        let Space { una, nxt, max, mss } = self.space;
        let end = nxt + mss;
        // Almost always: nothing to resend, no timer, and a full segment after others, which the window allows or not.
        let simple = una < nxt
            && nxt == max
            && end <= self.written.min(self.edge)
            && now < self.timer_at
            && now >= self.paced_until
            && self.burst_left > 0
            && self.is_plain
            && !self.probe_due
            && !self.recovery.is_resending();
        if !simple {
            return self.poll_carefully(now, place);
        }
        if end - una > self.flight_limit() {
            self.hold(end - una <= self.unclamped_window());
            return false;
        }
        self.emit(now, mss).write(now, place);
        true
    }

    #[inline(never)]
    fn poll_carefully(&mut self, now: Time, place: &mut Segment) -> bool {
        let outgoing = if self.reserved.is_some() { self.poll_reserved(now) } else { self.next(now) };
        let Some(outgoing) = outgoing else { return false };
        outgoing.write(now, place);
        true
    }

    pub(super) fn next(&mut self, now: Time) -> Option<Outgoing> {
        self.next_within(now, None)
    }

    /// The next segment that fits into `window`, or else into cwnd as recovery stretches it.
    #[inline]
    pub(super) fn next_within(&mut self, now: Time, window: Option<u64>) -> Option<Outgoing> {
        if now >= self.timer_at {
            self.on_expiry(now);
        }
        if !self.connected || self.probe_due {
            return self.poll_control(now);
        }
        let window = window.unwrap_or_else(|| self.flight_limit());
        if self.recovery.is_resending() {
            return self.poll_recovering(now, window);
        }
        self.poll_new(now, window)
    }

    /// What may be outstanding: cwnd as recovery stretches it [B].
    #[inline]
    fn flight_limit(&self) -> u64 {
        let cwnd = self.window.cwnd().min(self.max_window) as i64;
        (cwnd + self.recovery.credit()).max(self.space.mss as i64) as u64
    }

    fn poll_new(&mut self, now: Time, window: u64) -> Option<Outgoing> {
        let mss = self.space.mss;
        let flight = self.space.flight();
        let nxt = self.space.nxt;
        let len = (self.written - nxt).min(mss);
        if flight + len > window || len == 0 {
            // Full windows are the window's doing, even if the application has nothing more.
            return self.hold(flight + mss <= self.unclamped_window());
        }
        if nxt + len > self.edge {
            return self.poll_closing(now, len);
        }
        if self.burst_left == 0 || self.is_paced(now) {
            return self.hold_for_pacing(now);
        }
        if self.holds_back(now) {
            return self.hold(false);
        }
        if flight == 0 {
            self.restart_if_idle(now);
        }
        Some(self.emit(now, len))
    }

    /// cwnd as recovery stretches it, not cut to the maximum window [B].
    #[inline]
    fn unclamped_window(&self) -> u64 {
        let cwnd = self.window.cwnd().min(super::NO_LIMIT) as i64;
        (cwnd + self.recovery.credit()).max(0) as u64
    }

    #[inline]
    fn hold(&mut self, app_limited: bool) -> Option<Outgoing> {
        self.app_limited = app_limited;
        self.wake_at = Time::NEVER;
        None
    }

    #[inline]
    fn is_paced(&self, now: Time) -> bool {
        now < self.paced_until && self.window.pacing_rate().is_some()
    }

    #[cold]
    fn hold_for_pacing(&mut self, now: Time) -> Option<Outgoing> {
        self.app_limited = false;
        self.wake_at = if self.burst_left > 0 && self.is_paced(now) { self.paced_until } else { Time::NEVER };
        None
    }

    /// The next segment in sequence.
    #[inline]
    fn emit(&mut self, now: Time, len: u64) -> Outgoing {
        let seq = self.space.nxt;
        let end = seq + len;
        let mut flags = Flags::default();
        if seq < self.space.max {
            // Going back to a hole.
            flags = self.note_resent(end);
        } else {
            if self.ecn {
                flags = self.ecn_flags();
            }
            if self.sampling == Sampling::OnePerWindow && self.timed.0 == 0 {
                self.timed = (end, now);
            }
            self.space.max = end;
        }
        self.space.nxt = end;
        self.finish(now, seq, len, flags)
    }

    fn resend(&mut self, now: Time, (from, to): (u64, u64)) -> Outgoing {
        let flags = self.note_resent(to);
        if from == self.space.una && self.recovery.is_selective() && self.recovery.state() == State::Recovery
        {
            // RFC 6675 §6: the head may turn out to be lost long after SND.UNA moved, so its retransmission starts the
            // timer anew. That of later holes does not, as in Linux: it would put off the head's timeout for ever.
            self.timer_at = self.rtt.deadline(now);
        }
        self.space.nxt = self.space.nxt.max(to);
        self.finish(now, from, to - from, flags)
    }

    #[cold]
    fn note_resent(&mut self, end: u64) -> Flags {
        self.counters.retransmitted_packets += 1;
        self.resent_below = self.resent_below.max(end);
        self.space.max = self.space.max.max(end);
        // Karn: the timed segment's acknowledgement has become ambiguous.
        self.timed.0 = 0;
        if self.marks_each { Flags::RESENT.with(Flags::ECT) } else { Flags::RESENT }
    }

    #[inline]
    fn finish(&mut self, now: Time, seq: u64, len: u64, flags: Flags) -> Outgoing {
        let wire_size = (len + u64::from(self.overhead)).min(u64::from(u16::MAX)) as u16;
        self.account(now, wire_size);
        self.burst_left -= 1;
        // RFC 6298 (5.1): start the timer if it is not running.
        if self.timer_at.is_never() {
            self.timer_at = self.rtt.deadline(now);
        }
        Outgoing { seq, len: len as u32, wire_size: nonzero(wire_size), flags }
    }

    #[inline]
    fn account(&mut self, now: Time, wire_size: u16) {
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += u64::from(wire_size);
        self.last_sent_at = now;
        self.last_wire_size = wire_size;
        if self.window.pacing_rate().is_some() {
            self.repace();
        }
    }

    /// When the next segment may go, given the last one. A rate of zero still lets one out each RTO.
    pub(super) fn repace(&mut self) {
        let Some(rate) = self.window.pacing_rate() else {
            self.paced_until = Time::ZERO;
            return;
        };
        let gap: Span = rate.transmission_time(Bytes::new(u64::from(self.last_wire_size)));
        self.paced_until = self.last_sent_at + gap.min(self.rtt.rto());
    }

    /// RFC 3168 §6.1: new data is ECN-capable; CWR answers the echo once.
    #[cold]
    fn ecn_flags(&mut self) -> Flags {
        if std::mem::take(&mut self.cwr_due) { Flags::ECT.with(Flags::CWR) } else { Flags::ECT }
    }

    /// RFC 5681 §4.1: idle for more than an RTO, cwnd falls to the restart window.
    #[cold]
    fn restart_if_idle(&mut self, now: Time) {
        let has_sent = self.space.max > 0;
        if self.restart_after_idle && has_sent && self.last_sent_at + self.rtt.rto() < now {
            let restart = Bytes::new(self.initial_window);
            self.window.change(|control| control.on_idle(restart));
        }
    }

    /// Recovery comes before new data; its last resort after it.
    fn poll_recovering(&mut self, now: Time, window: u64) -> Option<Outgoing> {
        if self.burst_left == 0 || self.is_paced(now) {
            return self.hold_for_pacing(now);
        }
        let room = self.space.flight() + self.space.mss <= window;
        if let Some(hole) = self.recovery.next_resend(&self.space, room) {
            self.note_lost(now, hole.0);
            return Some(self.resend(now, hole));
        }
        if let Some(segment) = self.poll_new(now, window) {
            return Some(segment);
        }
        if !room || self.sends_by_timer(now) {
            return None;
        }
        let hole = self.recovery.last_resort(&self.space)?;
        Some(self.resend(now, hole))
    }

    /// The receiver's window is about to close: avoid silly segments, and probe a closed window.
    #[cold]
    fn poll_closing(&mut self, now: Time, len: u64) -> Option<Outgoing> {
        let room = self.edge.saturating_sub(self.space.nxt);
        // RFC 1122 §4.2.3.4 (3): at least half of the largest window; else wait, with a timer. What was sent
        // before cannot wait: its timer runs.
        let worthwhile = room >= len || room * 2 >= self.largest_offer || self.space.nxt < self.space.max;
        if room > 0 && worthwhile {
            if self.burst_left == 0 || self.is_paced(now) {
                return self.hold_for_pacing(now);
            }
            return Some(self.emit(now, room.min(len)));
        }
        if self.space.flight() == 0 && self.timer_at.is_never() {
            self.timer = TimerKind::Persist;
            self.timer_at = self.rtt.deadline(now);
        }
        self.hold(true)
    }

    /// A SYN or a window probe.
    #[cold]
    fn poll_control(&mut self, now: Time) -> Option<Outgoing> {
        if self.probe_due {
            self.probe_due = false;
            return self.probe(now);
        }
        if !std::mem::take(&mut self.syn_due) {
            return None;
        }
        self.syn_sent_at = now;
        self.timer_at = self.rtt.deadline(now);
        self.account(now, self.overhead);
        let flags = if self.syn_expiries > 0 { Flags::SYN.with(Flags::RESENT) } else { Flags::SYN };
        Some(Outgoing { seq: 0, len: 0, wire_size: nonzero(self.overhead), flags })
    }

    /// What little the window takes or, if it is closed, a byte beyond it. Source: RFC 1122 §4.2.2.17.
    fn probe(&mut self, now: Time) -> Option<Outgoing> {
        let seq = self.space.nxt;
        let unsent = self.written - seq;
        let room = self.edge.saturating_sub(seq).min(self.space.mss);
        if unsent == 0 {
            return None;
        }
        if room > 0 {
            self.timer = TimerKind::Retransmit;
            return Some(self.emit(now, room.min(unsent)));
        }
        // SND.NXT stays: what the receiver does not take is not in flight.
        let flags = if seq < self.space.max { self.note_resent(seq + 1) } else { Flags::default() };
        self.space.max = self.space.max.max(seq + 1);
        Some(self.finish(now, seq, 1, flags))
    }

    #[cold]
    fn on_expiry(&mut self, now: Time) {
        self.rtt.on_expiry();
        self.burst_left = self.max_burst;
        if self.timer == TimerKind::Persist {
            self.probe_due = true;
            self.timer_at = self.rtt.deadline(now);
            return;
        }
        self.counters.timeouts += 1;
        if !self.connected {
            self.syn_due = true;
            self.syn_expiries += 1;
            self.timer_at = self.rtt.deadline(now);
            return;
        }
        let backoff = self.expiries;
        self.expiries += 1;
        self.reduce(now, CongestionKind::Timeout { backoff }, self.flight_at_expiry());
        if self.recovery.on_timeout(&self.space) {
            self.space.nxt = self.space.una;
        }
        self.timer_at = self.rtt.deadline(now);
    }

    /// FlightSize for RFC 5681 (4). Deviation: in recovery at most what it was when that began, as in Linux. Beyond it
    /// lies what inflation let out for data that has left the network; counted again, a timeout would raise ssthresh.
    fn flight_at_expiry(&self) -> u64 {
        let flight = self.space.flight();
        if self.recovery.state() == State::Recovery { flight.min(self.reduced_from) } else { flight }
    }
}

/// Sizes on the wire are at least a byte: a link that carries nothing for nothing would never end.
#[inline]
fn nonzero(wire_size: u16) -> NonZeroU16 {
    NonZeroU16::new(wire_size).unwrap_or(NonZeroU16::MIN)
}
