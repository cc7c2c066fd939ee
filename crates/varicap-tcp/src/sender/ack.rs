//! What a sender does about an acknowledgement.

use varicap_units::{Bytes, Span, Time};

use super::{AckOutcome, Sampling, Sender, TimerKind};
use crate::congestion::{AckSample, CongestionControl, CongestionEvent, CongestionKind};
use crate::recovery::{Arrival, Signal, State};
use crate::segment::{Flags, Segment};

/// Flags that send an acknowledgement to the slow path.
const UNUSUAL: Flags = Flags(Flags::SYN.0 | Flags::ECE.0 | Flags::ACK.0);

impl Sender {
    /// An acknowledgement arrived.
    #[inline]
    pub fn push(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        let before = self.space.una;
        let expected = segment.flags.0 & UNUSUAL.0 == Flags::ACK.0
            && segment.sack_count == 0
            && self.recovery.state() == State::Open
            && segment.ack > before
            && segment.ack <= self.space.max;
        if !expected {
            return self.on_unusual(now, segment);
        }
        let in_flight = self.space.flight();
        self.take_new_data(segment);
        let rtt = self.sample(now, segment, before);
        self.grow(now, segment.ack - before, in_flight, rtt, false);
        self.rearm(now);
        AckOutcome { rtt, newly_acked: segment.ack - before }
    }

    /// SND.UNA and the window move.
    #[inline]
    fn take_new_data(&mut self, segment: &Segment) {
        self.space.una = segment.ack;
        // After going back, the receiver may have had more than what was resent.
        self.space.nxt = self.space.nxt.max(segment.ack);
        self.edge = self.edge.max(segment.ack.saturating_add(u64::from(segment.window)));
        self.expiries = 0;
        self.burst_left = self.max_burst;
        self.timer = TimerKind::Retransmit;
        self.probe_due = false;
    }

    #[inline]
    fn grow(&mut self, now: Time, newly_acked: u64, in_flight: u64, rtt: Option<Span>, marked: bool) {
        let (app_limited, estimate) = (self.app_limited, &self.rtt);
        self.window.on_ack(|| AckSample {
            now,
            newly_acked: Bytes::new(newly_acked),
            in_flight: Bytes::new(in_flight),
            app_limited,
            smoothed_rtt: estimate.smoothed(),
            min_rtt: estimate.least(),
            rtt,
            marked,
        });
    }

    /// RFC 6298 (5.2), (5.3): off when all is acknowledged, else anew.
    #[inline]
    fn rearm(&mut self, now: Time) {
        self.timer_at = if self.space.una == self.space.max { Time::NEVER } else { self.rtt.deadline(now) };
    }

    /// The RTT sample of an acknowledgement that advanced SND.UNA from `before`.
    #[inline]
    fn sample(&mut self, now: Time, segment: &Segment, before: u64) -> Option<Span> {
        let sent = match self.sampling {
            Sampling::Timestamps => segment.echo,
            Sampling::EveryAck => {
                // Karn: not if what was acknowledged may have been sent twice.
                if before < self.resent_below || segment.flags.has(Flags::RESENT) {
                    return None;
                }
                segment.echo
            }
            Sampling::OnePerWindow => {
                if self.timed.0 == 0 || segment.ack < self.timed.0 {
                    return None;
                }
                self.timed.0 = 0;
                self.timed.1
            }
        };
        if sent > now {
            return None;
        }
        self.rtt.on_sample(sent, now);
        Some(now - sent)
    }

