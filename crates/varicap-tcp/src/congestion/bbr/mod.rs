//! BBR version 1, as Linux's module `bbr` is: a model of the path, its rate and its least RTT, decides how fast data leaves
//! and how much may be in flight. Source: draft-cardwell-iccrg-bbr-congestion-control-00 [bbr1]; Linux 6.18 (`tcp_bbr.c`).
//!
//! States and variables have the draft's names. From Linux, beyond the draft, come the margin of a hundredth below the
//! estimated rate, the aggregation of acknowledgements, the long-term rate of a policer ([`long_term`]) and windows in whole
//! packets. Volumes are bytes of payload, rates [`Bandwidth`]s, gains 256ths as in Linux; all are integers.

mod long_term;
mod output;

use varicap_units::part::{OnKernel, Part};
use varicap_units::{Bytes, Rate, Span, Stream, Time};

use super::bandwidth::{Bandwidth, Candidates};
use super::{AckSample, CongestionControl, CongestionEvent, CongestionKind, Loss, Quantity, Start, Wants};
use long_term::LongTerm;

/// A gain of one.
const UNIT: u64 = 256;

/// BBRHighGain, 2/ln 2, and its inverse, rounded as in Linux. Source: [bbr1, §4.3.2.1, §4.3.3].
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;

/// The gains of a cycle. Source: [bbr1, §4.3.4.1].
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];

/// RTpropFilterLen and ProbeRTTInterval, both. Source: [bbr1, §4.3.5].
const MIN_RTT_WINDOW: Span = Span::from_secs(10);

/// ProbeRTTDuration. Source: [bbr1, §4.3.5].
const PROBE_RTT_DURATION: Span = Span::from_millis(200);

/// BBRMinPipeCwnd, in packets. Source: [bbr1, §4.2.3.3].
const MIN_PIPE_CWND: u64 = 4;

/// Most that aggregation adds to the window: what the path delivers in this time. Source: Linux (bbr_extra_acked_max_us).
const LONGEST_AGGREGATION: Span = Span::from_millis(100);

/// An epoch of aggregation ends at so many packets. Source: Linux (bbr_ack_epoch_acked_reset_thresh).
const LONGEST_EPOCH: u64 = 1 << 20;

/// How long the larger of two maxima of aggregation counts, in rounds. Source: Linux (bbr_extra_acked_win_rtts).
const AGGREGATION_ROUNDS: u32 = 5;

/// [`Bbr`] has no settings.
pub struct BbrConfig;

impl Part for BbrConfig {
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Named("bbr".to_owned())
    }

    fn draws(&self) -> bool {
        true
    }
}

/// Its place in the state machine. Its numbers are shown to whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup = 0,
    Drain = 1,
    ProbeBw = 2,
    ProbeRtt = 3,
}

/// The aggregation of acknowledgements: what came beyond what the estimated rate explains [B].
#[derive(Clone, Copy, Debug, Default)]
struct Aggregation {
    /// The largest of the last five to ten rounds, in two windows.
    extra: [u64; 2],
    window: usize,
    rounds: u32,
    epoch_start: Time,
    epoch_acked: u64,
}

/// The control.
#[derive(Debug)]
pub struct Bbr {
    mss: u64,
    packet: u64,
    initial_window: u64,
    stream: Option<Stream>,
    delivered: u64,
    /// All data lost so far [B].
    lost: u64,

    cwnd: u64,
    prior_cwnd: u64,
    /// The window that the model wants [B].
    target: u64,
    /// Gains, pacing rate and that window follow from the state and the model as they are.
    is_settled: bool,
    pacing_rate: Bandwidth,
    on_wire: Rate,
    /// The data that leaves at once at that pacing rate [B].
    quantum: u64,
    has_seen_rtt: bool,

    state: State,
    pacing_gain: u64,
    cwnd_gain: u64,
    cycle_index: usize,
    cycle_stamp: Time,
    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    idle_restart: bool,

    bw_filter: Candidates<Bandwidth, 10>,
    /// The rate to work with: BBR.BtlBw, or that of a policer, if one was found.
    bw: Bandwidth,
    min_rtt: Span,
    min_rtt_stamp: Time,
    aggregation: Aggregation,
    long_term: LongTerm,

    full_bw: Bandwidth,
    full_bw_count: u32,
    filled_pipe: bool,

    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,

    is_recovering: bool,
    /// Recovery has begun or ended since the window was last computed.
    has_begun: bool,
    has_ended: bool,
    packet_conservation: bool,
}

/// One acknowledgement, in the quantities of the model.
#[derive(Clone, Copy, Debug)]
struct Sample {
    now: Time,
    bw: Bandwidth,
    /// Whether there is a sample of the rate.
    is_sound: bool,
    prior_delivered: u64,
    newly_acked: u64,
    newly_lost: u64,
    rtt: Option<Span>,
    is_app_limited: bool,
    prior_in_flight: u64,
    in_flight: u64,
    /// How long pacing holds the next segment back.
    held: Span,
}

