//! The single timer of a sender, as Linux has it: `pending` says what it waits for (`icsk_pending`), `timeout` when it
//! fires (`icsk_timeout`).

use varicap_units::{Bytes, Span, Time};

use super::output::Outgoing;
use super::{Sender, SinceProbe, TimerKind};
use crate::congestion::{CongestionControl, CongestionKind};
use crate::recovery::{Reaction, State};
use crate::timer::FIRST_PROBE;

/// When the timer of a sender fires. Nearly every acknowledgement sets it anew and it hardly ever fires, so that an RTO is
/// computed when somebody asks for it, and until then there is an instant before which it does not fire: 50 instructions an
/// acknowledgement less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeout {
    /// An instant before which it does not fire.
    bound: Time,
    /// When it was set, unless it fires at `bound`.
    since: Time,
    wait: Wait,
}

/// How long the timer of a sender waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Until the bound.
    Bound,
    /// For an RTO, to the nanosecond.
    Rto,
    /// For an RTO, by the timer's clock.
    Deadline,
    /// Until the bound, by the timer's clock.
    Clock,
}

impl Timeout {
    /// A timer that does not run.
    pub(super) const OFF: Timeout = Timeout::at(Time::NEVER);

    /// A timer that fires at `at`.
    #[inline]
    pub(super) const fn at(at: Time) -> Timeout {
        Timeout { bound: at, since: at, wait: Wait::Bound }
    }

    /// Whether the timer does not run.
    #[inline]
    pub(super) fn is_off(self) -> bool {
        self.bound.is_never()
    }
}

impl Sender {
    /// The instant at which the timer fires.
    #[inline]
    pub(super) fn timeout(&self) -> Time {
        let Timeout { bound, since, wait } = self.timeout;
        match wait {
            Wait::Bound => bound,
            Wait::Rto => since + self.sampling.rtt.rto(),
            Wait::Deadline => self.sampling.rtt.deadline(since),
            Wait::Clock => self.sampling.rtt.after(since, bound - since),
        }
    }

    /// An instant before which the timer does not fire.
    #[inline]
    pub(super) fn timeout_bound(&self) -> Time {
        self.timeout.bound
    }

    /// Sets the timer, which waits from now on for `least` at least. The clock of a timer without a least RTO counts ticks, and
    /// may be early: then it is computed at once.
    #[inline]
    fn set_timeout(&mut self, now: Time, wait: Wait, least: Span) {
        self.timeout = Timeout { bound: now + least, since: now, wait };
        if self.sampling.rtt.least_rto() == Span::ZERO {
            self.timeout = Timeout::at(self.timeout());
        }
    }

    /// Computes when the timer fires, before the RTO changes.
    pub(super) fn fix_timeout(&mut self) {
        if let Wait::Rto | Wait::Deadline = self.timeout.wait {
            self.timeout = Timeout::at(self.timeout());
        }
    }

    /// Whether the timer has run out.
    #[inline]
    pub(super) fn has_run_out(&self, now: Time) -> bool {
        now >= self.timeout_bound() && now >= self.timeout()
    }

    /// An instant after `now` by which to wake the sender: at [`Sender::poll_at`], or before; then it has to be asked again.
    #[inline]
    pub fn wake_by(&self, now: Time) -> Time {
        let bound = self.timeout_bound().min(self.release.wake_at());
        if bound > now { bound } else { self.poll_at() }
    }

