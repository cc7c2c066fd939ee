//! The states and what leads from one to the next. Source: draft-ietf-ccwg-bbr-06 §5.3 and §5.4.

use varicap_units::{Span, Time};

use super::{Bbr3, INFINITE, Sample};
use crate::congestion::bandwidth::hundredths_of;

/// §2.16.2: BBR.ProbeRTTDuration.
const PROBE_RTT_DURATION: Span = Span::from_millis(200);

/// §2.8: BBR.Headroom, 0.15, in hundredths.
const HEADROOM: u64 = 15;

/// §5.3.3.8.2: the bound of the time scale on which Reno coexists, in rounds.
const RENO_ROUNDS: u64 = 63;

/// BBR.state. Its numbers are shown to whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup = 0,
    Drain = 1,
    ProbeBwDown = 2,
    ProbeBwCruise = 3,
    ProbeBwRefill = 4,
    ProbeBwUp = 5,
    ProbeRtt = 6,
}

impl State {
    /// BBR.pacing_gain and BBR.cwnd_gain in hundredths. Source: §5.6.1, the table.
    fn gains(self) -> (u64, u64) {
        match self {
            State::Startup => (277, 200),
            State::Drain => (50, 200),
            State::ProbeBwDown => (90, 200),
            State::ProbeBwCruise | State::ProbeBwRefill => (100, 200),
            State::ProbeBwUp => (125, 225),
            State::ProbeRtt => (100, 50),
        }
    }

    /// §5.3.3.9 (IsInAProbeBWState).
    pub(super) fn is_probe_bw(self) -> bool {
        use State::{ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp};
        matches!(self, ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp)
    }

    /// §5.3.3.9 (IsProbingBW).
    pub(super) fn is_probing_bw(self) -> bool {
        matches!(self, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }
}

/// BBR.ack_phase. Source: §2.14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl Bbr3 {
    /// The state is `state`, with its gains.
    pub(super) fn enter(&mut self, state: State) {
        (self.state, self.is_settled) = (state, false);
        (self.pacing_gain, self.cwnd_gain) = state.gains();
    }

    /// §5.3.1.1 (CheckStartupDone) and §5.3.2 (EnterDrain).
    pub(super) fn check_startup_done(&mut self, rs: &Sample) {
        self.check_startup_high_loss(rs);
        if self.state == State::Startup && self.full_bw_reached {
            self.enter(State::Drain);
            self.drain_start_round = self.round_count;
        }
    }

    /// §5.3.2 (CheckDrainDone).
    pub(super) fn check_drain_done(&mut self, rs: &Sample) {
        if self.state == State::Drain
            && (rs.in_flight <= self.inflight(self.bw, 100) || self.round_count > self.drain_start_round + 3)
        {
            self.start_probe_bw_down(rs.now);
        }
    }

