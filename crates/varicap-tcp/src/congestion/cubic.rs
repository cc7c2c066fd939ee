//! A window that is a cubic function of the time since the last congestion event. Source: RFC 9438.
//!
//! In segments and seconds: `W(t) = C (t - K)^3 + W_max` with `K = cbrt((W_max - cwnd_epoch) / C)`. Each
//! acknowledged segment moves cwnd by `(target - cwnd) / cwnd`, where `target = W(t + RTT)` lies in
//! `[cwnd, 1.5 cwnd]`; where Reno would be faster, cwnd follows the estimate of Reno's window.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Bytes, JsonSchema, Span, Time};

use super::counting::{Limit, segments, slow_start_in_segments};
use super::cubic_linux::{Linux, MOST_HERTZ};
use super::hystart::{Hystart, HystartAck, SlowStart, SlowStartExit};
use super::reno::remembering;
use super::{AckSample, CongestionControl, CongestionEvent, CongestionKind, Counting, Start, kernels_own};

/// Largest C, with which a window grows by a million segments in the first second beyond its plateau [MSS/s^3].
const MOST_C: f64 = 1e6;
/// The constants of RFC 9438.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CubicConfig {
    /// Multiplicative decrease factor. Default: 0.7 (RFC 9438 §4.6).
    pub beta: f64,
    /// Scaling constant C [MSS/s^3]. Default: 0.4 (RFC 9438 §5.1).
    pub c: f64,
    /// Fast convergence (RFC 9438 §4.7). Default: true.
    pub fast_convergence: bool,
    /// At least as fast as Reno (RFC 9438 §4.3). Default: true.
    pub reno_friendly: bool,
    /// By how much the estimate of Reno's window grows. Default: rfc9438.
    pub alpha: Alpha,
    /// The numbers that congestion avoidance computes with. Default: rfc9438.
    pub arithmetic: Arithmetic,
    /// Ticks per second of the clock by which it computes with `arithmetic = "linux"`, 1 to 1000. Default: 1000 (most Linux
    /// hosts: 250).
    pub hertz: u32,
    /// When slow start ends before a loss. Default: none.
    pub hystart: Hystart,
}

/// By how much CUBIC's estimate of Reno's window grows per round trip, in its Reno-friendly region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Alpha {
    /// 3(1-beta)/(1+beta) of a segment, and a whole one beyond the window before the last reduction. Source: RFC 9438 §4.3.
    #[default]
    Rfc9438,
    /// 3(1-beta)/(1+beta) of a segment, about 0.53, indefinitely: Linux, RFC 8312.
    Constant,
}

/// The numbers that CUBIC's congestion avoidance computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// Real ones. Source: RFC 9438.
    #[default]
    Rfc9438,
    /// Linux's: whole segments and ticks of a clock (`hertz`), `beta` in parts of 1024 (1 to 1023 of them), a step of a segment
    /// for at least two acknowledged ones, and nothing remembered over a timeout.
    Linux,
}

impl Default for CubicConfig {
    fn default() -> CubicConfig {
        CubicConfig {
            beta: 0.7,
            c: 0.4,
            fast_convergence: true,
            reno_friendly: true,
            alpha: Alpha::default(),
            arithmetic: Arithmetic::default(),
            hertz: MOST_HERTZ,
            hystart: Hystart::default(),
        }
    }
}

impl Part for CubicConfig {
    fn check(&self) -> Checked {
        part::require("beta", self.beta > 0.0 && self.beta < 1.0, self.beta, "between 0 and 1")?;
        part::require(
            "c",
            self.c > 0.0 && self.c <= MOST_C,
            self.c,
            format!("above 0 and at most {MOST_C}"),
        )?;
        let good = (1..=MOST_HERTZ).contains(&self.hertz);
        part::require("hertz", good, self.hertz, format!("1 to {MOST_HERTZ}"))?;
        self.hystart.check().map_err(|fault| fault.within("hystart"))
    }
    fn on_kernel(&self) -> OnKernel {
        if let Hystart::PlusPlus(_) = self.hystart {
            return OnKernel::Refused("Linux's CUBIC has its own HyStart, not HyStart++: simulator only");
        }
        // How much of Linux's behaviour the simulator has is not a setting of Linux's.
        let CubicConfig { alpha, arithmetic, hertz, hystart, .. } = CubicConfig::default();
        kernels_own("cubic", &CubicConfig { alpha, arithmetic, hertz, hystart, ..self.clone() })
    }
}

