//! What a sender does about an acknowledgement.

use varicap_units::{Bytes, Time};

use super::offer::Offer;
use super::{AckOutcome, Sender, TimerKind};
use crate::congestion::{AckSample, Arrived, CongestionControl, CongestionEvent, CongestionKind, Halving};
use crate::recovery::{Arrival, Signal, State};
use crate::segment::{Flags, Segment};

/// Flags that send an acknowledgement to the slow path.
const UNUSUAL: Flags = Flags(Flags::SYN.0 | Flags::ECE.0 | Flags::ACK.0);

impl Sender {
    /// An acknowledgement arrived.
    #[inline]
    pub fn push(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        self.note_time(now);
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
        let rtt = self.sampling.on_ack(now, segment, before);
        let newly_acked = segment.ack - before;
        let (app_limited, sent, estimate) = (self.grows_in_vain(), self.space.max, &self.sampling.rtt);
        self.window.on_new_data(|| {
            let ack = AckSample {
                now,
                newly_acked: Bytes::new(newly_acked),
                in_flight: Bytes::new(in_flight),
                app_limited,
                smoothed_rtt: estimate.smoothed(),
                min_rtt: estimate.least(),
                rtt,
                delivered: Bytes::new(segment.ack),
                ..AckSample::at(now)
            };
            (ack, Arrived { segment, sent })
        });
        self.rearm(now);
        self.check();
        AckOutcome { rtt, newly_acked }
    }

    /// SND.UNA and the window move.
    #[inline]
    fn take_new_data(&mut self, segment: &Segment) {
        self.space.una = segment.ack;
        // After going back, the receiver may have had more than what was resent.
        self.space.nxt = self.space.nxt.max(segment.ack);
        self.offer.on_new_data(segment);
        self.expiries = 0;
        self.release.refill();
        self.timer = TimerKind::Retransmit;
    }

    /// RFC 6298 (5.2), (5.3): off when all is acknowledged, else anew.
    #[inline]
    fn rearm(&mut self, now: Time) {
        self.timer_at =
            if self.space.una == self.space.max { Time::NEVER } else { self.sampling.rtt.deadline(now) };
    }

    #[cold]
    #[inline(never)]
    fn on_unusual(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        if segment.flags.has(Flags::SYN) {
            return self.on_syn_ack(now, segment);
        }
        let before = self.space.una;
        // RFC 9293 §3.10.7.4: an old acknowledgement is ignored, and one of data never sent.
        if !self.handshake.connected
            || !segment.flags.has(Flags::ACK)
            || segment.ack < before
            || segment.ack > self.space.max
        {
            return AckOutcome::default();
        }
        let marked = segment.flags.has(Flags::ECE);
        if marked && !self.ecn.marks_each {
            self.on_ecn_echo(now);
        }
        let (in_flight, lost) = (self.recovery.in_flight(&self.space), self.recovery.lost());
        let arrived_before = before + self.recovery.sacked();
        let is_new = segment.ack > before;
        // RFC 5681 §2: data outstanding, no data, same acknowledgement, same window.
        let is_update = Offer::of(segment) != self.offer.edge;
        let is_duplicate = !is_new && self.space.flight() > 0 && !is_update && segment.len == 0;
        let mut rtt = None;
        if is_new {
            self.take_new_data(segment);
            rtt = self.sampling.on_ack(now, segment, before);
        } else if self.offer.on_update(segment) {
            self.on_window_opened();
        }
        let was_recovering = self.is_recovering();
        let reaction = self.recovery.on_ack(&self.space, &Arrival { before, is_duplicate, segment });
        self.release.refill();
        let arrived = self.space.una + self.recovery.sacked();
        let newly_acked = if self.counts_arrivals {
            // Renegs are forgotten SACKs: nothing arrived.
            arrived.saturating_sub(arrived_before)
        } else {
            segment.ack - before
        };
        let ack = AckSample {
            newly_acked: Bytes::new(newly_acked),
            newly_lost: Bytes::new(self.recovery.lost() - lost),
            in_flight: Bytes::new(in_flight),
            app_limited: self.grows_in_vain(),
            marked,
            in_recovery: was_recovering || self.is_recovering(),
            smoothed_rtt: self.sampling.rtt.smoothed(),
            min_rtt: self.sampling.rtt.least(),
            rtt,
            delivered: Bytes::new(arrived),
            ..AckSample::at(now)
        };
        // An acknowledgement that reports congestion opens no window, but for a control that reads each mark.
        let counts = reaction.grow && (!marked || self.ecn.marks_each);
        self.window.on_ack(ack, Arrived { segment, sent: self.space.max }, counts);
        if let Some(signal) = reaction.signal {
            self.on_signal(now, signal);
        }
        if reaction.rewind {
            self.space.nxt = self.space.una;
        }
        if reaction.rearm || self.space.una == self.space.max && is_new {
            self.rearm(now);
        }
        self.check();
        AckOutcome { rtt, newly_acked: segment.ack - before }
    }

