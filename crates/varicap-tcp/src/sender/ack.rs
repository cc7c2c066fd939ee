//! The reaction of a sender to an acknowledgement.

use varicap_units::{Bytes, Span, Time};

use super::ack_sample::Acked;
use super::offer::Offer;
use super::prr::{Prr, PrrAck};
use super::timers::Timeout;
use super::{AckOutcome, Sender, TimerKind};
use crate::congestion::{CongestionControl, CongestionEvent, CongestionKind, Halving};
use crate::recovery::{Arrival, Clock, Reaction, Signal, State};
use crate::segment::{Flags, Segment};

/// Flags that send an acknowledgement to the slow path.
pub(super) const UNUSUAL: Flags = Flags::SYN.with(Flags::FIN).with(Flags::ECE).with(Flags::ACK);

/// The state of a sender before an acknowledgement.
struct Before {
    una: u64,
    /// Whether the acknowledgement is of new data.
    is_new: bool,
    /// The event that the timer waited for.
    pending: TimerKind,
    /// Data in flight [B].
    in_flight: u64,
    /// Data found to be lost so far [B].
    lost: u64,
    /// Data delivered so far [B].
    delivered: u64,
    /// Data that duplicates alone had shown to have arrived, where arrivals count [B].
    reno_sacked: u64,
}

/// An echo of marks that is to make the window smaller, where the recovery has no state for it.
#[derive(Clone, Copy, Debug)]
struct Echo {
    /// FlightSize when it arrived [B].
    in_flight: u64,
    /// The window was a single segment, and cannot fall.
    is_least: bool,
}

impl Sender {
    /// An acknowledgement arrived.
    #[inline]
    pub fn push(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        self.note_time(now);
        let before = self.space.una;
        let expected = segment.flags.0 & UNUSUAL.0 == self.ecn.plain.0
            && segment.sack_count == 0
            && self.recovery.is_open()
            && segment.ack > before
            && segment.ack <= self.space.max;
        if !expected {
            return self.on_unexpected(now, segment);
        }
        let in_flight = self.space.flight();
        self.take_new_data(now, segment);
        let mut last = None;
        if self.recovery.tracks() {
            last = self.recovery.on_expected(now, &self.space);
        }
        let rtt = self.sampling.on_ack(now, segment, before, self.space.max);
        let last_rtt = self.last_rtt(last, rtt);
        let newly_acked = segment.ack - before;
        self.window.count_round(segment.ack, self.space.max);
        self.inform_of_new_data(now, segment, || Acked {
            newly_acked,
            in_flight,
            delivered: segment.ack,
            rtt: last_rtt,
            may_open: true,
            ..Acked::default()
        });
        self.update_pace();
        self.rearm(now);
        self.check();
        AckOutcome { rtt, newly_acked }
    }

    /// SND.UNA and the window move.
    #[inline]
    fn take_new_data(&mut self, now: Time, segment: &Segment) {
        self.space.una = segment.ack;
        // After going back, the receiver may have had more than what was resent.
        self.space.nxt = self.space.nxt.max(segment.ack);
        self.offer.on_new_data(segment);
        self.expiries = 0;
        self.release.refill();
        self.usage.on_new_data(now);
        self.pending = TimerKind::Retransmit;
    }

    #[cold]
    #[inline(never)]
    pub(super) fn on_unusual(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        if segment.flags.has(Flags::SYN) {
            return self.on_syn_ack(now, segment);
        }
        if segment.flags.has(Flags::FIN) {
            self.on_fin();
        }
        // RFC 9293 §3.10.7.4: an old acknowledgement is ignored. One of data never sent is, too; the RFC also answers
        // it, which no simulated receiver needs.
        if !self.handshake.connected || !segment.flags.has(Flags::ACK) || segment.ack > self.space.max {
            return AckOutcome::default();
        }
        if segment.ack < self.space.una {
            self.on_old_blocks(now, segment);
            return AckOutcome::default();
        }
        self.on_acceptable(now, segment)
    }