/// RFC 9438's window. Windows in segments, times in seconds; only sums, products and libm's cbrt, so that
/// results are the same on any machine.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    mss: u64,
    /// Most that one acknowledgement adds in slow start.
    limit: Limit,
    /// Acknowledged data beyond what slow start needs to reach ssthresh counts in congestion avoidance.
    spills: bool,
    /// The window [B], as the sender reads it.
    cwnd: u64,
    ssthresh: u64,
    /// The window with its fraction of a segment.
    window: f64,
    /// Window before the last reduction, lowered by fast convergence; none before the first.
    w_max: f64,
    /// Window before the last reduction.
    prior: f64,
    /// Time until the plateau [s].
    k: f64,
    /// Reno's window, had it seen the same events.
    w_est: f64,
    /// When this stage of congestion avoidance began; NEVER: it begins with the next acknowledgement.
    epoch: Time,
    /// When the last acknowledgement arrived; while app-limited the epoch moves along with it.
    last_ack: Time,
    /// Whether the epoch starts at the plateau (after a timeout, or when slow start ended without a loss).
    at_plateau: bool,
    /// The state to restore if the last reduction was spurious.
    undo: Option<Undo>,
    exit: SlowStartExit,
    /// Congestion avoidance as Linux computes it.
    linux: Option<Linux>,
}

/// The state that RFC 9438 §4.9 restores after a spurious reduction.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd: u64,
    ssthresh: u64,
    w_max: f64,
    prior: f64,
    k: f64,
    w_est: f64,
    epoch: Time,
    at_plateau: bool,
}

impl Cubic {
    /// A window that starts as `start` says.
    pub fn new(config: &CubicConfig, start: &Start) -> Cubic {
        let mss = start.mss.as_u64();
        let mut cubic = Cubic {
            config: config.clone(),
            mss,
            limit: Limit::new(start.counting, mss),
            spills: start.counting == Counting::Segments,
            cwnd: 0,
            ssthresh: start.initial_ssthresh.as_u64(),
            window: 0.0,
            w_max: 0.0,
            prior: 0.0,
            k: 0.0,
            w_est: 0.0,
            epoch: Time::NEVER,
            last_ack: Time::ZERO,
            at_plateau: true,
            undo: None,
            exit: SlowStartExit::new(config.hystart),
            linux: (config.arithmetic == Arithmetic::Linux).then(|| Linux::new(config)),
        };
        cubic.set_bytes(start.initial_window.as_u64());
        cubic
    }

    pub(super) fn set_bytes(&mut self, bytes: u64) {
        let whole = if self.linux.is_some() { bytes / self.mss * self.mss } else { bytes };
        self.cwnd = whole.max(self.mss);
        self.window = self.cwnd as f64 / self.mss as f64;
    }

    fn set_window(&mut self, segments: f64) {
        self.window = segments.max(1.0);
        self.cwnd = ((self.window * self.mss as f64) as u64).max(self.mss);
    }

    fn begin_epoch(&mut self, now: Time) {
        self.epoch = now;
        self.w_est = self.window;
        if self.at_plateau {
            // RFC 9438 §4.8 and §4.10: K = 0 and W_max = cwnd at the beginning of the stage.
            self.w_max = self.window;
            self.k = 0.0;
            self.at_plateau = false;
        } else {
            // RFC 9438 §4.2 (2). A window above W_max (a second start within an epoch) is on the convex side already.
            self.k = libm::cbrt((self.w_max - self.window).max(0.0) / self.config.c);
        }
    }