    fn is_recovering(&self) -> bool {
        matches!(self.recovery.state(), State::Recovery | State::Loss)
    }

    fn on_window_opened(&mut self) {
        if self.timer == TimerKind::Persist {
            self.timer = TimerKind::Retransmit;
            self.timer_at = Time::NEVER;
            self.offer.probe_due = false;
            self.sampling.rtt.on_window_opened();
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

    /// The window falls because of `kind`, with `in_flight` bytes in flight.
    pub(super) fn reduce(&mut self, now: Time, kind: CongestionKind, in_flight: u64) {
        if kind != CongestionKind::EcnEcho {
            self.note_lost(now, self.space.una);
        }
        let Some(kind) = self.first_of_window(kind) else { return };
        let in_flight = self.halved(in_flight);
        let event = CongestionEvent { now, kind, in_flight: Bytes::new(in_flight) };
        self.window.change(|control| control.on_congestion(&event));
        self.ecn.on_reduced(self.space.max, in_flight);
    }

    /// The signal, if the window did not fall for this window of data already; as one that holds ssthresh if it did.
    fn first_of_window(&self, kind: CongestionKind) -> Option<CongestionKind> {
        let again = self.space.una < self.ecn.reduced_at;
        match kind {
            _ if !self.reduce_once || !again => Some(kind),
            CongestionKind::Timeout { backoff: 0 } if self.recovery.state() == State::Recovery => {
                Some(CongestionKind::Timeout { backoff: 1 })
            }
            CongestionKind::Timeout { .. } => Some(kind),
            CongestionKind::FastRetransmit | CongestionKind::EcnEcho => None,
        }
    }

    /// From what ssthresh is computed [B].
    fn halved(&self, in_flight: u64) -> u64 {
        let cwnd = self.window.cwnd();
        match self.halving {
            Halving::FlightSize => self.release.counted(in_flight, cwnd),
            Halving::Window => cwnd.min(self.max_window),
            Halving::OfferedWindow => {
                cwnd.min(self.max_window).min(self.offer.edge.saturating_sub(self.space.una))
            }
        }
    }

    /// The segment at `seq` was lost, which may end the trust in a reservation.
    pub(super) fn note_lost(&mut self, now: Time, seq: u64) {
        if self.release.on_lost(seq) {
            self.counters.reservations_given_up += 1;
            self.window.change(|control| control.on_reservation(now, None));
        }
    }

    /// RFC 3168 §6.1.2: as a loss, at most once per window of data.
    fn on_ecn_echo(&mut self, now: Time) {
        if self.is_recovering() || !self.ecn.is_news(self.space.una) || self.space.flight() == 0 {
            return;
        }
        self.counters.ecn_reductions += 1;
        self.reduce(now, CongestionKind::EcnEcho, self.space.flight());
    }

    fn on_syn_ack(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        if self.handshake.connected || !segment.flags.has(Flags::ACK) {
            return AckOutcome::default();
        }
        let sent = self.handshake.on_answer(segment.echo, self.sampling.is_exact());
        self.timer_at = Time::NEVER;
        self.expiries = 0;
        self.offer.begin(segment.window);
        self.release.refill();
        let rtt = sent.and_then(|sent| self.sampling.measure(sent, now));
        if self.handshake.was_lost() {
            self.sampling.rtt.on_connected_after_loss();
            // RFC 5681 §3.1: after a lost SYN the initial window is one segment.
            let restart = Bytes::new(self.space.mss);
            self.window.change(|control| control.on_idle(restart));
            self.initial_window = self.space.mss;
        }
        AckOutcome { rtt, newly_acked: 0 }
    }
}