    /// An acknowledgement of new data that has to be looked at, or a duplicate.
    fn on_acceptable(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        if segment.ack > self.space.una || self.recovery.tracks() {
            self.fix_timeout();
        }
        self.offer.probes_out = 0;
        if self.usage.max_fs.is_some() {
            self.note_flight();
        }
        let marks = self.read_marks(segment);
        let (is_echo, tracks) = (marks.any && !self.ecn.is_read, self.recovery.tracks());
        let echo = if is_echo && !tracks { self.first_echo() } else { None };
        let before = self.before(segment);
        let mut arrival = self.arrival(now, segment, &before);
        arrival.is_marked = is_echo && self.ecn.enabled;
        let mut rtt = self.advance(now, segment, &before);
        arrival.clock = self.clock(now);
        let was_recovering = self.is_recovering();
        let mut reaction = Reaction::default();
        self.recovery.on_ack(&self.space, &arrival, &mut reaction);
        self.report_lost(now);
        self.release.refill();
        self.window.count_round(segment.ack, self.space.max);
        let acked = Acked {
            newly_acked: self.newly_acked(segment, &before),
            marked: marks.any,
            marked_packets: marks.packets,
            marked_bytes: marks.bytes,
            in_flight: before.in_flight,
            delivered: self.space.una + self.recovery.sacked(),
            ..Acked::default()
        };
        self.window.in_ack_event(&acked.sample(now, self.window.round()));
        if let Some(echo) = &echo {
            self.on_ecn_echo(now, echo);
        }
        let mut last = None;
        if tracks {
            rtt = self.sampling.on_record(now, segment, before.is_new, self.space.max, reaction.timed);
            last = reaction.last_timed.map(|at| now.since(at));
            self.on_signals(now, &reaction);
            self.reduce_proportionally(&reaction, before.lost, before.is_new);
        }
        let rtt_sample = self.last_rtt(last, rtt);
        // An acknowledgement that reports congestion opens no window, but for a control that reads each mark; and where
        // the recovery has a state for it, that state alone decides, as in Linux.
        let may_open = reaction.grow && (!marks.any || self.ecn.is_read || tracks);
        if self.window.takes_sample(may_open) {
            let newly_lost = self.recovery.lost() - before.lost;
            let in_recovery = was_recovering || self.is_recovering();
            self.open_window(
                now,
                segment,
                Acked { newly_lost, in_recovery, rtt: rtt_sample, may_open, ..acked },
            );
        }
        if let Some(signal) = reaction.signal {
            self.on_signal(now, signal, reaction.delivered);
        }
        if reaction.rewind {
            self.space.nxt = self.space.una;
        }
        self.update_pace();
        self.set_timer(now, before.pending, &reaction, before.is_new);
        if echo.is_some_and(|echo| echo.is_least) {
            self.hold_new_data(now);
        }
        self.check();
        // Measured are round trips of what was acknowledged and left once, whatever else feeds the timer.
        let measured = rtt.filter(|_| !tracks || reaction.covers_timed);
        AckOutcome { rtt: measured, newly_acked: segment.ack - before.una }
    }

    /// The state that `segment` is about to change.
    fn before(&self, segment: &Segment) -> Before {
        let is_new = segment.ack > self.space.una;
        Before {
            una: self.space.una,
            is_new,
            pending: self.pending,
            in_flight: self.recovery.in_flight(&self.space),
            lost: self.recovery.lost(),
            delivered: self.space.una + self.recovery.sacked(),
            reno_sacked: if is_new && self.counts_arrivals { self.recovery.reno_sacked() } else { 0 },
        }
    }

