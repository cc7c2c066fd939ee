//! Slow start and additive increase, multiplicative decrease. Source: RFC 5681 §3.1; RFC 3465 (byte counting).

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Bytes, JsonSchema, Time};

use super::counting::{Limit, Steps, segments, slow_start_in_segments};
use super::hystart::{Hystart, HystartAck, SlowStart, SlowStartExit};
use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Counting, Rounding, Start, kernels_own,
};

/// How the window of RFC 5681 grows.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenoConfig {
    /// Appropriate byte counting: the most MSS that one ACK may add in slow start (RFC 3465's L), after timeouts too. Default: as the connection's `counting` says.
    pub byte_counting: Option<u32>,
    /// By how much congestion avoidance opens the window. Default: per-window (what RFC 5681 §3.1 recommends).
    pub increase: Increase,
    /// Whether a window that equals ssthresh opens as in slow start, once more by a segment (RFC 5681 §3.1 allows both).
    /// Default: false (4.3BSD: true).
    pub slow_start_at_ssthresh: bool,
    /// When slow start ends before a loss. Default: none (RFC 5681).
    pub hystart: Hystart,
}

/// By how much congestion avoidance opens the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Increase {
    /// A segment when a window's worth of acknowledgements is in, counted as the connection's `counting` says.
    #[default]
    PerWindow,
    /// SMSS*SMSS/cwnd at each acknowledgement, as ns-2: less than a segment per window while windows are small. Source: RFC 5681 (3).
    PerAck,
    /// The same and an eighth of a segment more: 4.3BSD-Reno, until 1994. RFC 5681 §3.1 forbids it.
    PerAckAndEighth,
}

impl Part for RenoConfig {
    fn check(&self) -> Checked {
        self.byte_counting.map_or(Ok(()), |most| part::at_least_one("byte_counting", most))?;
        self.hystart.check().map_err(|fault| fault.within("hystart"))
    }
    fn on_kernel(&self) -> OnKernel {
        kernels_own("reno", self)
    }
}

/// Parts of a byte that are carried over when each acknowledgement opens the window.
const PARTS: u64 = 1 << 16;

/// RFC 5681's window.
#[derive(Clone, Debug)]
pub struct Reno {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// Acknowledged data that has not yet opened the window [B]; per ACK the part of a byte that it has not [B/PARTS].
    credit: u64,
    /// How much of it opens the window to the next whole segment [B].
    goal: u64,
    mss: u64,
    /// Most that one acknowledgement adds in slow start.
    slow_start_limit: Limit,
    /// Most that one acknowledgement counts in congestion avoidance [B].
    avoidance_limit: u64,
    per_ack: bool,
    /// An acknowledgement adds an eighth of a segment beyond that.
    adds_eighth: bool,
    /// Slow start takes in a window that equals ssthresh.
    at_ssthresh: bool,
    rounding: Rounding,
    /// Windows and acknowledgements are counted in whole segments.
    in_segments: bool,
    /// Congestion avoidance is not the usual one: either of the two above.
    is_special: bool,
    /// The state to restore if the last reduction was spurious.
    pub(super) prior: Prior,
    /// In a box, since few have rules for it, and there may be 100,000 of them.
    exit: Option<Box<SlowStartExit>>,
}

/// A window and a threshold before a reduction [B]; zero: nothing to restore.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prior {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
}

impl Prior {
    /// The state that undoing a reduction from `cwnd` restores. A window in congestion avoidance keeps three quarters of itself
    /// as its threshold, as in Linux.
    pub(super) fn of(cwnd: u64, ssthresh: u64) -> Prior {
        Prior { cwnd, ssthresh: remembering(cwnd, ssthresh) }
    }
}

/// The threshold up to which slow start leads back to a window of `cwnd` bytes that falls for no loss: three quarters of it,
/// or what the threshold was. Source: RFC 2861 §3.1.
pub(super) fn remembering(cwnd: u64, ssthresh: u64) -> u64 {
    ssthresh.max(cwnd / 2 + cwnd / 4)
}

