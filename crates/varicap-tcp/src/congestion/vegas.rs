//! A window that keeps a few packets in the bottleneck's queue, as the RTT shows. Source: [brakmo95].
//!
//! A window of cwnd takes `rtt` where an empty path would take `base`, the least RTT seen, so that
//! `cwnd * (rtt - base) / rtt` of it wait in a queue. Once per round trip, by the least RTT of the last one, the window
//! opens by a segment if less than alpha waits, and closes by one if more than beta does. Slow start doubles the window
//! in every other round, and ends when more than gamma waits. Losses are answered as Reno does.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Span, Time};

use super::{AckSample, CongestionControl, CongestionEvent, Reno, RenoConfig, Start, kernels_own};

/// RTT samples that a round needs to be judged by them; with fewer, a delayed acknowledgement may be all there is.
const ENOUGH_SAMPLES: u32 = 3;

/// How much may wait in the bottleneck's queue. Source: [brakmo95, §3.2].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VegasConfig {
    /// With less than this in the queue, the window opens. Default: 2 packets (Linux).
    pub alpha: Amount,
    /// With more than this in the queue, the window closes. Default: 4 packets (Linux).
    pub beta: Amount,
    /// With more than this in the queue, slow start ends. Default: 1 packets (Linux).
    pub gamma: Amount,
}

impl Default for VegasConfig {
    fn default() -> VegasConfig {
        let packets = Amount::Packets;
        VegasConfig { alpha: packets(2), beta: packets(4), gamma: packets(1) }
    }
}

impl Part for VegasConfig {
    fn check(&self) -> Checked {
        for (key, amount) in [("alpha", self.alpha), ("beta", self.beta), ("gamma", self.gamma)] {
            let whole = matches!(amount, Amount::Packets(packets) if packets <= u64::from(u32::MAX));
            part::require(key, whole, amount, "whole packets, such as \"2 packets\"")?;
        }
        let (alpha, beta) = (backlog(self.alpha, 1), backlog(self.beta, 1));
        part::require("alpha", alpha <= beta, self.alpha, format!("at most `beta`, {}", self.beta))
    }

    fn on_kernel(&self) -> OnKernel {
        kernels_own("vegas", self)
    }
}

/// `amount` as payload in segments of `mss` [B].
fn backlog(amount: Amount, mss: u64) -> u64 {
    amount.bytes(Bytes::new(mss), Bytes::ZERO).as_u64()
}

/// [brakmo95]'s window.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// Falls at losses, and doubles in slow start.
    reno: Reno,
    mss: u64,
    /// In payload [B].
    alpha: u64,
    beta: u64,
    gamma: u64,
    /// The round under way, its least RTT and its samples.
    round: u64,
    least: Span,
    samples: u32,
}

impl Vegas {
    /// A window that starts as `start` says.
    pub fn new(config: &VegasConfig, start: &Start) -> Vegas {
        let mss = start.mss.as_u64();
        Vegas {
            reno: Reno::new(&RenoConfig::default(), start),
            mss,
            alpha: backlog(config.alpha, mss),
            beta: backlog(config.beta, mss),
            gamma: backlog(config.gamma, mss),
            round: 0,
            least: Span::MAX,
            samples: 0,
        }
    }

    fn is_slow_start(&self) -> bool {
        self.reno.cwnd < self.reno.ssthresh
    }

    /// The part of the window that waits in the queue if a round trip takes `rtt`, and `base` without a queue [B].
    fn waiting(&self, rtt: Span, base: Span) -> u64 {
        let (rtt, base) = (u128::from(rtt.as_nanos().max(1)), u128::from(base.as_nanos()));
        u64::try_from(u128::from(self.reno.cwnd) * rtt.saturating_sub(base) / rtt).unwrap_or(u64::MAX)
    }