    /// The arrival of `segment`, as recovery sees it; neither marks nor the clock have been read yet.
    fn arrival<'a>(&self, now: Time, segment: &'a Segment, before: &Before) -> Arrival<'a> {
        // RFC 5681 §2: data outstanding, neither data nor FIN, same acknowledgement, same window.
        let is_update = Offer::of(segment) != self.offer.edge;
        let is_bare = segment.len == 0 && !segment.flags.has(Flags::FIN);
        Arrival {
            before: before.una,
            says_nothing: !before.is_new && !is_update && is_bare && segment.sack_count == 0,
            is_duplicate: !before.is_new && self.space.flight() > 0 && !is_update && is_bare,
            is_marked: false,
            clock: self.clock(now),
            segment,
        }
    }

    /// SND.UNA and the windows move; the RTT sample where no record says when each segment left.
    fn advance(&mut self, now: Time, segment: &Segment, before: &Before) -> Option<Span> {
        if before.is_new {
            self.take_new_data(now, segment);
            if !self.recovery.tracks() {
                return self.sampling.on_ack(now, segment, before.una, self.space.max);
            }
        } else if self.offer.on_update(segment) {
            self.on_window_opened();
        }
        None
    }

    /// The data that `segment` newly showed to have arrived [B].
    fn newly_acked(&self, segment: &Segment, before: &Before) -> u64 {
        if before.reno_sacked > 0 {
            // The data that closed the hole is news; the rest was counted when its duplicates arrived, as in Linux.
            (segment.ack - before.una).saturating_sub(before.reno_sacked).max(self.space.mss)
        } else if self.counts_arrivals {
            // Renegs are forgotten SACKs: nothing arrived.
            (self.space.una + self.recovery.sacked()).saturating_sub(before.delivered)
        } else {
            segment.ack - before.una
        }
    }

    /// The control hears of an acknowledgement, which may open the window as far as the draft's maxFS allows.
    fn open_window(&mut self, now: Time, segment: &Segment, acked: Acked) {
        let (cwnd, limit) = (self.window.cwnd(), self.growth_limit());
        self.inform_control(segment, &mut acked.sample(now, self.window.round()));
        if self.usage.max_fs.is_some() {
            self.cap_growth(cwnd, limit);
        }
    }

    /// The round trip that the congestion control hears of: `last` where a record says when each segment left, since what left
    /// first may have waited for a delayed acknowledgement; else the sample `rtt`. The least RTT follows it. Linux: ca_rtt_us.
    #[inline]
    fn last_rtt(&mut self, last: Option<Span>, rtt: Option<Span>) -> Option<Span> {
        let Some(last) = last else { return rtt };
        self.sampling.rtt.note_least(last);
        Some(last)
    }

    /// An acknowledgement that a later one has overtaken: its SACK blocks are still news, and nothing else.
    fn on_old_blocks(&mut self, now: Time, segment: &Segment) {
        if !self.recovery.tracks() {
            return;
        }
        let una = self.space.una;
        let mut news = Segment { ack: una, sack_count: 0, ..*segment };
        for (from, to) in segment.blocks().filter(|block| block.1 > una) {
            if let Some(block) = news.offset(from.max(una)).zip(news.offset(to)) {
                news.sack[usize::from(news.sack_count)] = block;
                news.sack_count += 1;
            }
        }
        if news.sack_count == 0 {
            return;
        }
        let arrival = Arrival {
            before: una,
            says_nothing: false,
            is_duplicate: false,
            is_marked: false,
            clock: self.clock(now),
            segment: &news,
        };
        let pending = self.pending;
        let mut reaction = Reaction::default();
        self.recovery.on_ack(&self.space, &arrival, &mut reaction);
        self.report_lost(now);
        self.release.refill();
        self.on_signals(now, &reaction);
        self.set_timer(now, pending, &reaction, false);
        self.check();
    }

    /// Informs a control that wants it of each segment that was just found to be lost.
    #[inline]
    pub(super) fn report_lost(&mut self, now: Time) {
        if let Some(found) = self.recovery.take_found() {
            found.iter().for_each(|&range| self.window.on_lost(now, range));
            self.recovery.give_back(found);
        }
    }

    fn is_recovering(&self) -> bool {
        matches!(self.recovery.state(), State::Recovery | State::Loss)
    }

    fn on_window_opened(&mut self) {
        if self.pending == TimerKind::Persist {
            self.pending = TimerKind::Retransmit;
            self.timeout = Timeout::OFF;
            self.offer.probe_due = false;
            self.sampling.rtt.on_window_opened();
        }
    }

    /// The window changes before the acknowledgement opens it.
    #[inline]
    pub(super) fn on_signals(&mut self, now: Time, reaction: &Reaction) {
        if reaction.first[0].is_some() {
            let signals = reaction.first.into_iter().flatten();
            signals.for_each(|signal| self.on_signal(now, signal, reaction.delivered));
        }
    }

    /// The window changes because of an acknowledgement that newly `delivered` so much [B].
    pub(super) fn on_signal(&mut self, now: Time, signal: Signal, delivered: u64) {
        match signal {
            Signal::Reduce { in_flight } => {
                self.counters.fast_retransmits += 1;
                self.reduce(now, CongestionKind::FastRetransmit, in_flight, delivered);
            }
            Signal::Restart { in_flight } => {
                self.counters.fast_retransmits += 1;
                self.reduce(now, CongestionKind::Timeout { backoff: 0 }, in_flight, delivered);
            }
            Signal::Resume => self.counters.fast_retransmits += 1,
            Signal::TailRepaired { in_flight } => {
                self.reduce(now, CongestionKind::FastRetransmit, in_flight, delivered);
                self.end_reduction();
            }
            Signal::Mark => {
                self.counters.ecn_reductions += 1;
                self.reduce(now, CongestionKind::EcnEcho, self.space.flight(), delivered);
            }
            Signal::Recovered { limit } => {
                self.end_reduction();
                self.window.change(|control| control.on_recovered(now, Bytes::new(limit)));
            }
            Signal::Undone { restores } => {
                self.expiries = 0;
                self.end_reduction();
                if restores {
                    self.window.change(|control| control.on_undo(now));
                }
            }
        }
    }

    /// An acknowledgement, or the time, moves a window that falls step by step.
    pub(super) fn reduce_proportionally(&mut self, reaction: &Reaction, lost_before: u64, advanced: bool) {
        let Some(prr) = &mut self.prr else { return };
        let ack = PrrAck {
            delivered: reaction.delivered,
            is_loss: self.recovery.lost() > lost_before,
            advanced,
            pipe: self.recovery.in_flight(&self.space),
        };
        let target = self.window.control().cwnd().as_u64();
        if let Some(window) = prr.on_ack(&ack, target, self.space.mss) {
            self.window.set_prr_cwnd(Some(window));
        }
    }

    /// The window is the control's again.
    pub(super) fn end_reduction(&mut self) {
        self.prr = None;
        self.note_extras();
        self.window.set_prr_cwnd(None);
    }

    /// The clock, with the estimates of the round trip.
    pub(super) fn clock(&self, now: Time) -> Clock {
        let (least, smoothed) = self.sampling.rtt.least_and_smoothed();
        Clock { now, least, smoothed }
    }

    /// The window falls because of `kind`, with `in_flight` bytes in flight, and so many newly `delivered`.
    pub(super) fn reduce(&mut self, now: Time, kind: CongestionKind, in_flight: u64, delivered: u64) {
        if let Some(kind) = self.congestion_signal(now, kind) {
            self.reduce_window(now, kind, in_flight, delivered);
        }
    }

    /// The signal that the control receives for `kind`, as recovery stands before it acts on it.
    pub(super) fn congestion_signal(&mut self, now: Time, kind: CongestionKind) -> Option<CongestionKind> {
        if kind != CongestionKind::EcnEcho {
            self.note_lost(now, self.space.una);
        }
        self.first_of_window(kind)
    }

    /// The control hears of `kind`, and the window falls as it says; `in_flight` bytes were in flight, and so many newly
    /// `delivered`.
    pub(super) fn reduce_window(&mut self, now: Time, kind: CongestionKind, in_flight: u64, delivered: u64) {
        let in_flight = self.halved(in_flight);
        let event = CongestionEvent { now, kind, in_flight: Bytes::new(in_flight) };
        let before = self.window.cwnd();
        self.window.change(|control| control.on_congestion(&event));
        let is_timeout = matches!(kind, CongestionKind::Timeout { .. });
        if is_timeout {
            self.end_reduction();
        } else if self.proportional {
            self.prr = Some(Prr::begin(self.recover_fs(before, delivered)));
            self.note_extras();
            self.window.set_prr_cwnd(Some(before));
        }
        self.ecn.on_reduced(kind, self.space.max, in_flight);
    }

    /// RecoverFS, in proportion to which a window of `cwnd` bytes falls, when an acknowledgement newly `delivered` so
    /// much [B].
    fn recover_fs(&self, cwnd: u64, delivered: u64) -> u64 {
        match self.halving {
            // Linux (tcp_init_cwnd_reduction): prior_cwnd, as ssthresh is a share of cwnd, too.
            Halving::Window => cwnd,
            // RFC 9937 §6.1: SND.NXT - SND.UNA, less what had been SACKed before recovery, since that is not delivered in it.
            Halving::FlightSize | Halving::OfferedWindow => {
                (self.space.flight() + delivered).saturating_sub(self.recovery.sacked())
            }
        }
    }

    /// The signal, if the window did not fall for this window of data already; as one that holds ssthresh if it did.
    fn first_of_window(&self, kind: CongestionKind) -> Option<CongestionKind> {
        if self.recovery.tracks() {
            // This recovery tells windows of data apart itself.
            let holds = self.reduce_once && self.recovery.holds_threshold(&self.space);
            return Some(match kind {
                CongestionKind::Timeout { backoff: 0 } if holds => CongestionKind::Timeout { backoff: 1 },
                _ => kind,
            });
        }
        let again = self.ecn.has_fallen(self.space.una);
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
            self.counters.reservations_given_up = true;
            self.window.change(|control| control.on_reservation(now, None));
        }
    }

    /// RFC 3168 §6.1.2: what an echo means that arrives now; once per window of data it is news.
    fn first_echo(&self) -> Option<Echo> {
        let in_flight = self.space.flight();
        let is_news = !self.is_recovering() && self.ecn.is_news(self.space.una) && in_flight > 0;
        is_news.then(|| Echo { in_flight, is_least: self.window.cwnd() == self.space.mss })
    }

    /// RFC 3168 §6.1.2: the window falls as for a loss.
    fn on_ecn_echo(&mut self, now: Time, echo: &Echo) {
        self.counters.ecn_reductions += 1;
        self.reduce(now, CongestionKind::EcnEcho, echo.in_flight, 0);
    }

    /// RFC 3168 §6.1.2: a window of one segment cannot fall, so the next new segment waits for the retransmission timer.
    /// Linux, whose recovery by time keeps to its own rules, sends it at once.
    fn hold_new_data(&mut self, now: Time) {
        // Data that was sent before going back to a hole is no new data.
        if self.space.una == self.space.max && !self.is_done() {
            self.pending = TimerKind::Hold;
            self.timeout = Timeout::at(self.sampling.rtt.deadline(now));
        }
    }

    fn on_syn_ack(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        if self.handshake.connected || self.handshake.gave_up || !segment.flags.has(Flags::ACK) {
            return AckOutcome::default();
        }
        let sent = self.handshake.on_answer(segment.echo, self.sampling.is_exact());
        self.timeout = Timeout::OFF;
        self.expiries = 0;
        self.offer.begin(segment.window);
        self.ecn.on_answer(segment.flags);
        self.note_extras();
        self.release.refill();
        let rtt = sent.and_then(|sent| self.sampling.measure(sent, now));
        if self.handshake.was_lost() {
            self.sampling.rtt.on_connected_after_loss();
        }
        if self.handshake.costs_window(segment.echo, self.sampling.is_exact()) {
            // RFC 5681 §3.1: one segment is the window with which this sender starts. `initial_window` stays IW, what §3.1
            // allows: the restart window of §4.1 is min(IW, cwnd), as in Linux (tcp_cwnd_restart).
            let first = Bytes::new(self.space.mss);
            self.window.change(|control| control.on_idle(first));
        }
        self.update_pace();
        AckOutcome { rtt, newly_acked: 0 }
    }
}