    /// RFC 9438 §4.2 (1), `elapsed` after the epoch began.
    fn w_cubic(&self, elapsed: Span) -> f64 {
        let t = elapsed.as_secs_f64() - self.k;
        self.config.c * t * t * t + self.w_max
    }

    /// RFC 5681 (2), unless it ends before ssthresh. What is left for congestion avoidance [B].
    fn slow_start(&mut self, ack: &AckSample) -> u64 {
        let acked = ack.newly_acked.as_u64();
        let unit = if self.linux.is_some() { self.mss } else { 1 };
        match self.exit.on_ack(&HystartAck::of(ack, self.cwnd, self.mss, unit)) {
            SlowStart::Continue => self.open(self.limit.of(acked)),
            SlowStart::Open(bytes) => self.open(bytes),
            SlowStart::Exit => {
                self.ssthresh = self.cwnd;
                self.open(self.limit.of(acked))
            }
        }
    }

    /// Slow start by up to `acked` bytes; returns what is left of them for congestion avoidance once ssthresh is reached [B].
    fn open(&mut self, acked: u64) -> u64 {
        let (used, rest) = if !self.spills {
            (if self.linux.is_some() { segments(acked, self.mss) * self.mss } else { acked }, 0)
        } else if self.linux.is_some() {
            slow_start_in_segments(acked, self.cwnd, self.ssthresh, self.mss)
        } else {
            let used = acked.min(self.ssthresh - self.cwnd);
            (used, acked - used)
        };
        self.set_bytes(self.cwnd + used);
        if self.cwnd >= self.ssthresh {
            self.limit.on_end_of_slow_start();
        }
        rest
    }

    fn avoid_congestion(&mut self, ack: &AckSample, acked: u64) {
        if let Some(linux) = &mut self.linux {
            let window = linux.advance(ack.now, self.cwnd / self.mss, segments(acked, self.mss));
            return self.set_bytes(window * self.mss);
        }
        if self.epoch.is_never() {
            self.begin_epoch(ack.now);
        }
        let acked = acked as f64 / self.mss as f64;
        let elapsed = ack.now.since(self.epoch);
        let window = self.window;
        // RFC 9438 §4.2: the target of one RTT ahead, within [cwnd, 1.5 cwnd].
        let ahead = elapsed.saturating_add(ack.smoothed_rtt.unwrap_or(Span::ZERO));
        let target = self.w_cubic(ahead).clamp(window, 1.5 * window);
        let mut next = window + (target - window) / window * acked;
        if self.config.reno_friendly {
            // RFC 9438 §4.3 (4): alpha makes AIMD(alpha, beta) as fast as Reno, until it is back at the old window.
            let beta = self.config.beta;
            let is_back = self.config.alpha == Alpha::Rfc9438 && self.w_est >= self.prior;
            let alpha = if is_back { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
            self.w_est += alpha * acked / window;
            if self.w_cubic(elapsed) < self.w_est {
                next = next.max(self.w_est);
            }
        }
        self.set_window(next);
    }

    fn snapshot(&self) -> Undo {
        Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            w_max: self.w_max,
            prior: self.prior,
            k: self.k,
            w_est: self.w_est,
            epoch: self.epoch,
            at_plateau: self.at_plateau,
        }
    }

