//! The segments that a sender sends, and when.

use std::num::NonZeroU16;

use varicap_units::{Bytes, Time};

use super::timers::Timeout;
use super::{Sender, SinceProbe, TimerKind};
use crate::congestion::CongestionControl;
use crate::recovery::{SequenceSpace, State};
use crate::segment::{Flags, Segment};

/// A segment to be sent, before it is written where it is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) seq: u64,
    pub(super) len: u32,
    pub(super) wire_size: NonZeroU16,
    pub(super) flags: Flags,
}

/// The outcome of [`Sender::poll_into`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// Nothing.
    Nothing,
    /// A segment, after which there may be another.
    Segment,
    /// A segment, after which there is nothing more: it need not be asked again.
    Last,
}

impl Outgoing {
    /// As [`Segment::end`].
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.flags.has(Flags::FIN))
    }

    #[inline]
    fn write(self, now: Time, place: &mut Segment) {
        let Outgoing { seq, len, wire_size, flags } = self;
        // Blocks that the place had from before do not count.
        (place.seq, place.len, place.sent_at) = (seq, len, now);
        (place.flags, place.wire_size, place.sack_count) = (flags, wire_size.get(), 0);
        (place.ack, place.echo, place.window) = (0, Time::ZERO, 0);
    }
}

impl Sender {
    /// The next segment to send now, if there is one. Handles an expired timer first.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        (self.poll_into(now, &mut segment) != Polled::Nothing).then_some(segment)
    }

    /// As [`Sender::poll`], for a caller that keeps segments itself, and has it written to `place`.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, place: &mut Segment) -> Polled {
        self.note_poll(now);
        let SequenceSpace { una, nxt, max, mss } = self.space;
        let end = nxt + mss;
        let offered = self.plain_until.min(self.offer.edge);
        // In recovery pacing comes before the window.
        let is_resending = self.recovery.is_resending();
        // Almost always: nothing to resend, no timer, and a full segment after others, which the window allows or not.
        let simple = una < nxt
            && nxt == max
            && end <= offered
            && now < self.timeout_bound()
            && (self.release.is_open(now) || !is_resending && self.release.is_only_paced(now))
            && !self.offer.probe_due
            && !(is_resending && self.recovery.may_resend(end - una <= self.flight_limit()));
        if !simple {
            return self.poll_carefully(now, place);
        }
        let limit = self.flight_limit();
        if end - una > limit {
            self.end_flight(now, end - una);
            return Polled::Nothing;
        }
        if !self.release.is_open(now) {
            self.end_paced(now);
            return Polled::Nothing;
        }
        self.emit(now, mss).write(now, place);
        if self.window.measures_rates() {
            let in_flight = self.recovery.in_flight(&self.space);
            self.window.on_sent(now, (nxt, end), true, in_flight);
        }
        debug_assert_eq!(limit, self.flight_limit(), "what leaves moves no window");
        // Mostly the window is full now, or the next segment has to wait, and the next poll would say so.
        let next = end + mss;
        debug_assert!(now < self.timeout_bound(), "data in flight had no timer");
        if next > offered {
            return Polled::Segment;
        }
        let paces = self.window.paces();
        let is_paced = paces && !is_resending && self.release.is_only_paced(now);
        let is_open = if paces { self.release.is_open(now) } else { self.release.has_burst() };
        debug_assert_eq!(is_open, self.release.is_open(now), "what leaves unpaced is as open as before");
        if next - una > limit && (is_paced || is_open) {
            self.end_flight(now, next - una);
            return Polled::Last;
        }
        if is_paced {
            self.end_paced(now);
            return Polled::Last;
        }
        Polled::Segment
    }

    /// The window has no room for a full segment, with which `flight` bytes would be outstanding.
    #[inline(always)]
    fn end_flight(&mut self, now: Time, flight: u64) {
        let is_watched = self.since_probe != SinceProbe::Nothing || self.usage.is_on;
        if self.window.cwnd() > self.max_window {
            // Only such a window may have room yet.
            self.hold(flight <= self.unclamped_window());
        } else if is_watched {
            self.hold(false);
        } else {
            self.app_limited = false;
            return self.release.rest();
        }
        self.settle_timer(now);
    }

    /// The window has room, and the next segment has to wait for its time.
    #[inline]
    fn end_paced(&mut self, now: Time) {
        self.app_limited = false;
        self.note_usage(false);
        self.release.wait_for_pace(self.window.paces());
        self.settle_timer(now);
    }

    /// [minrate, Fig. 5]: what is granted by a timer comes before what the window allows.
    #[inline(never)]
    fn poll_carefully(&mut self, now: Time, place: &mut Segment) -> Polled {
        self.release.on_poll();
        let is_outstanding = self.space.max > self.space.una;
        let outgoing = self.poll_granted(now).or_else(|| self.next_within(now, None));
        self.check();
        let Some(mut outgoing) = outgoing else {
            self.settle_timer(now);
            let is_over = self.is_done() || self.handshake.gave_up;
            self.release.settle(now, is_over);
            return Polled::Nothing;
        };
        let (from, to) = (outgoing.seq, outgoing.end());
        let stamp = self.release.stamp(now, self.space.una, (from, to), outgoing.wire_size.get());
        outgoing.flags = outgoing.flags.with(stamp);
        if from < to && self.window.measures_rates() {
            let in_flight = self.recovery.in_flight(&self.space);
            self.window.on_sent(now, (from, to), is_outstanding, in_flight);
        }
        outgoing.write(now, place);
        place.ack = self.closing.received();
        Polled::Segment
    }

    /// The next segment that may leave whatever cwnd says; the receiver's and the largest window still hold.
    fn poll_granted(&mut self, now: Time) -> Option<Outgoing> {
        if !self.release.grants(now, self.handshake.connected) {
            return None;
        }
        let burst_left = self.release.exempt();
        let outgoing = self.next_within(now, Some(self.max_window));
        self.release.end_exemption(burst_left);
        if outgoing.is_none() {
            self.release.end_grant();
        }
        outgoing
    }

    /// The next segment that fits into `window`, or else into cwnd as recovery stretches it.
    #[inline]
    fn next_within(&mut self, now: Time, window: Option<u64>) -> Option<Outgoing> {
        if self.has_run_out(now) {
            self.on_expiry(now);
        }
        if std::mem::take(&mut self.tail_probe_due)
            && let Some(probe) = self.probe_tail(now)
        {
            return Some(probe);
        }
        if !self.handshake.is_over() || self.offer.probe_due {
            return self.poll_control(now);
        }
        let window = window.unwrap_or_else(|| self.flight_limit());
        if self.recovery.is_resending() {
            return self.poll_recovering(now, window);
        }
        self.poll_new(now, window)
    }

    /// The data that may be outstanding: cwnd as recovery stretches it [B].
    #[inline]
    fn flight_limit(&self) -> u64 {
        let cwnd = self.window.cwnd().min(self.max_window) as i64;
        (cwnd + self.recovery.credit()).max(self.space.mss as i64) as u64
    }

    fn poll_new(&mut self, now: Time, window: u64) -> Option<Outgoing> {
        let mss = self.space.mss;
        let flight = self.space.flight();
        let nxt = self.space.nxt;
        let (len, fin) = self.next_in_line();
        let least = len.max(fin);
        if flight + least > window || least == 0 {
            // Full windows are the window's doing, even if the application has nothing more.
            return self.hold(flight + mss <= self.unclamped_window());
        }
        if flight == 0 && self.pending == TimerKind::Hold {
            return self.hold(false);
        }
        if nxt + least > self.offer.edge {
            return self.poll_closing(now, len);
        }
        if len < mss && !self.closing.is_closed && self.short.wait(&self.space) {
            return self.hold(true);
        }
        if !self.may_leave(now) {
            return None;
        }
        if self.release.holds_back(now) {
            return self.hold(false);
        }
        if flight == 0 {
            self.restart_if_idle(now);
            let idle = self.release.idle(now);
            self.window.on_start(now, idle);
        }
        Some(self.emit_in_line(now, len, fin))
    }

    /// cwnd as recovery stretches it, not cut to the maximum window [B].
    #[inline]
    fn unclamped_window(&self) -> u64 {
        let cwnd = self.window.cwnd().min(super::NO_LIMIT) as i64;
        (cwnd + self.recovery.credit()).max(0) as u64
    }

    #[inline]
    fn hold(&mut self, app_limited: bool) -> Option<Outgoing> {
        self.app_limited = app_limited && !self.usage.grows_always;
        self.note_usage(!app_limited);
        self.release.rest();
        None
    }

    /// Whether pacing and the limit of bursts let a segment leave; if not, when to ask again.
    #[inline]
    fn may_leave(&mut self, now: Time) -> bool {
        let paces = self.window.paces();
        let allows = self.release.allows(now, paces);
        if !allows {
            self.hold_pace(now);
        }
        allows
    }

    /// Pacing, or the limit of bursts, holds a segment back that the window allows.
    #[inline]
    fn hold_pace(&mut self, now: Time) {
        self.app_limited = false;
        self.note_usage(false);
        self.release.wait(now, self.window.paces());
    }

    /// The next segment in sequence.
    #[inline(always)]
    pub(super) fn emit(&mut self, now: Time, len: u64) -> Outgoing {
        debug_assert!(len > 0, "a segment without data");
        self.emit_with(now, len, 0)
    }

    /// As [`Sender::emit`], with the FIN behind the data if `fin` is one.
    #[inline(always)]
    pub(super) fn emit_with(&mut self, now: Time, len: u64, fin: u64) -> Outgoing {
        let seq = self.space.nxt;
        let end = seq + len + fin;
        debug_assert!(len <= self.space.mss, "a segment of {len} B");
        debug_assert!(
            end <= self.written + fin && end <= self.offer.edge,
            "{end} was not offered, or not asked for"
        );
        let is_new = seq >= self.space.max;
        let mut flags = Flags::default();
        if !is_new {
            // Going back to a hole.
            flags = self.note_resent(end);
        } else {
            self.space.max = end;
            if len < self.space.mss {
                self.short.on_sent(end);
            }
        }
        self.space.nxt = end;
        if self.recovery.tracks() {
            self.recovery.on_sent(now, (seq, end));
            self.since_probe = SinceProbe::Sent;
        }
        let flags = self.with_extras(now, (seq, end), flags, is_new && (fin == 0 || len > 0));
        self.finish(now, seq, len, flags)
    }

    #[inline(never)]
    pub(super) fn resend(&mut self, now: Time, (from, to): (u64, u64)) -> Outgoing {
        let fin = u64::from(to > self.written);
        let flags = self.note_resent(to);
        if self.recovery.tracks() {
            self.recovery.on_sent(now, (from, to));
            if from == self.space.una && self.pending != TimerKind::Reorder {
                self.pending = TimerKind::Retransmit;
                self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
            }
        } else if from == self.space.una
            && self.recovery.is_selective()
            && self.recovery.state() == State::Recovery
        {
            // RFC 6675 §6: the head may turn out to be lost long after SND.UNA moved, so its retransmission starts the
            // timer anew. That of later holes does not, as in Linux: it would put off the head's timeout indefinitely.
            self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
        }
        self.space.nxt = self.space.nxt.max(to);
        let flags = self.with_extras(now, (from, to), flags, false);
        let outgoing = self.finish(now, from, to - from - fin, flags);
        if to < self.written { outgoing } else { self.end_with_fin(outgoing, to) }
    }

    #[cold]
    fn note_resent(&mut self, end: u64) -> Flags {
        self.counters.retransmitted_packets += 1;
        self.sampling.on_resent(end);
        self.space.max = self.space.max.max(end);
        self.ecn.resent_flags()
    }

    #[inline(always)]
    fn finish(&mut self, now: Time, seq: u64, len: u64, flags: Flags) -> Outgoing {
        self.counters.sent_packets += 1;
        let is_full = len == self.space.mss;
        let wire_size = if is_full { self.full_size.get() } else { wire_size(len, self.overhead) };
        self.account(now, wire_size);
        self.release.count();
        // RFC 6298 (5.1): start the timer if it is not running.
        if self.timeout.is_off() {
            self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
        }
        Outgoing { seq, len: len as u32, wire_size: nonzero(wire_size), flags }
    }

    /// Accounts for the bytes of a packet that has been counted: not here, where the two would be added as one vector, which
    /// takes more instructions.
    #[inline]
    fn account(&mut self, now: Time, wire_size: u16) {
        self.counters.sent_bytes += u64::from(wire_size);
        self.release.on_sent(now, wire_size);
        if self.window.paces() {
            self.pace_next(now, wire_size);
        }
    }

    /// RFC 5681 §4.1: idle for more than an RTO, cwnd falls to the restart window.
    #[cold]
    fn restart_if_idle(&mut self, now: Time) {
        let has_sent = self.space.max > 0;
        if self.restart_after_idle && has_sent && self.release.is_idle(now, self.sampling.rtt.rto()) {
            if self.usage.decays {
                return self.decay_idle(now);
            }
            let restart = Bytes::new(self.initial_window);
            self.window.change(|control| control.on_idle(restart));
        }
    }

    /// Recovery comes before new data; its last resort after it.
    fn poll_recovering(&mut self, now: Time, window: u64) -> Option<Outgoing> {
        if !self.may_leave(now) {
            return None;
        }
        let room =
            self.space.flight() + self.space.mss <= window + self.closing.riding(&self.space, self.written);
        if let Some(hole) = self.recovery.next_resend(&self.space, room) {
            self.note_lost(now, hole.0);
            return Some(self.resend(now, hole));
        }
        if let Some(segment) = self.poll_new(now, window) {
            return Some(segment);
        }
        if !room || self.release.is_granting(now) {
            return None;
        }
        let hole = self.recovery.last_resort(&self.space)?;
        Some(self.resend(now, hole))
    }

    /// The receiver's window is about to close: avoid silly segments, and probe a closed window.
    #[cold]
    fn poll_closing(&mut self, now: Time, len: u64) -> Option<Outgoing> {
        let room = self.offer.edge.saturating_sub(self.space.nxt);
        // Data that was sent before cannot wait: its timer runs.
        let worthwhile = self.offer.is_worthwhile(room, len) || self.space.nxt < self.space.max;
        if room > 0 && worthwhile {
            if !self.may_leave(now) {
                return None;
            }
            return Some(self.emit(now, room.min(len)));
        }
        if self.space.flight() == 0 {
            // A receiver that took back its whole window is probed as any closed one when the timer that runs expires.
            if self.pending != TimerKind::Persist {
                (self.pending, self.offer.probes_out) = (TimerKind::Persist, 0);
            }
            if self.timeout.is_off() {
                self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
            }
        }
        self.hold(true)
    }

    /// A segment of the handshake, or a window probe.
    #[cold]
    fn poll_control(&mut self, now: Time) -> Option<Outgoing> {
        if std::mem::take(&mut self.offer.probe_due) {
            return self.probe(now);
        }
        if self.handshake.take_ack() {
            return Some(if self.closing.peer_closed {
                self.acknowledge_fin()
            } else {
                self.end_handshake()
            });
        }
        if !self.handshake.take_syn(now) {
            return None;
        }
        self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
        self.count_empty();
        let size = self.overhead.saturating_add(self.handshake.syn_options);
        self.account(now, size);
        let was_lost = self.handshake.was_lost();
        self.counters.retransmitted_packets += u64::from(was_lost);
        let resent = if was_lost { Flags::RESENT } else { Flags::default() };
        let flags = self.ecn.syn_flags(self.handshake.expiries()).with(resent);
        Some(Outgoing { seq: 0, len: 0, wire_size: nonzero(size), flags })
    }

    /// The acknowledgement of the answer to the SYN. Pacing and bursts are matters of data.
    fn end_handshake(&mut self) -> Outgoing {
        self.count_empty();
        self.counters.sent_bytes += u64::from(self.overhead);
        Outgoing { seq: 0, len: 0, wire_size: nonzero(self.overhead), flags: self.ecn.third_flags() }
    }

    /// The little data that the window takes or, if it is closed, a byte beyond it. Source: RFC 1122 §4.2.2.17.
    fn probe(&mut self, now: Time) -> Option<Outgoing> {
        let seq = self.space.nxt;
        let (unsent, fin) = self.next_in_line();
        let room = self.offer.edge.saturating_sub(seq).min(self.space.mss);
        if unsent + fin == 0 {
            return None;
        }
        if room > 0 {
            self.pending = TimerKind::Retransmit;
            return Some(self.emit_in_line(now, room.min(unsent), if room > unsent { fin } else { 0 }));
        }
        if self.probes_old && seq > 0 {
            let flags = self.with_extras(now, (seq - 1, seq - 1), Flags::default(), false);
            self.counters.empty_packets += 1;
            return Some(self.finish(now, seq - 1, 0, flags));
        }
        // SND.NXT stays: what the receiver does not take is not in flight.
        let flags = if seq < self.space.max { self.note_resent(seq + 1) } else { self.ecn.bare_flags() };
        self.space.max = self.space.max.max(seq + 1);
        let flags = self.with_extras(now, (seq, seq + 1), flags, false);
        if unsent == 0 {
            let outgoing = self.finish(now, seq, 0, flags);
            return Some(self.end_with_fin(outgoing, seq + 1));
        }
        Some(self.finish(now, seq, 1, flags))
    }

    /// FlightSize for RFC 5681 (4). Deviation: at most cwnd, and in recovery at most what it was when that began, as in
    /// Linux. Beyond it lies what inflation let out for data that has left the network; counted again, a timeout would
    /// raise ssthresh. Reno leaves recovery at a partial ACK with all of that outstanding.
    pub(super) fn flight_at_expiry(&self) -> u64 {
        let in_recovery = self.recovery.state() == State::Recovery;
        let most = if in_recovery { self.ecn.reduced_from } else { self.window.cwnd() };
        self.space.flight().min(most)
    }
}

/// Size on the wire of a segment with `len` bytes of payload and `overhead` beyond it [B].
pub(super) fn wire_size(len: u64, overhead: u16) -> u16 {
    (len + u64::from(overhead)).min(u64::from(u16::MAX)) as u16
}

/// Sizes on the wire are at least a byte: a link that carries nothing for nothing would never end.
#[inline]
pub(super) fn nonzero(wire_size: u16) -> NonZeroU16 {
    NonZeroU16::new(wire_size).unwrap_or(NonZeroU16::MIN)
}
