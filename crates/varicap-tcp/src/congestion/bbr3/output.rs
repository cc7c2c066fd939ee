//! The consequences of the model for the sender: how fast data leaves, and how much may be in flight. Source: draft-ietf-ccwg-bbr-06 §5.6.

use varicap_units::Span;

use super::states::State;
use super::{Bandwidth, Bbr3, INFINITE, Sample};

/// §2.5: what BBR.PacingMarginPercent leaves, in hundredths.
const PACING_MARGIN: u64 = 99;

/// §5.6.3: the longest quantum [B].
const MOST_QUANTUM: u64 = 64 * 1024;

impl Bbr3 {
    /// §5.6.2 (InitPacingRate): the initial window in a round trip, or in a millisecond before there is one.
    pub(super) fn init_pacing_rate(&mut self, smoothed: Option<Span>) {
        let rtt = smoothed.filter(|rtt| *rtt > Span::ZERO).unwrap_or(Span::from_millis(1));
        self.pace_at(Bandwidth::of(self.initial_window, rtt).times(277));
        self.set_send_quantum();
    }

    #[inline]
    fn pace_at(&mut self, rate: Bandwidth) {
        if rate != self.pacing_rate {
            self.is_settled = false;
            self.pacing_rate = rate;
            self.on_wire = rate.on_wire(self.mss, self.packet);
        }
    }

    /// §5.6.2 (SetPacingRateWithGain).
    pub(super) fn set_pacing_rate_with_gain(&mut self, hundredths: u64) {
        let rate = self.bw.times(hundredths).times(PACING_MARGIN);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pace_at(rate);
        }
    }

    /// §5.6.2 (SetPacingRate).
    pub(super) fn set_pacing_rate(&mut self) {
        self.set_pacing_rate_with_gain(self.pacing_gain);
    }

    /// §5.6.3 (SetSendQuantum).
    pub(super) fn set_send_quantum(&mut self) {
        let quantum = self.pacing_rate.carries(Span::from_millis(1));
        self.send_quantum = quantum.min(MOST_QUANTUM).max(2 * self.mss);
    }

    /// Updates the quantities that follow from the state and the model, which seldom move; with §5.6.4.2 (UpdateMaxInflight).
    #[inline(never)]
    pub(super) fn settle(&mut self) {
        self.set_pacing_rate();
        self.set_send_quantum();
        self.bdp = self.bdp_multiple(self.bw, 100);
        let wanted = self.bdp_multiple(self.bw, self.cwnd_gain) + self.extra_acked;
        self.max_inflight = self.quantization_budget(wanted);
        self.is_settled = true;
    }

    /// Whether settling again would change nothing.
    pub(super) fn would_stay(&mut self) -> bool {
        let follows = |bbr: &Bbr3| (bbr.pacing_rate, bbr.send_quantum, bbr.bdp, bbr.max_inflight);
        let before = follows(self);
        self.settle();
        before == follows(self)
    }

    /// §5.6.4.6 (SetCwnd).
    pub(super) fn set_cwnd(&mut self, rs: &Sample) {
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + rs.newly_acked).min(self.max_inflight);
        } else if self.cwnd < self.max_inflight || self.delivered < self.initial_window {
            self.cwnd += rs.newly_acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// §5.6.4.5 (ProbeRTTCwnd) [B].
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.bw, 50).max(self.min_pipe_cwnd())
    }

    /// §5.6.4.7 (BoundCwndForModel).
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeRtt | State::ProbeBwCruise => self.inflight_with_headroom(),
            state if state.is_probe_bw() => self.inflight_longterm,
            _ => INFINITE,
        };
        let cap = cap.min(self.inflight_shortterm).max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap);
    }
}