impl Reno {
    /// A window that starts as `start` says.
    pub fn new(config: &RenoConfig, start: &Start) -> Reno {
        let mss = start.mss.as_u64();
        let slow_start_limit = match config.byte_counting {
            Some(segments) => Limit::fixed(u64::from(segments.max(1)) * mss),
            None => Limit::new(start.counting, mss),
        };
        let counts_acks = config.byte_counting.is_none() && start.counting == Counting::Acks;
        let per_ack = config.increase != Increase::PerWindow;
        let in_segments = config.byte_counting.is_none() && start.counting == Counting::Segments;
        let mut reno = Reno {
            cwnd: 0,
            ssthresh: start.initial_ssthresh.as_u64(),
            credit: 0,
            goal: 0,
            mss,
            slow_start_limit,
            avoidance_limit: if counts_acks { mss } else { u64::MAX },
            per_ack,
            adds_eighth: config.increase == Increase::PerAckAndEighth,
            at_ssthresh: config.slow_start_at_ssthresh,
            rounding: start.rounding,
            in_segments,
            is_special: per_ack || in_segments,
            prior: Prior::default(),
            exit: SlowStartExit::boxed(config.hystart),
        };
        reno.set(start.initial_window.as_u64());
        reno
    }

    /// Sets the window. From there it opens in steps to whole segments, which is when it shows; the first step is
    /// shorter, and comes sooner, if the window has a fraction of one.
    pub(super) fn set(&mut self, cwnd: u64) {
        self.cwnd = self.whole(cwnd).max(self.mss);
        self.credit = 0;
        let step = self.mss - self.cwnd % self.mss;
        self.goal = if step == self.mss { self.cwnd } else { self.cwnd.saturating_mul(step) / self.mss };
    }

    #[inline(never)]
    fn step(&mut self) {
        self.cwnd += self.mss - self.cwnd % self.mss;
        // Nothing is lost to rounding, but one ACK is worth one step at most.
        self.credit = (self.credit - self.goal).min(self.cwnd);
        self.goal = self.cwnd;
    }

    /// `bytes`, down to whole segments if these are counted.
    fn whole(&self, bytes: u64) -> u64 {
        if self.in_segments { bytes / self.mss * self.mss } else { bytes }
    }

    /// RFC 5681 (2). What is left for congestion avoidance [B].
    #[inline]
    pub(super) fn slow_start(&mut self, acked: u64) -> u64 {
        if self.in_segments {
            return self.slow_start_in_segments(acked);
        }
        self.open_to_ssthresh(self.slow_start_limit.of(acked));
        0
    }

    #[inline]
    fn open_to_ssthresh(&mut self, bytes: u64) {
        let opened = self.cwnd + bytes;
        if self.at_ssthresh && self.cwnd == self.ssthresh {
            return self.set(opened);
        }
        self.cwnd = opened.min(self.ssthresh);
        if opened >= self.ssthresh {
            self.slow_start_limit.on_end_of_slow_start();
            self.set(self.ssthresh);
        }
    }

    /// Slow start that may end before ssthresh. What is left for congestion avoidance [B]. The sample comes in parts, so
    /// that it need not be gathered for a window that is not in slow start.
    #[cold]
    fn slow_start_with_exit(&mut self, ack: HystartAck) -> u64 {
        let outcome = self.exit.as_mut().map_or(SlowStart::Continue, |exit| exit.on_ack(&ack));
        match outcome {
            SlowStart::Continue => self.slow_start(ack.acked),
            SlowStart::Open(bytes) if self.in_segments => self.slow_start_in_segments(bytes),
            SlowStart::Open(bytes) => {
                self.open_to_ssthresh(bytes);
                0
            }
            SlowStart::Exit => {
                self.ssthresh = self.cwnd;
                self.slow_start(ack.acked)
            }
        }
    }

    /// As Linux: a segment for each that was acknowledged, up to ssthresh. What is left for congestion avoidance [B].
    #[cold]
    fn slow_start_in_segments(&mut self, acked: u64) -> u64 {
        let (used, rest) = slow_start_in_segments(acked, self.cwnd, self.ssthresh, self.mss);
        self.cwnd += used;
        rest
    }

    /// RFC 5681 §3.1: a segment per window. RFC 3465 §2.1 counts the acknowledged bytes instead of the ACKs.
    #[inline(always)]
    pub(super) fn avoid_congestion(&mut self, acked: u64) {
        if self.is_special {
            // Almost always: a whole segment or two, after which the window stays as it is.
            let credit = self.credit + acked;
            let is_whole = acked == self.mss || acked == 2 * self.mss;
            if is_whole && credit < self.cwnd && !self.per_ack {
                self.credit = credit;
                return;
            }
            return self.avoid_specially(acked);
        }
        self.credit += acked.min(self.avoidance_limit);
        if self.credit >= self.goal {
            self.step();
        }
    }