    /// Whether the sender is to be polled at `now`.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.timeout_bound().min(self.release.wake_at()) <= now && self.poll_at() <= now
    }

    /// RFC 6298 (5.2), (5.3): off when all is acknowledged, else anew.
    #[inline]
    pub(super) fn rearm(&mut self, now: Time) {
        if self.space.una == self.space.max {
            self.timeout = Timeout::OFF;
        } else if self.recovery.may_probe() {
            if self.since_probe == SinceProbe::Nothing {
                self.since_probe = SinceProbe::Acknowledged;
            }
            // Until nothing more leaves, which is mostly the same instant.
            self.pending = TimerKind::Probe;
            self.set_timeout(now, Wait::Rto, self.sampling.rtt.least_rto());
        } else {
            self.set_timeout(now, Wait::Deadline, self.sampling.rtt.least_rto());
        }
    }

    /// The timer after an acknowledgement that had to be looked at; `pending` is what it waited for before.
    pub(super) fn set_timer(&mut self, now: Time, pending: TimerKind, reaction: &Reaction, is_new: bool) {
        if let Some(left) = reaction.reorder_after {
            self.wait_for_late(now, left);
        } else if self.space.una == self.space.max && is_new {
            self.rearm(now);
        } else if reaction.rearm {
            let was_other = matches!(pending, TimerKind::Probe | TimerKind::Reorder);
            if was_other && !self.recovery.may_probe() {
                self.rearm_from_head(now);
            } else {
                self.rearm(now);
            }
        }
    }

    /// The retransmission timer of a segment that left a while ago: what waited before it does not put it off.
    fn rearm_from_head(&mut self, now: Time) {
        self.pending = TimerKind::Retransmit;
        let left_at = self.recovery.head_left_at().unwrap_or(now);
        let rtt = &self.sampling.rtt;
        let left = (left_at + rtt.rto()).max(now + Span::from_nanos(1)) - now;
        self.timeout = Timeout::at(rtt.after(now, left));
    }

    /// Waits for what may be late.
    fn wait_for_late(&mut self, now: Time, left: Span) {
        self.pending = TimerKind::Reorder;
        let rtt = &self.sampling.rtt;
        self.timeout = Timeout::at(rtt.after(now, left.saturating_add(rtt.slack())));
    }

    /// Nothing more leaves now: what left last is the tail to be probed.
    #[inline]
    pub(super) fn settle_timer(&mut self, now: Time) {
        let since = std::mem::replace(&mut self.since_probe, SinceProbe::Nothing);
        if since != SinceProbe::Nothing && self.probes_tail() {
            self.pending = TimerKind::Probe;
            let wait = self.probe_timeout(now, since == SinceProbe::Sent);
            self.set_timeout(now, Wait::Clock, wait);
        }
    }

    /// RFC 8985 §7.2: two smoothed RTTs, more if a delayed acknowledgement may be all that is missing, at most the RTO: from
    /// `now` if data was acknowledged alone, from when the first segment left if data `has_left`.
    fn probe_timeout(&self, now: Time, has_left: bool) -> Span {
        let rtt = &self.sampling.rtt;
        let span = match rtt.smoothed() {
            Some(smoothed) => {
                let slack = if self.has_single() { rtt.longest_ack_delay() } else { rtt.slack() };
                smoothed.saturating_mul(2).saturating_add(slack)
            }
            None => FIRST_PROBE,
        };
        let from = if has_left { self.recovery.head_left_at().unwrap_or(now) } else { now };
        if now + span <= from + rtt.soonest_rto() {
            return span; // the RTO is no shorter
        }
        let limit = from + rtt.rto();
        if limit > now { span.min(limit - now) } else { span }
    }

    /// Whether a tail is in flight that may be probed.
    fn probes_tail(&self) -> bool {
        self.space.flight() > 0 && self.pending != TimerKind::Persist && self.recovery.may_probe()
    }

    /// RFC 8985 §7.3: new data, even beyond the window, or else the last segment again.
    pub(super) fn probe_tail(&mut self, now: Time) -> Option<Outgoing> {
        self.pending = TimerKind::Retransmit;
        let (len, fin) = self.next_in_line();
        let may_send_new = len + fin > 0 && self.space.nxt + len.max(fin) <= self.offer.edge;
        let outgoing = if self.recovery.is_probing() {
            None
        } else if may_send_new {
            Some(self.emit_in_line(now, len, fin))
        } else {
            self.recovery.tail().map(|tail| self.resend(now, tail))
        };
        if outgoing.is_some() {
            self.recovery.on_probe(&self.space, !may_send_new);
            self.since_probe = SinceProbe::Nothing;
            self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
        } else {
            self.rearm_from_head(now);
        }
        outgoing
    }

    #[cold]
    pub(super) fn on_expiry(&mut self, now: Time) {
        self.release.refill();
        match self.pending {
            TimerKind::Probe => {
                self.tail_probe_due = true;
                // The probe sets it; until then only an arrival can come between.
                self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
            }
            TimerKind::Reorder => self.on_late(now),
            TimerKind::Persist => {
                if self.sampling.rtt.rule().gives_up_probing(self.offer.probes_out) {
                    return self.give_up();
                }
                self.offer.probes_out += 1;
                self.sampling.rtt.on_expiry();
                self.offer.probe_due = true;
                self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
            }
            TimerKind::Retransmit => self.on_timeout(now),
            TimerKind::Hold => {
                debug_assert_eq!(self.space.flight(), 0, "data in flight without its own timer");
                self.pending = TimerKind::Retransmit;
                self.timeout = Timeout::OFF;
            }
        }
    }

    /// Late segments are lost. Others may still be late, and are waited for, too; Linux leaves them to the RTO.
    fn on_late(&mut self, now: Time) {
        let (lost, was_recovering) = (self.recovery.lost(), self.recovery.state() == State::Recovery);
        let reaction = self.recovery.on_reorder_timeout(&self.space, self.clock(now));
        self.report_lost(now);
        self.on_signals(now, &reaction);
        if self.recovery.lost() > lost && !was_recovering {
            self.reduce_proportionally(&reaction, lost, false);
        }
        match reaction.reorder_after {
            Some(left) => self.wait_for_late(now, left),
            None => self.rearm_from_head(now),
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.sampling.rtt.on_expiry();
        self.counters.timeouts += 1;
        if self.is_given_up(now) {
            return self.give_up();
        }
        if !self.handshake.connected {
            self.handshake.on_expiry();
            self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
            return;
        }
        let backoff = self.expiries;
        if backoff == 0 {
            self.handshake.retrans_stamp = now;
        }
        self.expiries += 1;
        let in_flight = self.flight_at_expiry();
        // To the control an expiry that halves again is a first one.
        let held = if self.halves_at_each_timeout { 0 } else { backoff };
        let kind = self.congestion_signal(now, CongestionKind::Timeout { backoff: held });
        if self.recovery.on_timeout(now, &self.space, backoff > 0) {
            self.space.nxt = self.space.una;
        }
        // A control that models the path learns what the timeout lost, and only then of it. Source: Linux (tcp_enter_loss).
        self.report_lost(now);
        if let Some(kind) = kind {
            self.reduce_window(now, kind, in_flight, 0);
        }
        let in_flight = self.recovery.in_flight(&self.space);
        if self.keeps_in_flight && in_flight > 0 {
            self.window.change(|control| control.on_kept(Bytes::new(in_flight)));
        }
        self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
    }

    /// Whether the timer, which has expired, is the last one. While the receiver's window is closed what is resent are probes, and
    /// a receiver that answers keeps its connection. Source: Linux, `tcp_write_timeout`, `tcp_retransmit_timer`. Deviation: the
    /// time counts from the first expiry in a row, where Linux's counts from the first retransmission since its state was Open;
    /// with a closed window from the first that nothing has answered, where Linux's counts from what arrived before it.
    fn is_given_up(&mut self, now: Time) -> bool {
        let (rule, handshake) = (self.sampling.rtt.rule(), &mut self.handshake);
        if !handshake.connected {
            return rule.gives_up_connecting(handshake.expiries(), now.since(handshake.retrans_stamp));
        }
        let is_closed = self.offer.edge <= self.space.una;
        if is_closed {
            if self.offer.probes_out == 0 {
                handshake.retrans_stamp = now;
            }
            self.offer.probes_out += 1;
        }
        let silence = now.since(handshake.retrans_stamp);
        self.expiries > 0 && if is_closed { rule.gives_up_closed(silence) } else { rule.gives_up(silence) }
    }

    /// The connection is over, as for a program that is told ETIMEDOUT: nothing is sent or heard any more, and what was not
    /// delivered will not be.
    #[cold]
    fn give_up(&mut self) {
        self.handshake.give_up();
        self.since_probe = SinceProbe::Nothing;
        (self.tail_probe_due, self.offer.probe_due) = (false, false);
        // Data that remains is never acknowledged, so that the connection is never done.
        (self.written, self.closing.is_closed) = (self.written.min(self.space.max), false);
        // Full segments leave without a look at anything else.
        self.plain_until = self.written;
        self.pending = TimerKind::Retransmit;
        self.timeout = Timeout::OFF;
        self.release.rest();
    }
}