    /// §5.3.3.9 (StartProbeBW_DOWN).
    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = INFINITE;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.enter(State::ProbeBwDown);
    }

    /// §5.3.3.8.3 (PickProbeWait). Without random numbers it waits for the mean.
    fn pick_probe_wait(&mut self) {
        let longest = Span::from_secs(1);
        (self.rounds_since_probe_up, self.bw_probe_wait) = match &mut self.stream {
            Some(stream) => (stream.below(2), Span::from_secs(2) + stream.uniform_span(longest)),
            None => (0, Span::from_millis(2500)),
        };
    }

    /// §5.3.3.9 (StartProbeBW_REFILL).
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(State::ProbeBwRefill);
    }

    /// §5.3.3.9 (StartProbeBW_UP).
    fn start_probe_bw_up(&mut self, rs: &Sample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = rs.delivery_rate;
        self.enter(State::ProbeBwUp);
        self.raise_inflight_longterm_slope();
    }

    /// §5.3.3.9 (UpdateProbeBWCyclePhase).
    pub(super) fn update_probe_bw_cycle_phase(&mut self, rs: &Sample) {
        if !self.full_bw_reached || self.adapt_long_term_model(rs) {
            return;
        }
        match self.state {
            State::ProbeBwDown => {
                if !self.is_time_to_probe_bw(rs) && self.is_time_to_cruise(rs) {
                    self.enter(State::ProbeBwCruise);
                }
            }
            State::ProbeBwCruise => {
                self.is_time_to_probe_bw(rs);
            }
            State::ProbeBwRefill => {
                if self.round_start {
                    self.is_bw_probe_sample = true;
                    self.start_probe_bw_up(rs);
                }
            }
            State::ProbeBwUp => {
                if self.is_time_to_go_down(rs) {
                    self.prev_probe_too_high = false;
                    self.start_probe_bw_down(rs.now);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// §5.3.3.8.3 (IsTimeToProbeBW): starts ProbeBW_REFILL if it is.
    fn is_time_to_probe_bw(&mut self, rs: &Sample) -> bool {
        let has_elapsed = rs.now > self.cycle_stamp + self.bw_probe_wait;
        // A round for each segment of the target, without dividing.
        let rounds = self.rounds_since_probe_up;
        let as_reno = rounds >= RENO_ROUNDS || self.target_inflight() < (rounds + 1) * self.mss;
        let is_time = has_elapsed || as_reno;
        if is_time {
            self.start_probe_bw_refill();
        }
        is_time
    }

    /// §5.3.3.9 (IsTimeToCruise).
    fn is_time_to_cruise(&self, rs: &Sample) -> bool {
        rs.in_flight <= self.inflight_with_headroom() && rs.in_flight <= self.inflight(self.max_bw, 100)
    }

    /// §5.3.3.9 (IsTimeToGoDown).
    fn is_time_to_go_down(&mut self, rs: &Sample) -> bool {
        if self.prev_probe_too_high && rs.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if rs.is_cwnd_limited && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = rs.delivery_rate;
            return false;
        }
        self.full_bw_now
    }

    /// §5.3.3.9 (InflightWithHeadroom) [B].
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == INFINITE {
            return INFINITE;
        }
        let headroom = hundredths_of(self.inflight_longterm, HEADROOM).max(self.mss);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_pipe_cwnd())
    }

    /// §5.3.3.9 (RaiseInflightLongtermSlope).
    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = 1u64 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(self.mss);
    }

    /// §5.3.3.9 (ProbeInflightLongtermUpward).
    fn probe_inflight_longterm_upward(&mut self, rs: &Sample) {
        if !rs.is_cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += rs.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta * self.mss;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// §5.3.3.9 (AdaptLongTermModel); whether it has led to another state.
    fn adapt_long_term_model(&mut self, rs: &Sample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            let is_probe_bw = self.state.is_probe_bw();
            if is_probe_bw && !rs.is_app_limited {
                self.advance_max_bw_filter();
            }
            if is_probe_bw && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if self.inflight_longterm != INFINITE && !self.is_sample_too_high(rs) {
            self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward(rs);
            }
        }
        false
    }

    /// §5.3.4.3 (CheckProbeRTT).
    pub(super) fn check_probe_rtt(&mut self, rs: &Sample) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.enter(State::ProbeRtt);
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(rs);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// §5.3.4.3 (HandleProbeRTT); that samples are limited by the application meanwhile, `is_holding_back` says.
    fn handle_probe_rtt(&mut self, rs: &Sample) {
        if self.probe_rtt_done_stamp.is_none() && rs.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt_done_stamp = Some(rs.now + PROBE_RTT_DURATION);
            self.probe_rtt_round_done = false;
            self.start_round();
        } else if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(rs.now);
            }
        }
    }

    /// §5.3.4.3 (CheckProbeRTTDone) and §5.3.4.4 (ExitProbeRTT).
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(now);
            self.enter(State::ProbeBwCruise);
        } else {
            self.enter(State::Startup);
        }
    }

    /// §5.4.1 (HandleRestartFromIdle).
    pub(super) fn handle_restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.extra_acked_interval_start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(100);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}