impl Sample {
    /// The receiver may have waited before it answered: alone in flight was less than a segment. Source: Linux
    /// (FLAG_ACK_MAYBE_DELAYED).
    fn is_ack_delayed(&self, delivered: u64, mss: u64) -> bool {
        self.newly_acked < mss && self.prior_delivered + self.newly_acked == delivered
    }
}

impl Bbr {
    /// A control that starts as `start` says. Source: [bbr1, §4.3.1].
    pub fn new(start: &Start) -> Bbr {
        let mut bbr = Bbr {
            mss: start.mss.as_u64().max(1),
            packet: start.packet.as_u64().max(1),
            initial_window: start.usable_window(),
            stream: None,
            delivered: 0,
            lost: 0,
            cwnd: start.usable_window(),
            prior_cwnd: 0,
            target: 0,
            is_settled: false,
            pacing_rate: Bandwidth::ZERO,
            // Linux paces nothing before there is a round trip, nor the first ten packets.
            on_wire: Rate::UNLIMITED,
            quantum: 0,
            has_seen_rtt: false,
            state: State::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle_index: 0,
            cycle_stamp: Time::ZERO,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            idle_restart: false,
            bw_filter: Candidates::default(),
            bw: Bandwidth::ZERO,
            min_rtt: Span::MAX,
            min_rtt_stamp: Time::ZERO,
            aggregation: Aggregation::default(),
            long_term: LongTerm::default(),
            full_bw: Bandwidth::ZERO,
            full_bw_count: 0,
            filled_pipe: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            is_recovering: false,
            has_begun: false,
            has_ended: false,
            packet_conservation: false,
        };
        bbr.quantum = bbr.quantum_at(bbr.pacing_rate);
        bbr
    }

    fn sample(&mut self, ack: &AckSample) -> Option<Sample> {
        let progress = ack.progress?;
        let newest = progress.newest?;
        let delivered = ack.delivered.as_u64();
        let newly_acked = delivered.saturating_sub(self.delivered);
        self.delivered = self.delivered.max(delivered);
        Some(Sample {
            now: ack.now,
            bw: ack.rate.as_ref().map_or(Bandwidth::ZERO, Bandwidth::of_sample),
            is_sound: ack.rate.is_some(),
            prior_delivered: newest.prior_delivered.as_u64(),
            newly_acked,
            newly_lost: ack.newly_lost.as_u64(),
            rtt: newest.rtt,
            is_app_limited: newest.app_limited,
            prior_in_flight: ack.in_flight.as_u64(),
            in_flight: progress.in_flight.as_u64(),
            held: progress.held,
        })
    }

    /// BBR.BtlBw.
    fn max_bw(&self) -> Bandwidth {
        self.bw_filter.largest()
    }

    /// Updates the rate to work with after a measurement.
    fn update_rate(&mut self) {
        let bw = self.long_term.in_use().unwrap_or(self.max_bw());
        if bw != self.bw {
            (self.bw, self.is_settled) = (bw, false);
        }
    }

    /// [bbr1, §4.1.1.3, §4.1.1.5] (BBRUpdateRound, BBRUpdateBtlBw).
    fn update_bw(&mut self, rs: &Sample) {
        self.round_start = false;
        if !rs.is_sound {
            return;
        }
        if rs.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = self.delivered;
            self.round_count += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        let is_loss = rs.newly_lost > 0;
        if is_loss || self.long_term.is_waiting() {
            self.sample_long_term(rs.now, self.round_start, rs.is_app_limited, is_loss);
        }
        if !rs.is_app_limited || rs.bw >= self.max_bw() {
            self.bw_filter.take(self.round_count, rs.bw);
        }
        self.update_rate();
    }

    #[inline(never)]
    fn sample_long_term(&mut self, now: Time, round_start: bool, is_app_limited: bool, is_loss: bool) {
        let news = long_term::LtSample {
            now,
            round_start,
            is_probe_bw: self.state == State::ProbeBw,
            is_app_limited,
            is_loss,
            delivered: self.delivered,
            lost: self.lost,
        };
        self.is_settled = false;
        match self.long_term.take(&news) {
            long_term::LtOutcome::Policed => self.pacing_gain = UNIT,
            long_term::LtOutcome::Over => self.enter_probe_bw(now),
            long_term::LtOutcome::None => {}
        }
    }