    /// A round has ended in which `rtt` was the least RTT.
    fn judge(&mut self, rtt: Span, base: Span, app_limited: bool) {
        let waiting = self.waiting(rtt, base);
        if self.is_slow_start() {
            if waiting > self.gamma {
                // [brakmo95, §3.3]: leave, with the window that fills the path and little more.
                let window = (self.reno.cwnd - waiting + self.mss).min(self.reno.cwnd).max(2 * self.mss);
                self.reno.ssthresh = window;
                self.reno.set(window);
            }
        } else if waiting > self.beta {
            self.reno.set((self.reno.cwnd - self.mss).max(2 * self.mss));
        } else if waiting < self.alpha && !app_limited {
            self.reno.set(self.reno.cwnd + self.mss);
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
        if ack.round != self.round {
            self.round = ack.round;
            if let (true, Some(base)) = (self.samples >= ENOUGH_SAMPLES, ack.min_rtt) {
                self.judge(self.least, base, ack.app_limited);
            } else if !self.is_slow_start() && !ack.app_limited {
                // Too little is known: as Reno, a segment per round.
                self.reno.set(self.reno.cwnd + self.mss);
            }
            (self.least, self.samples) = (Span::MAX, 0);
        }
        // [brakmo95, §3.3]: between two rounds of growth one in which the window is fixed, and can be compared.
        if self.is_slow_start() && self.round % 2 == 1 && !ack.app_limited {
            self.reno.slow_start(ack.newly_acked.as_u64());
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.reno.on_congestion(event);
        (self.least, self.samples) = (Span::MAX, 0);
    }

    fn on_undo(&mut self, now: Time) {
        self.reno.on_undo(now);
        (self.least, self.samples) = (Span::MAX, 0);
    }

    fn cap(&mut self, most: Bytes) {
        self.reno.cap(most);
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.reno.on_kept(in_flight);
    }

    fn on_unused(&mut self, window: Bytes) {
        self.reno.on_unused(window);
        (self.least, self.samples) = (Span::MAX, 0);
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.reno.on_idle(restart_window);
        (self.least, self.samples) = (Span::MAX, 0);
    }

    fn cwnd(&self) -> Bytes {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.reno.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{CongestionKind, Counting, Rounding};

    const MSS: u64 = 1000;

    fn window(segments: u64, ssthresh: u64) -> Vegas {
        let bytes = |segments: u64| Bytes::new(segments * MSS);
        Vegas::new(
            &VegasConfig::default(),
            &Start {
                mss: Bytes::new(MSS),
                packet: Bytes::new(MSS + 40),
                initial_window: bytes(segments),
                initial_ssthresh: bytes(ssthresh),
                counting: Counting::Acks,
                rounding: Rounding::None,
            },
        )
    }

    /// A round of ten acknowledged segments, each after `rtt` ms where the least ever was 100 ms; cwnd when it is over.
    fn round(vegas: &mut Vegas, number: u64, rtt: u64) -> u64 {
        for acknowledged in 0..10 {
            vegas.on_ack(&AckSample {
                newly_acked: Bytes::new(MSS),
                rtt: Some(Span::from_millis(rtt)),
                min_rtt: Some(Span::from_millis(100)),
                round: number + u64::from(acknowledged == 9),
                ..AckSample::at(Time::ZERO)
            });
        }
        vegas.cwnd().as_u64() / MSS
    }

    #[test]
    fn the_window_opens_below_alpha_closes_above_beta_and_rests_between() {
        let mut vegas = window(20, 10);
        // 20 (101 - 100) / 101: a fifth of a packet waits.
        assert_eq!(round(&mut vegas, 0, 101), 21);
        // 21 * 20 / 120 = 3.5.
        assert_eq!(round(&mut vegas, 1, 120), 21);
        // 21 * 40 / 140 = 6.
        assert_eq!(round(&mut vegas, 2, 140), 20);
    }

    #[test]
    fn slow_start_doubles_in_every_other_round_and_ends_above_gamma() {
        let mut vegas = window(10, 1000);
        assert_eq!(round(&mut vegas, 0, 100), 11); // its last acknowledgement begins round 1
        assert_eq!(round(&mut vegas, 1, 100), 20);
        assert_eq!(round(&mut vegas, 2, 100), 21);
        // 30 * 10 / 110: 2.7 packets wait, more than gamma. The path holds 27.3, and one more is to wait.
        round(&mut vegas, 3, 110);
        assert_eq!((vegas.is_slow_start(), vegas.cwnd()), (false, Bytes::new(28_273)));
    }

    #[test]
    fn a_loss_halves_what_is_in_flight_and_a_timeout_leaves_a_segment() {
        let mut vegas = window(20, 10);
        let lost = |kind| CongestionEvent { now: Time::ZERO, kind, in_flight: Bytes::new(20 * MSS) };
        vegas.on_congestion(&lost(CongestionKind::FastRetransmit));
        assert_eq!(vegas.cwnd(), Bytes::new(10 * MSS));
        vegas.on_congestion(&lost(CongestionKind::Timeout { backoff: 0 }));
        assert_eq!(vegas.cwnd(), Bytes::new(MSS));
    }

    #[test]
    fn a_round_of_few_samples_is_one_of_reno() {
        let mut vegas = window(20, 10);
        vegas.on_ack(&AckSample {
            newly_acked: Bytes::new(MSS),
            rtt: Some(Span::from_millis(900)),
            min_rtt: Some(Span::from_millis(100)),
            round: 1,
            ..AckSample::at(Time::ZERO)
        });
        assert_eq!(vegas.cwnd(), Bytes::new(21 * MSS));
    }

    #[test]
    fn thresholds_are_whole_packets_in_order() {
        let faulty = |alpha| VegasConfig { alpha, ..VegasConfig::default() }.check().unwrap_err().key;
        assert_eq!(faulty(Amount::Packets(5)), "alpha");
        assert_eq!(faulty(Amount::Bytes(Bytes::new(100))), "alpha");
        assert_eq!(VegasConfig::default().check(), Ok(()));
    }
}
