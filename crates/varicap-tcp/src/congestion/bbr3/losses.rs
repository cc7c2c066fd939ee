//! The effects of losses on the model, and how they are undone. Source: draft-ietf-ccwg-bbr-06 §5.5.10, §5.5.11, §5.6.4.4.

use varicap_units::Time;

use super::states::State;
use super::{Bandwidth, Bbr3, Episode, INFINITE, Loss, Sample};
use crate::congestion::bandwidth::hundredths_of;

/// §2.8: BBR.Beta, in hundredths.
const BETA: u64 = 70;

/// §2.8: the inverse of BBR.LossThresh, 2 %.
const INVERSE_LOSS_THRESH: u64 = 50;

/// §5.3.1.3: BBRStartupFullLossCnt.
const STARTUP_FULL_LOSS_CNT: u32 = 6;

impl Bbr3 {
    /// §5.5.10.2 (HandleLostPacket).
    pub(super) fn handle_lost_packet(&mut self, now: Time, loss: &Loss) {
        self.delivered = self.delivered.max(loss.delivered.as_u64());
        self.note_loss();
        if loss.seq != self.lost_to {
            self.lost_ranges += 1;
        }
        self.lost_to = loss.seq + loss.size.as_u64();
        if !self.is_bw_probe_sample {
            return;
        }
        let (tx_in_flight, lost) = (loss.in_flight.as_u64(), loss.lost.as_u64());
        if self.is_inflight_too_high(tx_in_flight, lost) {
            let at_loss = inflight_at_loss(loss.size.as_u64(), tx_in_flight, lost);
            self.handle_inflight_too_high(now, at_loss, loss.app_limited);
        }
    }

    /// §5.5.10.2 (NoteLoss).
    fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.lost_ranges = 0;
        }
        if self.episode == Episode::None {
            self.save_state_upon_loss();
            self.episode = Episode::Noted;
        }
        self.is_loss_in_round = true;
    }

    /// §5.5.10.2 (IsInflightTooHigh).
    fn is_inflight_too_high(&self, tx_in_flight: u64, lost: u64) -> bool {
        lost * INVERSE_LOSS_THRESH > tx_in_flight || (lost > 0 && !self.has_selective_acks)
    }

    /// The same of the packet that was just acknowledged.
    pub(super) fn is_sample_too_high(&self, rs: &Sample) -> bool {
        self.is_inflight_too_high(rs.tx_in_flight, rs.lost)
    }

    /// §5.5.10.2 (HandleInflightTooHigh).
    fn handle_inflight_too_high(&mut self, now: Time, tx_in_flight: u64, is_app_limited: bool) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !is_app_limited {
            self.inflight_longterm = tx_in_flight.max(hundredths_of(self.target_inflight(), BETA));
        }
        if self.state == State::ProbeBwUp {
            self.undo_state = Some(State::ProbeBwUp);
            self.start_probe_bw_down(now);
        }
    }

    /// §3.7: a mark is congestion. It counts as a loss that exceeds the threshold.
    pub(super) fn handle_mark(&mut self, now: Time, in_flight: u64) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
        }
        self.is_loss_in_round = true;
        if self.state == State::Startup {
            self.full_bw_reached = true;
            self.is_settled = false;
            self.inflight_longterm = self.bdp.max(self.inflight_latest);
        } else if self.is_bw_probe_sample {
            self.handle_inflight_too_high(now, in_flight, false);
        }
    }

    /// §5.3.1.3 (CheckStartupHighLoss): many losses in a round of fast recovery, or any in fast recovery where acknowledgements
    /// say of no more than one.
    pub(super) fn check_startup_high_loss(&mut self, rs: &Sample) {
        if self.state != State::Startup {
            return;
        }
        let is_too_high = if self.has_selective_acks {
            self.loss_round_start
                && std::mem::take(&mut self.lost_ranges) >= STARTUP_FULL_LOSS_CNT
                && self.is_sample_too_high(rs)
        } else {
            std::mem::take(&mut self.lost_ranges) > 0
        };
        if self.episode == Episode::FastRecovery && is_too_high {
            self.undo_state = Some(State::Startup);
            self.full_bw_reached = true;
            self.is_settled = false;
            self.inflight_longterm = self.bdp.max(self.inflight_latest);
        }
    }

    /// §5.5.10.3 (UpdateCongestionSignals).
    pub(super) fn update_congestion_signals(&mut self, rs: &Sample) {
        self.update_max_bw(rs);
        if self.loss_round_start {
            self.adapt_lower_bounds_from_congestion();
            self.is_loss_in_round = false;
        }
    }

    /// §5.5.10.3 (AdaptLowerBoundsFromCongestion, InitLowerBounds, LossLowerBounds).
    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.state.is_probing_bw() || !self.is_loss_in_round {
            return;
        }
        if self.bw_shortterm == Bandwidth::INFINITE {
            self.bw_shortterm = self.max_bw;
        }
        if self.inflight_shortterm == INFINITE {
            self.inflight_shortterm = self.cwnd;
        }
        self.bw_shortterm = self.bw_latest.max(self.bw_shortterm.times(BETA));
        self.inflight_shortterm = self.inflight_latest.max(hundredths_of(self.inflight_shortterm, BETA));
    }

    /// §5.5.10.3 (ResetCongestionSignals).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = Bandwidth::ZERO;
        self.inflight_latest = 0;
    }

    /// §5.5.10.3 (ResetShortTermModel).
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = Bandwidth::INFINITE;
        self.inflight_shortterm = INFINITE;
    }

    /// A recovery begins, of losses that were noted already or not.
    pub(super) fn begin_episode(&mut self, episode: Episode) {
        if self.episode == Episode::None {
            self.save_state_upon_loss();
        } else {
            self.save_cwnd();
        }
        self.episode = episode;
    }

    /// §5.6.4.4: all losses are repaired.
    pub(super) fn end_episode(&mut self) {
        if self.episode != Episode::Noted {
            self.restore_cwnd();
        }
        self.episode = Episode::None;
    }

    /// §5.5.11.1 (SaveStateUponLoss).
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo_state = None;
        self.undo_bw_shortterm = self.bw_shortterm;
        self.undo_inflight_shortterm = self.inflight_shortterm;
        self.undo_inflight_longterm = self.inflight_longterm;
    }

    /// §5.6.4.4 (SaveCwnd).
    pub(super) fn save_cwnd(&mut self) {
        let is_modulated =
            matches!(self.episode, Episode::FastRecovery | Episode::Timeout) || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// §5.6.4.4 (RestoreCwnd).
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// §5.5.11.2 (HandleSpuriousLossDetection).
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(self.undo_bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo_inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo_inflight_longterm);
        match self.undo_state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                (self.full_bw_reached, self.is_settled) = (false, false);
                if self.state != State::ProbeRtt {
                    self.enter(State::Startup);
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
        self.episode = Episode::None;
    }
}

/// §5.5.10.2 (InflightAtLoss): how much was in flight when losses crossed the threshold within a packet of `size` bytes [B].
/// Where they had before it, the draft's prefix is negative, and is taken for none.
fn inflight_at_loss(size: u64, tx_in_flight: u64, lost: u64) -> u64 {
    let inflight_prev = tx_in_flight.saturating_sub(size);
    let lost_prev = lost.saturating_sub(size);
    // (thresh * inflight_prev - lost_prev) / (1 - thresh), with 1 / thresh = 50.
    let excess = inflight_prev.saturating_sub(INVERSE_LOSS_THRESH * lost_prev);
    inflight_prev + excess / (INVERSE_LOSS_THRESH - 1)
}