    #[cold]
    #[inline(never)]
    fn on_unusual(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        if segment.flags.has(Flags::SYN) {
            return self.on_syn_ack(now, segment);
        }
        let before = self.space.una;
        // RFC 9293 §3.10.7.4: an old acknowledgement is ignored, and one of data never sent.
        if !self.connected
            || !segment.flags.has(Flags::ACK)
            || segment.ack < before
            || segment.ack > self.space.max
        {
            return AckOutcome::default();
        }
        let marked = segment.flags.has(Flags::ECE);
        if marked && !self.marks_each {
            self.on_ecn_echo(now);
        }
        let in_flight = self.recovery.in_flight(&self.space);
        let opened = segment.ack.saturating_add(u64::from(segment.window)) > self.edge;
        let outstanding = self.space.flight() > 0;
        let newly_acked = segment.ack - before;
        let mut rtt = None;
        if newly_acked > 0 {
            self.take_new_data(segment);
            rtt = self.sample(now, segment, before);
        } else {
            self.on_window_update(segment, opened);
        }
        // RFC 5681 §2: data outstanding, no data, same acknowledgement, same window.
        let is_duplicate = newly_acked == 0 && outstanding && !opened && segment.len == 0;
        let reaction = self.recovery.on_ack(&self.space, &Arrival { before, is_duplicate, segment });
        self.burst_left = self.max_burst;
        // An acknowledgement that says that there is congestion opens no window, but for a control that reads each mark.
        if reaction.grow && (!marked || self.marks_each) {
            self.grow(now, newly_acked, in_flight, rtt, marked);
        }
        if let Some(signal) = reaction.signal {
            self.on_signal(now, signal);
        }
        if reaction.rewind {
            self.space.nxt = self.space.una;
        }
        if reaction.rearm || self.space.una == self.space.max && newly_acked > 0 {
            self.rearm(now);
        }
        AckOutcome { rtt, newly_acked }
    }

    fn on_window_update(&mut self, segment: &Segment, opened: bool) {
        self.largest_offer = self.largest_offer.max(u64::from(segment.window));
        if !opened {
            return;
        }
        self.edge = segment.ack.saturating_add(u64::from(segment.window));
        if self.timer == TimerKind::Persist {
            self.timer = TimerKind::Retransmit;
            self.timer_at = Time::NEVER;
            self.probe_due = false;
            self.rtt.on_window_opened();
        }
    }

    fn on_signal(&mut self, now: Time, signal: Signal) {
        match signal {
            Signal::Reduce { in_flight } => {
                self.counters.fast_retransmits += 1;
                self.reduce(now, CongestionKind::FastRetransmit, in_flight);
            }
            Signal::Restart { in_flight } => {
                self.counters.fast_retransmits += 1;
                self.reduce(now, CongestionKind::Timeout { backoff: 0 }, in_flight);
            }
            Signal::Recovered { limit } => {
                self.window.change(|control| control.on_recovered(now, Bytes::new(limit)));
            }
        }
    }

    pub(super) fn reduce(&mut self, now: Time, kind: CongestionKind, in_flight: u64) {
        let in_flight =
            if self.reserved.is_some() { self.on_reserved_loss(now, kind, in_flight) } else { in_flight };
        let event = CongestionEvent { now, kind, in_flight: Bytes::new(in_flight) };
        self.window.change(|control| control.on_congestion(&event));
        self.reduced_at = self.space.max;
        self.reduced_from = in_flight;
        self.cwr_due = self.ecn && !self.marks_each;
    }

    /// RFC 3168 §6.1.2: as a loss, at most once per window of data.
    fn on_ecn_echo(&mut self, now: Time) {
        let busy = matches!(self.recovery.state(), State::Recovery | State::Loss);
        if !self.ecn || busy || self.space.una < self.reduced_at || self.space.flight() == 0 {
            return;
        }
        self.counters.ecn_reductions += 1;
        self.reduce(now, CongestionKind::EcnEcho, self.space.flight());
    }

    fn on_syn_ack(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        if self.connected || !segment.flags.has(Flags::ACK) {
            return AckOutcome::default();
        }
        self.connected = true;
        self.is_plain = self.reserved.is_none();
        self.syn_due = false;
        self.timer_at = Time::NEVER;
        self.expiries = 0;
        self.edge = u64::from(segment.window);
        self.largest_offer = self.edge;
        self.burst_left = self.max_burst;
        let mut rtt = None;
        if self.syn_expiries == 0 || self.sampling == Sampling::Timestamps {
            let sent = if self.syn_expiries == 0 { self.syn_sent_at } else { segment.echo };
            if sent <= now {
                self.rtt.on_sample(sent, now);
                rtt = Some(now - sent);
            }
        }
        if self.syn_expiries > 0 {
            self.rtt.on_connected_after_loss();
            // RFC 5681 §3.1: after a lost SYN the initial window is one segment.
            let restart = Bytes::new(self.space.mss);
            self.window.change(|control| control.on_idle(restart));
            self.initial_window = self.space.mss;
        }
        AckOutcome { rtt, newly_acked: 0 }
    }
}