    /// RFC 9438 §4.6 and §4.7: remembers the window and lowers ssthresh.
    fn reduce(&mut self, in_flight: Bytes) {
        // RFC 9438 §4.6 takes flight_size, since cwnd may be larger. After a recovery from many losses it may be smaller, too:
        // what was SACKed meanwhile is in flight until it is acknowledged, and ever larger windows would follow each other.
        let flight = in_flight.as_u64().min(self.cwnd);
        if let Some(linux) = &mut self.linux {
            linux.on_reduced(self.cwnd / self.mss);
            self.ssthresh = linux.ssthresh(flight / self.mss) * self.mss;
            return;
        }
        let window = self.window;
        // RFC 9438 §4.7: a window that fell since the last time leaves room for newcomers.
        let converge = self.config.fast_convergence && window < self.w_max;
        self.w_max = if converge { window * (1.0 + self.config.beta) / 2.0 } else { window };
        self.prior = window;
        self.ssthresh = ((flight as f64 * self.config.beta + 0.5) as u64).max(2 * self.mss);
        self.epoch = Time::NEVER;
    }
}

impl CongestionControl for Cubic {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        let last = std::mem::replace(&mut self.last_ack, ack.now);
        if let (Some(linux), Some(rtt)) = (&mut self.linux, ack.rtt) {
            linux.on_rtt(ack.now, rtt);
        }
        if ack.app_limited {
            // RFC 9438 §5.8: time that the application left unused does not count.
            if !self.epoch.is_never() {
                self.epoch += ack.now.since(last.max(self.epoch));
            }
            return;
        }
        let mut acked = ack.newly_acked.as_u64();
        if self.cwnd < self.ssthresh {
            acked = self.slow_start(ack);
            if acked == 0 {
                return;
            }
        }
        self.avoid_congestion(ack, acked);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            CongestionKind::FastRetransmit | CongestionKind::Timeout { backoff: 0 } => {
                self.undo = Some(self.snapshot());
            }
            // The reduction by the first expiry is what may have been spurious.
            CongestionKind::Timeout { .. } => {}
            // An echo is no guess.
            CongestionKind::EcnEcho => self.undo = None,
        }
        self.exit.on_congestion(event.now, event.kind);
        match event.kind {
            CongestionKind::FastRetransmit | CongestionKind::EcnEcho => {
                self.reduce(event.in_flight);
                self.at_plateau = false;
                // RFC 3168 §6.1.2: an echo opens no window, not even that of a single segment.
                let most = if event.kind == CongestionKind::EcnEcho { self.cwnd } else { u64::MAX };
                self.set_bytes(self.ssthresh.min(most));
            }
            CongestionKind::Timeout { backoff } => {
                // RFC 5681 §3.1: a segment that times out again holds ssthresh constant.
                if backoff == 0 {
                    self.reduce(event.in_flight);
                }
                self.epoch = Time::NEVER;
                self.at_plateau = true;
                self.limit.on_timeout();
                if let Some(linux) = &mut self.linux {
                    linux.reset();
                }
                self.set_bytes(self.mss);
            }
        }
    }

    fn on_undo(&mut self, _now: Time) {
        let Some(undo) = self.undo.take() else { return };
        (self.w_max, self.prior, self.k) = (undo.w_max, undo.prior, undo.k);
        (self.w_est, self.epoch, self.at_plateau) = (undo.w_est, undo.epoch, undo.at_plateau);
        self.ssthresh = self.ssthresh.max(undo.ssthresh);
        if undo.cwnd > self.cwnd {
            self.set_bytes(undo.cwnd);
        }
    }

    fn cap(&mut self, most: Bytes) {
        if most.as_u64() < self.cwnd {
            self.set_bytes(most.as_u64());
        }
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.set_bytes(self.mss + in_flight.as_u64());
    }

    fn on_unused(&mut self, window: Bytes) {
        self.ssthresh = remembering(self.cwnd, self.ssthresh);
        self.on_idle(window);
    }

    fn on_paced(&mut self) {
        self.exit.on_paced();
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        if restart_window.as_u64() < self.cwnd {
            self.set_bytes(restart_window.as_u64());
        }
        // RFC 9438 §5.8: the stage starts anew, its plateau stays where it was.
        self.epoch = Time::NEVER;
    }

    fn on_start(&mut self, now: Time, idle: Span) {
        if let Some(linux) = &mut self.linux {
            linux.on_start(now, idle);
        }
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
