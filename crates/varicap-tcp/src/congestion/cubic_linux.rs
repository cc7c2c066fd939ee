//! CUBIC's congestion avoidance as Linux computes it: whole segments, whole ticks of its clock, and a step of one segment
//! for every so many acknowledged ones.
//!
//! At small windows this is not the function of RFC 9438 with coarser numbers. The target is a whole number of
//! segments, so that nothing happens until the function has grown by one; how many acknowledged segments a step takes
//! is computed anew only when the window has changed, or after 1/32 s; and there are at least two of them, where
//! RFC 9438 lets the window grow by half a window per round trip as well. After a timeout, and until the first loss, the
//! plateau is unknown, and a step takes at most twenty.

use varicap_units::{Span, Time};

use super::CubicConfig;
use super::counting::Steps;

/// Most ticks per second of a clock, which is what Linux may be built with at most.
pub(super) const MOST_HERTZ: u32 = 1000;

/// A second in the units of K and of the time since the epoch began.
const SECOND: u64 = 1 << 10;
/// How long the number of acknowledged segments for a step holds while the window does: one part of a second in so many.
const UPDATES: u64 = 32;
/// Most acknowledged segments that a step takes while no plateau is known.
const PROBING: u64 = 20;

/// The state of congestion avoidance. Windows in segments.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    /// Ticks of the clock in a second, and how long one takes [ns].
    hertz: u64,
    tick: u64,
    /// Multiplicative decrease [1/1024].
    beta: u64,
    /// C [1/1024].
    c: u64,
    fast_convergence: bool,
    reno_friendly: bool,
    /// Reno's estimate grows by 8/15 of a segment per round trip even beyond the window before the last reduction.
    constant_alpha: bool,
    /// Acknowledged segments for a step.
    every: u64,
    credit: u64,
    /// Plateau; zero: unknown.
    w_max: u64,
    /// Window before the last reduction.
    prior: u64,
    last_window: u64,
    /// When `every` was computed last [ticks].
    last_time: u64,
    /// The window at the plateau of this epoch, and when it is reached [1/1024 s].
    origin: u64,
    k: u64,
    /// When the epoch began [ticks].
    epoch: Option<u64>,
    /// Least RTT [ticks, rounded up]; zero: none known.
    delay: u64,
    /// Segments that were acknowledged since Reno's estimate grew.
    acked: u64,
    /// Reno's window, had it seen the same events.
    reno: u64,
}

impl Linux {
    pub(super) fn new(config: &CubicConfig) -> Linux {
        let parts = |part: f64| (part * 1024.0 + 0.5) as u64;
        let hertz = u64::from(config.hertz.clamp(1, MOST_HERTZ));
        Linux {
            hertz,
            tick: 1_000_000_000 / hertz,
            // None of 1024 would leave no window, and all of them would never reduce it.
            beta: parts(config.beta).clamp(1, 1023),
            c: parts(config.c).max(1),
            fast_convergence: config.fast_convergence,
            reno_friendly: config.reno_friendly,
            constant_alpha: config.alpha == super::Alpha::Constant,
            every: 0,
            credit: 0,
            w_max: 0,
            prior: 0,
            last_window: 0,
            last_time: 0,
            origin: 0,
            k: 0,
            epoch: None,
            delay: 0,
            acked: 0,
            reno: 0,
        }
    }

    /// An RTT sample. In the first second of an epoch it may be one of the recovery, and says nothing.
    pub(super) fn on_rtt(&mut self, now: Time, rtt: Span) {
        if self.epoch.is_some_and(|epoch| self.ticks(now).saturating_sub(epoch) < self.hertz) {
            return;
        }
        let delay = rtt.as_nanos().div_ceil(self.tick).max(1);
        self.delay = if self.delay == 0 { delay } else { self.delay.min(delay) };
    }

    /// The window after `acked` more segments at `window`.
    pub(super) fn advance(&mut self, now: Time, window: u64, acked: u64) -> u64 {
        self.update(self.ticks(now), window, acked);
        let mut steps = Steps { window, credit: self.credit, segment: 1 };
        steps.advance(self.every, acked);
        self.credit = steps.credit;
        steps.window
    }

    /// Sets how many acknowledged segments a step takes.
    fn update(&mut self, now: u64, window: u64, acked: u64) {
        self.acked += acked;
        if self.last_window == window && now - self.last_time <= self.hertz / UPDATES {
            return;
        }
        // The function is evaluated once per tick at most.
        if self.epoch.is_none() || now != self.last_time {
            (self.last_window, self.last_time) = (window, now);
            self.every = self.by_function(now, window, acked);
        }
        if self.reno_friendly {
            self.every = self.every.min(self.by_reno(window));
        }
        self.every = self.every.max(2);
    }

    /// How many acknowledged segments a step towards the cubic function takes, which is evaluated an RTT ahead.
    fn by_function(&mut self, now: u64, window: u64, acked: u64) -> u64 {
        let epoch = *self.epoch.get_or_insert_with(|| {
            (self.acked, self.reno) = (acked, window);
            self.origin = self.w_max.max(window);
            self.k = time_of(self.origin - window, self.c);
            now
        });
        let t = (now - epoch + self.delay) * SECOND / self.hertz;
        let distance = u128::from(t.abs_diff(self.k));
        let cube = distance.saturating_mul(distance).saturating_mul(distance);
        let moved = u128::from(self.c).saturating_mul(cube) >> 40;
        let moved = u64::try_from(moved).unwrap_or(u64::MAX);
        let target =
            if t < self.k { self.origin.saturating_sub(moved) } else { self.origin.saturating_add(moved) };
        let every = if target > window { window / (target - window) } else { 100 * window };
        if self.w_max == 0 { every.min(PROBING) } else { every }
    }