    /// Data that arrives in bursts needs a window that lasts through the silence between them. Source: Linux
    /// (bbr_update_ack_aggregation).
    fn update_ack_aggregation(&mut self, rs: &Sample) {
        if !rs.is_sound || rs.newly_acked == 0 {
            return;
        }
        let bw = self.bw;
        let of = &mut self.aggregation;
        if self.round_start {
            of.rounds += 1;
            if of.rounds >= AGGREGATION_ROUNDS {
                (of.rounds, of.window) = (0, 1 - of.window);
                of.extra[of.window] = 0;
                self.is_settled = false;
            }
        }
        let mut expected = bw.carries(rs.now.since(of.epoch_start));
        if of.epoch_acked <= expected || of.epoch_acked + rs.newly_acked >= LONGEST_EPOCH * self.mss {
            (of.epoch_acked, of.epoch_start, expected) = (0, rs.now, 0);
        }
        of.epoch_acked += rs.newly_acked;
        let extra = of.epoch_acked.saturating_sub(expected).min(self.cwnd);
        if extra > of.extra[of.window] {
            of.extra[of.window] = extra;
            self.is_settled = false;
        }
    }

    /// [bbr1, §4.3.4.3] (BBRCheckCyclePhase).
    fn update_cycle_phase(&mut self, rs: &Sample) {
        if self.state == State::ProbeBw && self.is_next_cycle_phase(rs) {
            self.advance_cycle_phase(rs.now);
        }
    }

    /// [bbr1, §4.3.4.3] (BBRIsNextCyclePhase).
    fn is_next_cycle_phase(&self, rs: &Sample) -> bool {
        let is_full_length = rs.now.since(self.cycle_stamp) > self.min_rtt;
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        if self.pacing_gain > UNIT {
            let reaches =
                self.in_net(rs, rs.prior_in_flight) >= self.inflight(self.max_bw(), self.pacing_gain);
            return is_full_length && (rs.newly_lost > 0 || reaches);
        }
        is_full_length || self.in_net(rs, rs.prior_in_flight) <= self.inflight(self.max_bw(), UNIT)
    }

    /// The part of `in_flight` that is there when pacing lets the next quantum leave: with it, if the flow is to rise [B]. Source:
    /// Linux (bbr_packets_in_net_at_edt).
    fn in_net(&self, rs: &Sample, in_flight: u64) -> u64 {
        let then = if self.pacing_gain > UNIT { in_flight + self.quantum } else { in_flight };
        then.saturating_sub(self.bw.carries(rs.held))
    }

