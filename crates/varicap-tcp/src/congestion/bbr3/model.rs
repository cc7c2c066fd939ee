//! The model of the path. Source: draft-ietf-ccwg-bbr-06 §5.5.

use varicap_units::{Span, Time};

use super::states::State;
use super::{Bandwidth, Bbr3, Sample};
use crate::congestion::bandwidth::hundredths_of;

/// §2.16.1: BBR.MinRTTFilterLen.
const MIN_RTT_FILTER_LEN: Span = Span::from_secs(10);

/// §2.16.2: BBR.ProbeRTTInterval.
pub(super) const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);

impl Bbr3 {
    /// §5.5.1 (UpdateRound).
    fn update_round(&mut self, rs: &Sample) {
        self.round_start = rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
    }

    /// §5.5.1 (StartRound).
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// §5.5.5 (UpdateMaxBw).
    pub(super) fn update_max_bw(&mut self, rs: &Sample) {
        self.update_round(rs);
        let counts = rs.delivery_rate >= self.max_bw || !rs.is_app_limited;
        if rs.delivery_rate > Bandwidth::ZERO && counts {
            self.max_bw_filter.take(self.cycle_count, rs.delivery_rate);
            self.max_bw = self.max_bw_filter.largest();
        }
    }

    /// §5.5.6 (AdvanceMaxBwFilter).
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
    }

    /// §5.2.1 (OnInit): the first least round trip is that of the handshake, from before data left. A SYN waits for no full
    /// packet to be served.
    pub(super) fn init_min_rtt(&mut self, least: Span, rs: &Sample) {
        let took = rs.rtt.unwrap_or(Span::ZERO);
        (self.min_rtt, self.min_rtt_stamp) = (least, Time::ZERO + (rs.now - Time::ZERO).saturating_sub(took));
        self.is_settled = false;
    }

    /// §5.3.4.3 (UpdateMinRTT).
    pub(super) fn update_min_rtt(&mut self, rs: &Sample) {
        // A value that has not been measured yet cannot be out of date, whenever the connection opened.
        let is_measured = self.probe_rtt_min_delay < Span::MAX;
        self.probe_rtt_expired = is_measured && rs.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = rs.rtt
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            self.probe_rtt_min_delay = rtt;
            self.probe_rtt_min_stamp = rs.now;
        }
        let min_rtt_expired = rs.now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if self.probe_rtt_min_delay < self.min_rtt || min_rtt_expired {
            self.is_settled &= self.min_rtt == self.probe_rtt_min_delay;
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// §5.5.9 (UpdateACKAggregation).
    pub(super) fn update_ack_aggregation(&mut self, rs: &Sample) {
        let mut expected = self.bw.carries(rs.now.since(self.extra_acked_interval_start));
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_interval_start = rs.now;
            expected = 0;
        }
        self.extra_acked_delivered += rs.newly_acked;
        let extra = self.extra_acked_delivered.saturating_sub(expected).min(self.cwnd);
        self.extra_acked_filter.take(self.round_count, extra);
        // §2.12: in Startup, one round is remembered.
        let extra_acked = if self.full_bw_reached {
            self.extra_acked_filter.largest()
        } else {
            self.extra_acked_filter.largest_of_last()
        };
        if extra_acked != self.extra_acked {
            (self.extra_acked, self.is_settled) = (extra_acked, false);
        }
    }

    /// §5.3.1.2 (ResetFullBW).
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = Bandwidth::ZERO;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// §5.3.1.2 (CheckFullBWReached).
    pub(super) fn check_full_bw_reached(&mut self, rs: &Sample) {
        if self.full_bw_now || !self.round_start || rs.is_app_limited {
            return;
        }
        if rs.delivery_rate >= self.full_bw.times(125) {
            self.reset_full_bw();
            self.full_bw = rs.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
        self.is_settled = false;
    }

    /// §5.5.10.3 (UpdateLatestDeliverySignals).
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &Sample) {
        self.bw_latest = self.bw_latest.max(rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        self.loss_round_start = rs.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = self.delivered;
        }
    }

    /// §5.5.10.3 (AdvanceLatestDeliverySignals).
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &Sample) {
        if self.loss_round_start {
            self.bw_latest = rs.delivery_rate;
            self.inflight_latest = rs.delivered;
        }
    }

    /// §5.5.10.3 (BoundBWForModel).
    pub(super) fn bound_bw_for_model(&mut self) {
        let bw = self.max_bw.min(self.bw_shortterm);
        if bw != self.bw {
            (self.bw, self.is_settled) = (bw, false);
        }
    }

    /// §5.6.4.2 (BDPMultiple): `hundredths` of the BDP at `bw` [B].
    pub(super) fn bdp_multiple(&self, bw: Bandwidth, hundredths: u64) -> u64 {
        if self.min_rtt == Span::MAX {
            return self.initial_window;
        }
        hundredths_of(bw.carries(self.min_rtt), hundredths)
    }

    /// §5.6.4.2 (QuantizationBudget), with §5.5.8.1 (UpdateOffloadBudget).
    pub(super) fn quantization_budget(&self, inflight_cap: u64) -> u64 {
        let offload_budget = self.offload_quanta * self.send_quantum;
        let extra = if self.state == State::ProbeBwUp { 2 * self.mss } else { 0 };
        inflight_cap.max(offload_budget).max(self.min_pipe_cwnd()) + extra
    }

    /// §5.6.4.2 (Inflight): what fills `hundredths` of the BDP at `bw`, with its budget [B].
    pub(super) fn inflight(&self, bw: Bandwidth, hundredths: u64) -> u64 {
        self.quantization_budget(self.bdp_multiple(bw, hundredths))
    }

    /// §5.3.3.8 (TargetInflight) [B].
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp.min(self.cwnd)
    }
}