    /// How many acknowledged segments a step towards Reno's window takes.
    fn by_reno(&mut self, window: u64) -> u64 {
        // 3 (1 - beta) / (1 + beta) of a segment per window: with beta = 717/1024 one for 15/8 of it.
        let eighths = 8 * (1024 + self.beta) / 3 / (1024 - self.beta);
        let is_back = !self.constant_alpha && self.reno >= self.prior;
        let per_step = if is_back { window } else { window * eighths / 8 }.max(1);
        let grown = self.acked.saturating_sub(1) / per_step;
        self.acked -= grown * per_step;
        self.reno += grown;
        if self.reno > window { window / (self.reno - window) } else { u64::MAX }
    }

    /// The window falls from `window`.
    pub(super) fn on_reduced(&mut self, window: u64) {
        let converge = self.fast_convergence && window < self.w_max;
        self.w_max = if converge { window * (1024 + self.beta) / 2048 } else { window };
        self.prior = window;
        (self.epoch, self.credit) = (None, 0);
    }

    /// ssthresh for `window`.
    pub(super) fn ssthresh(&self, window: u64) -> u64 {
        (window * self.beta / 1024).max(2)
    }

    /// A timeout: all is forgotten.
    pub(super) fn reset(&mut self) {
        (self.every, self.credit, self.w_max, self.prior) = (0, 0, 0, 0);
        (self.last_window, self.last_time) = (0, 0);
        (self.origin, self.k, self.epoch) = (0, 0, None);
        (self.delay, self.acked, self.reno) = (0, 0, 0);
    }

    /// Data leaves again after `idle`, which does not count.
    pub(super) fn on_start(&mut self, now: Time, idle: Span) {
        let (idle, now) = (idle.as_nanos() / self.tick, self.ticks(now));
        self.epoch = self.epoch.map(|epoch| (epoch + idle).min(now));
    }

    fn ticks(&self, time: Time) -> u64 {
        time.as_nanos() / self.tick
    }
}

/// How long the function takes for `segments` to its plateau [1/1024 s].
fn time_of(segments: u64, c: u64) -> u64 {
    // c/1024 (K/1024)^3 = segments.
    cube_root(((1 << 40) / c).saturating_mul(segments))
}

/// Where the search for a cube root begins, by its leading bits [1/64]: the only numbers with which it ends where Linux's does
/// for each window up to 20000 segments below the plateau, as all of these were tried.
const FIRST_GUESS: [u64; 56] = [
    133, 139, 144, 148, 153, 157, 161, 166, 167, 171, 174, 178, 180, 183, 186, 189, 191, 195, 197, 200, 202,
    204, 207, 209, 210, 212, 214, 216, 219, 221, 223, 225, 227, 229, 231, 232, 234, 235, 237, 239, 241, 242,
    244, 246, 247, 249, 250, 252, 254, 255, 256, 258, 260, 261, 262, 264,
];

/// A cube root as `cubic_root` of Linux finds it, mostly one or two below the true one: a guess by the leading bits, and one step
/// of Newton's, with 341/1024 for a third.
fn cube_root(cube: u64) -> u64 {
    if cube < 64 {
        return libm::cbrt(cube as f64) as u64;
    }
    // A digit of the root has three bits of the cube; from 8 to 63 remain.
    let digits = ((u64::from(cube.ilog2() + 1) * 84) >> 8) - 1;
    let leading = (cube >> (3 * digits)) as usize;
    let guess = (FIRST_GUESS[leading - 8] << digits) >> 6;
    ((2 * guess + cube / (guess * (guess - 1))) * 341) >> 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_of_centuries_with_the_largest_c_overflows_nothing() {
        let mut linux = Linux::new(&CubicConfig { c: 1e6, ..CubicConfig::default() });
        linux.on_reduced(1000);
        assert_eq!(linux.advance(Time::ZERO, 700, 1), 700);
        // Two acknowledged segments open the window by one.
        let centuries = Time::ZERO + Span::from_secs(18_000_000_000);
        assert_eq!(linux.advance(centuries, 700, 2), 701);
    }

    #[test]
    fn the_function_is_evaluated_once_per_tick() {
        // Eight seconds after a reduction from 100 segments the function has reached 121: three acknowledged segments are a
        // step from 95 on, and many more from 120 on, as soon as the next tick says so.
        let from_120 = |hertz, at| {
            let mut linux =
                Linux::new(&CubicConfig { hertz, reno_friendly: false, ..CubicConfig::default() });
            linux.on_reduced(100);
            let ms = |millis| Time::ZERO + Span::from_millis(millis);
            linux.advance(ms(0), 70, 1);
            linux.advance(ms(8000), 95, 1);
            linux.advance(ms(at), 120, 3)
        };
        assert_eq!((from_120(250, 8003), from_120(250, 8004)), (121, 120));
        assert_eq!(from_120(1000, 8001), 120);
    }
    #[test]
    fn the_plateau_is_reached_when_linux_reaches_it() {
        // The values that `cubic_root` of Linux 6.12 returns for the default C and windows so far below the plateau.
        let reached = [1, 2, 3, 5, 8, 10, 15, 20, 30, 60, 100].map(|segments| time_of(segments, 410));
        assert_eq!(reached, [1388, 1750, 2003, 2375, 2777, 2991, 3426, 3770, 4316, 5436, 6451]);
        assert_eq!((0..64).map(cube_root).max(), Some(3));
        assert!((1_u64..1 << 20).chain([u64::MAX]).all(|cube| {
            let exact = libm::cbrt(cube as f64);
            (cube_root(cube) as f64 - exact).abs() <= 1.0 + exact / 256.0
        }));
    }
}
