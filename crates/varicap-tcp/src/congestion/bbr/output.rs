//! The consequences of the model for the sender: how fast data leaves, and how much may be in flight. Source: [bbr1, §4.2].

use super::*;

impl Bbr {
    /// Updates the quantities that follow from the state and the model, which seldom move.
    #[inline(never)]
    pub(super) fn settle(&mut self) {
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain);
        let window = self.bdp(self.bw, self.cwnd_gain) + self.aggregation_window();
        self.target = self.with_budget(window);
        self.is_settled = true;
    }

    /// Whether settling again would change nothing.
    pub(super) fn would_stay(&mut self) -> bool {
        let follows = |bbr: &Bbr| (bbr.pacing_gain, bbr.cwnd_gain, bbr.pacing_rate, bbr.target);
        let before = follows(self);
        self.settle();
        before == follows(self)
    }

    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (DRAIN_GAIN, HIGH_GAIN),
            State::ProbeBw if self.long_term.in_use().is_some() => (UNIT, 2 * UNIT),
            State::ProbeBw => (CYCLE[self.cycle_index], 2 * UNIT),
            State::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// [bbr1, §4.2.1] (BBRSetPacingRateWithGain), a hundredth below as in Linux.
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.bw.of_units(gain, UNIT).times(99);
        if self.filled_pipe || rate > self.pacing_rate {
            self.pace_at(rate);
        }
    }

    pub(super) fn pace_at(&mut self, rate: Bandwidth) {
        if rate != self.pacing_rate {
            self.is_settled = false;
            self.pacing_rate = rate;
            self.on_wire = rate.on_wire(self.mss, self.packet);
            self.quantum = self.quantum_at(rate);
        }
    }

    /// [bbr1, §4.2.1] (BBRInitPacingRate), once there is a round trip.
    pub(super) fn init_pacing_rate(&mut self, rtt: Span) {
        self.has_seen_rtt = true;
        let nominal = Bandwidth::of(self.cwnd, rtt.max(Span::from_micros(1)));
        self.pace_at(nominal.of_units(HIGH_GAIN, UNIT).times(99));
    }

    /// The data that leaves at once: a 1024th of a second at the pacing rate, in whole packets, at least one, or two from 1.2 Mb/s
    /// on [B]. Source: Linux (bbr_tso_segs_goal).
    pub(super) fn quantum_at(&self, pacing_rate: Bandwidth) -> u64 {
        let rate = pacing_rate.carries(Span::from_secs(1));
        let least = if rate < 150_000 { 1 } else { 2 };
        let segments = (rate >> 10).min(65_000) / self.mss;
        segments.clamp(least, 127) * self.mss
    }

    /// The BDP at `bw`, times `gain`, in whole packets [B]. Source: [bbr1, §4.2.3.2]; Linux (bbr_bdp).
    pub(super) fn bdp(&self, bw: Bandwidth, gain: u64) -> u64 {
        if self.min_rtt == Span::MAX {
            return self.initial_window;
        }
        (bw.carries(self.min_rtt).saturating_mul(gain) / UNIT).next_multiple_of(self.mss)
    }

    /// Room for offload and for odd windows. Source: Linux (bbr_quantization_budget).
    pub(super) fn with_budget(&self, window: u64) -> u64 {
        let even = (window + 3 * self.quantum).next_multiple_of(2 * self.mss);
        let is_probing = self.state == State::ProbeBw && self.cycle_index == 0;
        even + if is_probing { 2 * self.mss } else { 0 }
    }

    /// [bbr1, §4.2.3.2] (BBRInflight) [B].
    pub(super) fn inflight(&self, bw: Bandwidth, gain: u64) -> u64 {
        self.with_budget(self.bdp(bw, gain))
    }

    /// The data that aggregation adds to the window [B]. Source: Linux (bbr_ack_aggregation_cwnd).
    pub(super) fn aggregation_window(&self) -> u64 {
        if !self.filled_pipe {
            return 0;
        }
        let extra = self.aggregation.extra[0].max(self.aggregation.extra[1]);
        extra.min(self.bw.carries(LONGEST_AGGREGATION))
    }

    /// [bbr1, §4.2.3.6] (BBRSetCwnd).
    pub(super) fn set_cwnd(&mut self, rs: &Sample) {
        if rs.newly_acked > 0 && !self.recovers_or_restores(rs) {
            if self.filled_pipe {
                self.cwnd = (self.cwnd + rs.newly_acked).min(self.target);
            } else if self.cwnd < self.target || self.delivered < self.initial_window {
                self.cwnd += rs.newly_acked;
            }
            self.cwnd = self.cwnd.max(MIN_PIPE_CWND * self.mss);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE_CWND * self.mss);
        }
    }

    /// [bbr1, §4.2.3.4] (BBRModulateCwndForRecovery); whether packets are conserved. Source: Linux
    /// (bbr_set_cwnd_to_recover_or_restore).
    pub(super) fn recovers_or_restores(&mut self, rs: &Sample) -> bool {
        if rs.newly_lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(rs.newly_lost).max(self.mss);
        }
        let (has_begun, has_ended) =
            (std::mem::take(&mut self.has_begun), std::mem::take(&mut self.has_ended));
        if has_begun && self.is_recovering {
            self.packet_conservation = true;
            self.next_round_delivered = self.delivered;
            self.cwnd = (rs.in_flight + rs.newly_acked).max(self.mss);
        } else if has_ended && !self.is_recovering {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(rs.in_flight + rs.newly_acked);
        }
        self.packet_conservation
    }

    /// [bbr1, §4.2.3.4] (BBRSaveCwnd).
    pub(super) fn save_cwnd(&mut self) {
        let is_modulated = self.is_recovering || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn end_recovery(&mut self) {
        self.has_ended |= self.is_recovering;
        self.is_recovering = false;
    }
}