    /// [bbr1, §4.3.4.3] (BBRAdvanceCyclePhase).
    fn advance_cycle_phase(&mut self, now: Time) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_stamp = now;
        self.is_settled = false;
    }

    /// [bbr1, §4.3.4.3] (BBREnterProbeBW): any phase but the one that drains; without random numbers, the one that probes.
    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        let drawn = self.stream.as_mut().map_or(0, |stream| stream.below(CYCLE.len() as u64 - 1));
        self.cycle_index = CYCLE.len() - 1 - drawn as usize;
        self.advance_cycle_phase(now);
    }

    /// [bbr1, §4.3.2.2] (BBRCheckFullPipe).
    fn check_full_pipe(&mut self, rs: &Sample) {
        if self.filled_pipe || !self.round_start || rs.is_app_limited {
            return;
        }
        if self.max_bw() >= self.full_bw.times(125) {
            (self.full_bw, self.full_bw_count) = (self.max_bw(), 0);
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= 3;
        self.is_settled = false;
    }

    /// [bbr1, §4.3.3] (BBRCheckDrain).
    fn check_drain(&mut self, rs: &Sample) {
        if self.state == State::Startup && self.filled_pipe {
            (self.state, self.is_settled) = (State::Drain, false);
        }
        if self.state == State::Drain && self.in_net(rs, rs.in_flight) <= self.inflight(self.max_bw(), UNIT) {
            self.enter_probe_bw(rs.now);
        }
    }

    /// The time of the handshake is the first least RTT, as of when data left: a SYN waits for no full packet to be served.
    /// Source: [bbr1, §4.3.1] (BBROnConnectionInit), Linux (bbr_init).
    fn begin_min_rtt(&mut self, ack: &AckSample, rs: &Sample) {
        if self.min_rtt == Span::MAX
            && let Some(least) = ack.min_rtt
        {
            let began = Time::ZERO + (rs.now - Time::ZERO).saturating_sub(rs.rtt.unwrap_or(Span::ZERO));
            (self.min_rtt, self.min_rtt_stamp, self.is_settled) = (least, began, false);
        }
    }

    /// [bbr1, §4.1.2.3, §4.3.5] (BBRUpdateRTprop, BBRCheckProbeRTT).
    fn update_min_rtt(&mut self, rs: &Sample) {
        // A value that has not been measured yet cannot be out of date, whenever the connection opened.
        let is_expired = self.min_rtt < Span::MAX && rs.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(rtt) = rs.rtt
            && (rtt < self.min_rtt || is_expired && !rs.is_ack_delayed(self.delivered, self.mss))
        {
            (self.min_rtt, self.min_rtt_stamp, self.is_settled) = (rtt, rs.now, false);
        }
        if is_expired && !self.idle_restart && self.state != State::ProbeRtt {
            (self.state, self.is_settled) = (State::ProbeRtt, false);
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(rs);
        }
        if rs.newly_acked > 0 {
            self.idle_restart = false;
        }
    }

    /// [bbr1, §4.3.5] (BBRHandleProbeRTT).
    fn handle_probe_rtt(&mut self, rs: &Sample) {
        if self.probe_rtt_done_stamp.is_none() {
            if rs.in_flight <= MIN_PIPE_CWND * self.mss {
                self.probe_rtt_done_stamp = Some(rs.now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.next_round_delivered = self.delivered;
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(rs.now);
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.filled_pipe {
            self.enter_probe_bw(now);
        } else {
            (self.state, self.is_settled) = (State::Startup, false);
        }
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, ack: &AckSample) {
        // A timeout's recovery ends without a signal.
        if !ack.in_recovery {
            self.end_recovery();
        }
        let Some(rs) = self.sample(ack) else { return };
        self.update_bw(&rs);
        self.update_ack_aggregation(&rs);
        self.update_cycle_phase(&rs);
        self.check_full_pipe(&rs);
        self.check_drain(&rs);
        self.begin_min_rtt(ack, &rs);
        self.update_min_rtt(&rs);
        if let (false, Some(first)) = (self.has_seen_rtt, ack.min_rtt) {
            // The handshake's: Linux has the rate before data leaves (bbr_init).
            self.init_pacing_rate(first);
        }
        if !self.is_settled {
            self.settle();
        }
        debug_assert!(self.would_stay(), "something has moved unnoticed: {self:?}");
        self.set_cwnd(&rs);
    }

    fn on_lost(&mut self, _now: Time, loss: &Loss) {
        self.lost += loss.size.as_u64();
    }

    /// [bbr1, §4.2.3.4]; a mark is ignored, as in Linux.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            CongestionKind::EcnEcho => {}
            CongestionKind::FastRetransmit => {
                self.save_cwnd();
                (self.is_recovering, self.has_begun) = (true, true);
            }
            CongestionKind::Timeout { .. } => {
                self.save_cwnd();
                (self.is_recovering, self.has_begun, self.packet_conservation) = (true, false, false);
                self.full_bw = Bandwidth::ZERO;
                self.cwnd = self.mss;
                // Linux (bbr_set_state): a timeout ends a round, with a loss.
                self.sample_long_term(event.now, true, false, true);
                self.update_rate();
            }
        }
    }

    fn on_recovered(&mut self, _now: Time, _limit: Bytes) {
        self.end_recovery();
    }

    /// The pipe was not full, as far as anybody knows. Source: Linux (bbr_undo_cwnd).
    fn on_undo(&mut self, _now: Time) {
        (self.full_bw, self.full_bw_count) = (Bandwidth::ZERO, 0);
        self.long_term = LongTerm::default();
        self.is_settled = false;
        self.update_rate();
        self.end_recovery();
    }

    model_based!();

    /// [bbr1, §4.3.4.4] (BBRHandleRestartFromIdle).
    fn on_restart(&mut self, now: Time) {
        self.idle_restart = true;
        (self.aggregation.epoch_start, self.aggregation.epoch_acked) = (now, 0);
        match self.state {
            State::ProbeBw => self.set_pacing_rate(UNIT),
            State::ProbeRtt => self.check_probe_rtt_done(now),
            State::Startup | State::Drain => {}
        }
    }

    fn show(&self, values: &mut Vec<f64>) {
        let min_rtt = if self.min_rtt == Span::MAX { f64::NAN } else { self.min_rtt.as_secs_f64() };
        values.extend([
            f64::from(self.state as u8),
            self.pacing_gain as f64 / UNIT as f64,
            self.bw.as_bps(),
            self.pacing_rate.as_bps(),
            min_rtt,
        ]);
    }
}

/// The quantities that `show` shows.
const SHOWN: &[Quantity] = &[
    Quantity::new("bbr1_state", "1", "State of BBR version 1: 0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT."),
    Quantity::new("bbr1_pacing_gain", "1", "Its pacing_gain."),
    Quantity::new("bbr1_bw_bps", "b/s", "Its estimate of the rate of the path, of payload."),
    Quantity::new("bbr1_pacing_rate_bps", "b/s", "Its pacing rate, of payload."),
    Quantity::new("bbr1_min_rtt_s", "s", "Its estimate of the least RTT."),
];

#[cfg(test)]
mod tests;