    #[inline(never)]
    fn avoid_specially(&mut self, acked: u64) {
        if self.per_ack {
            return self.open_per_ack(acked);
        }
        let mut steps = Steps { window: self.cwnd, credit: self.credit, segment: self.mss };
        steps.advance(self.cwnd, segments(acked, self.mss) * self.mss);
        (self.cwnd, self.credit) = (steps.window, steps.credit);
    }

    /// RFC 5681 (3): SMSS*SMSS/cwnd per ACK.
    fn open_per_ack(&mut self, acked: u64) {
        let opened =
            acked.min(self.avoidance_limit).saturating_mul(self.mss * PARTS) / self.cwnd + self.credit;
        let eighth = if self.adds_eighth { self.mss / 8 } else { 0 };
        self.cwnd += (opened / PARTS).min(self.mss) + eighth;
        self.credit = opened % PARTS;
    }

    /// ssthresh falls. The window that goes with it [B].
    fn halve(&mut self, in_flight: Bytes) -> u64 {
        let half = in_flight.as_u64() / 2;
        let rounded =
            if self.rounding == Rounding::None { self.whole(half) } else { half / self.mss * self.mss };
        // RFC 5681 (4): ssthresh = max(FlightSize / 2, 2*SMSS).
        self.ssthresh = rounded.max(2 * self.mss);
        if self.rounding == Rounding::Ssthresh { half } else { self.ssthresh }
    }
}

impl CongestionControl for Reno {
    #[inline(always)]
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.app_limited {
            return;
        }
        let mut acked = ack.newly_acked.as_u64();
        if self.cwnd < self.ssthresh || self.at_ssthresh && self.cwnd == self.ssthresh {
            acked = if self.exit.as_ref().is_some_and(|exit| exit.is_on()) {
                let unit = if self.in_segments { self.mss } else { 1 };
                self.slow_start_with_exit(HystartAck::of(ack, self.cwnd, self.mss, unit))
            } else {
                self.slow_start(acked)
            };
            if acked == 0 {
                return;
            }
        }
        self.avoid_congestion(acked);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.prior = match event.kind {
            CongestionKind::FastRetransmit | CongestionKind::Timeout { backoff: 0 } => {
                Prior::of(self.cwnd, self.ssthresh)
            }
            // The reduction by the first expiry is what may have been spurious.
            CongestionKind::Timeout { .. } => self.prior,
            // An echo is no guess.
            CongestionKind::EcnEcho => Prior::default(),
        };
        if let Some(exit) = &mut self.exit {
            exit.on_congestion(event.now, event.kind);
        }
        match event.kind {
            CongestionKind::FastRetransmit => {
                let window = self.halve(event.in_flight);
                self.set(window);
            }
            CongestionKind::EcnEcho => {
                let window = self.halve(event.in_flight);
                // RFC 3168 §6.1.2: an echo opens no window, not even that of a single segment.
                self.set(window.min(self.cwnd));
            }
            CongestionKind::Timeout { backoff } => {
                // RFC 5681 §3.1: a segment that times out again holds ssthresh constant.
                if backoff == 0 {
                    self.halve(event.in_flight);
                }
                self.slow_start_limit.on_timeout();
                self.set(self.mss);
            }
        }
    }

    fn on_undo(&mut self, _now: Time) {
        let prior = std::mem::take(&mut self.prior);
        self.ssthresh = self.ssthresh.max(prior.ssthresh);
        if prior.cwnd > self.cwnd {
            self.set(prior.cwnd);
        }
    }

    fn cap(&mut self, most: Bytes) {
        if most.as_u64() < self.cwnd {
            self.set(most.as_u64());
        }
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.set(self.mss + in_flight.as_u64());
    }

    fn on_unused(&mut self, window: Bytes) {
        self.ssthresh = remembering(self.cwnd, self.ssthresh);
        self.on_idle(window);
    }

    fn on_paced(&mut self) {
        if let Some(exit) = &mut self.exit {
            exit.on_paced();
        }
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.set(self.cwnd.min(restart_window.as_u64()));
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    #[inline]
    fn ssthresh(&self) -> Option<Bytes> {
        Some(Bytes::new(self.ssthresh))
    }
}
