//! Rayleigh fading by Jakes' sum of sinusoids, and when it crosses a level.
//!
//! With N oscillators at w_n = w cos(2 pi n / (4 N + 2)), n = 1 .. N, and one at w, the Doppler frequency in radians,
//!
//! ```text
//! x(t) = 2 sum cos(b_n) cos(w_n t + u_n) + sqrt(2) cos(w t + u_0),    b_n = pi n / (N + 1)
//! y(t) = 2 sum sin(b_n) cos(w_n t + u_n)
//! ```
//!
//! are the quadratures of a signal with mean power 2 N + 1. Jakes' phases u_n are zero; here they are drawn, so that each
//! run has a path of its own. The amplitude is nearly Rayleigh: the more oscillators, the nearer.
//!
//! Crossings are found to a nanosecond, and no fade is missed that lasts one: with |p''| bounded by K, the power p stays
//! on its side of the level for h as long as |p - level| + s h - K h^2 / 2 > 0, s being the slope away from the level.
//! Such steps are taken until they are shorter than a nanosecond.
//!
//! Source: Jakes 1974, §1.7 ([jakes93]); [wireless, §IV].

use std::f64::consts::{PI, SQRT_2, TAU};

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use varicap_units::part::{Checked, Fault, Part, require};
use varicap_units::{Frequency, JsonSchema, NANOS_PER_SEC, Probability, Span, Stream, Time};

use super::{ChannelLaw, ChannelPart, ChannelParts, Law, StatePath, certain};

/// Lowest and highest threshold [dB]: far beyond, there are no fades, or nothing else.
const THRESHOLDS: std::ops::RangeInclusive<f64> = -200.0..=20.0;
/// Highest Doppler frequency [Hz]: crossings are found to a nanosecond.
const HIGHEST_DOPPLER: f64 = 1e5;
/// Most oscillators.
const MOST_OSCILLATORS: u32 = 1000;
/// Most steps towards a crossing at a time: a level that is never crossed must not take endlessly long.
const STEPS_AHEAD: u32 = 1000;
/// Steps in a period of the Doppler frequency over the square root of the number of oscillators, about: so many were
/// counted at -10 dB with 4 to 16 of them.
const STEPS_PER_PERIOD: f64 = 22.0;

/// A Rayleigh-faded channel: a sum of sinusoids with random phases. Source: Jakes 1974, §1.7 ([jakes93]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RayleighConfig {
    /// Doppler frequency: the receiver's speed over the wavelength.
    pub doppler: Frequency,
    /// Power over its mean [dB] below which the channel is bad. Default: -10 ([wireless, §IV]).
    #[serde(default = "threshold")]
    pub threshold_db: f64,
    /// Probability that a transmission is received if the power is never below the threshold during it. Default: 1.
    #[serde(default = "certain")]
    pub delivered: Probability,
    /// Low-frequency oscillators; one more has the Doppler frequency itself. Few make deep fades rarer than Rayleigh's: 8
    /// give 9 % fewer bad times at -10 dB, 64 the right number. Default: 8.
    #[serde(default = "oscillators")]
    pub oscillators: u32,
}

impl Part for RayleighConfig {
    fn check(&self) -> Checked {
        let doppler = self.doppler.as_hz();
        let expected = format!("above 0 Hz, and at most {HIGHEST_DOPPLER} Hz");
        require("doppler", doppler > 0.0 && doppler <= HIGHEST_DOPPLER, self.doppler, expected)?;
        let expected = format!("{} to {} dB of the mean power", THRESHOLDS.start(), THRESHOLDS.end());
        require("threshold_db", THRESHOLDS.contains(&self.threshold_db), self.threshold_db, expected)?;
        let good = (1..=MOST_OSCILLATORS).contains(&self.oscillators);
        require("oscillators", good, self.oscillators, format!("1 to {MOST_OSCILLATORS}"))
    }

    fn draws(&self) -> bool {
        true
    }
}

impl ChannelPart for RayleighConfig {
    fn channel(&self) -> Result<ChannelParts, Fault> {
        let law = Law::Fading(Rayleigh::new(self)?);
        Ok(ChannelParts::new([0.0, self.delivered.get()].into(), law))
    }

    fn facts(&self) -> Json {
        json!({
            "doppler_hz": self.doppler.as_hz(),
            "threshold_db": self.threshold_db,
            "delivered": self.delivered,
            "oscillators": self.oscillators,
        })
    }
}

fn threshold() -> f64 {
    -10.0
}

fn oscillators() -> u32 {
    8
}

/// A Rayleigh-faded signal and a level, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rayleigh {
    /// Doppler frequency [Hz].
    doppler: f64,
    /// The power over its mean below which the channel is bad.
    level: f64,
    oscillators: u32,
}

impl Rayleigh {
    /// The signal of a scenario, which is checked.
    pub fn new(config: &RayleighConfig) -> Result<Rayleigh, Fault> {
        config.check()?;
        let level = libm::pow(10.0, config.threshold_db / 10.0);
        Ok(Rayleigh { doppler: config.doppler.as_hz(), level, oscillators: config.oscillators })
    }

    /// Share of the time below the level, of an amplitude that is exactly Rayleigh.
    pub fn share_bad(&self) -> f64 {
        -libm::expm1(-self.level)
    }
}

impl ChannelLaw for Rayleigh {
    type Path = Fading;

    fn shares(&self) -> Vec<f64> {
        vec![self.share_bad(), 1.0 - self.share_bad()]
    }

    fn work(&self) -> f64 {
        let number = f64::from(self.oscillators);
        self.doppler * STEPS_PER_PERIOD * libm::sqrt(number) * (number + 1.0)
    }

    fn start(&self, mut stream: Stream) -> (Fading, (usize, Time)) {
        let mut fading = Fading::new(self, &mut stream);
        let first = fading.next(0, Time::ZERO);
        (fading, first)
    }
}

impl StatePath for Fading {
    fn next(&mut self, _: usize, at: Time) -> (usize, Time) {
        let is_good = self.is_good(at);
        (usize::from(is_good), self.until(at, is_good))
    }
}

/// One of the sinusoids.
#[derive(Clone, Copy, Debug)]
struct Oscillator {
    /// Its part of both quadratures.
    x: f64,
    y: f64,
    /// Angular frequency [rad/ns].
    frequency: f64,
    phase: f64,
}

/// A faded signal of one run, its mean power 1.
#[derive(Clone, Debug)]
pub(super) struct Fading {
    oscillators: Vec<Oscillator>,
    level: f64,
    /// Bound of the power's second derivative [1/ns^2].
    bend: f64,
}

impl Fading {
    /// The signal whose phases `stream` draws.
    pub fn new(rayleigh: &Rayleigh, stream: &mut Stream) -> Fading {
        let number = f64::from(rayleigh.oscillators);
        let doppler = TAU * rayleigh.doppler / NANOS_PER_SEC as f64;
        let scale = 1.0 / libm::sqrt(2.0 * number + 1.0);
        let oscillators: Vec<Oscillator> = (0..=rayleigh.oscillators)
            .map(|n| {
                let phase = TAU * stream.uniform();
                if n == 0 {
                    return Oscillator { x: SQRT_2 * scale, y: 0.0, frequency: doppler, phase };
                }
                let (n, half) = (f64::from(n), 2.0 * number + 1.0);
                let (sine, cosine) = libm::sincos(PI * n / (number + 1.0));
                let frequency = doppler * libm::cos(PI * n / half);
                Oscillator { x: 2.0 * scale * cosine, y: 2.0 * scale * sine, frequency, phase }
            })
            .collect();
        let bend = bend(&oscillators);
        Fading { oscillators, level: rayleigh.level, bend }
    }

    /// Whether the power is not below the level.
    pub fn is_good(&self, at: Time) -> bool {
        self.above(at).0 >= 0.0
    }

    /// Until when the power stays on its side of the level, at least; the side that it has at `from`.
    pub fn until(&self, from: Time, is_good: bool) -> Time {
        let mut at = from;
        for _ in 0..STEPS_AHEAD {
            let (above, slope) = self.above(at);
            if (above >= 0.0) != is_good {
                break;
            }
            let (gap, slope) = if is_good { (above, slope) } else { (-above, -slope) };
            let safe = (slope + libm::sqrt(slope * slope + 2.0 * self.bend * gap)) / self.bend;
            at += Span::from_nanos(safe as u64).max(Span::from_nanos(1));
        }
        at
    }

    /// How far the power is above the level, and its slope [1/ns].
    fn above(&self, at: Time) -> (f64, f64) {
        let nanos = at.as_nanos() as f64;
        let (mut x, mut y, mut dx, mut dy) = (0.0, 0.0, 0.0, 0.0);
        for oscillator in &self.oscillators {
            let (sine, cosine) = libm::sincos(oscillator.frequency * nanos + oscillator.phase);
            x += oscillator.x * cosine;
            y += oscillator.y * cosine;
            dx -= oscillator.x * oscillator.frequency * sine;
            dy -= oscillator.y * oscillator.frequency * sine;
        }
        (x * x + y * y - self.level, 2.0 * (x * dx + y * dy))
    }
}

/// With z = x + i y: |p''| = |2 |z'|^2 + 2 Re(z'' z*)|, and no derivative of z exceeds the sum of its oscillators'.
fn bend(oscillators: &[Oscillator]) -> f64 {
    let sum = |power: i32| -> f64 {
        let each = oscillators.iter().map(|one| {
            let frequency: f64 = (0..power).map(|_| one.frequency).product();
            libm::hypot(one.x, one.y) * frequency.abs()
        });
        each.sum()
    };
    2.0 * (sum(1) * sum(1) + sum(2) * sum(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Streams;

    fn fading(threshold_db: f64, seed: u64) -> Fading {
        let config = RayleighConfig {
            doppler: Frequency::from_hz(100.0).unwrap(),
            threshold_db,
            delivered: Probability::new(1.0).unwrap(),
            oscillators: 8,
        };
        Fading::new(&Rayleigh::new(&config).unwrap(), &mut Streams::new(seed, 0).stream("link.a.channel"))
    }

    #[test]
    fn no_crossing_is_missed_or_late() {
        // Fine steps of 1 us see the same sides, apart from what lies between two of them.
        for (seed, threshold_db) in [(1, -10.0), (2, 0.0), (3, 5.0)] {
            let signal = fading(threshold_db, seed);
            let (mut is_good, mut until) = (signal.is_good(Time::ZERO), Time::ZERO);
            for micros in 0..100_000 {
                let at = Time::ZERO + Span::from_micros(micros);
                while until <= at {
                    is_good = signal.is_good(until);
                    until = signal.until(until, is_good);
                }
                assert_eq!(signal.is_good(at), is_good, "{threshold_db} dB at {at:?}");
            }
        }
    }

    #[test]
    fn the_mean_power_is_one() {
        let signal = fading(-10.0, 4);
        let power = |ms| signal.above(Time::ZERO + Span::from_millis(ms)).0 + signal.level;
        // 100,000 samples 1 ms apart at 100 Hz: about 10,000 independent ones with standard deviation 1.
        let mean = (0..100_000).map(power).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.04, "{mean}");
    }

    #[test]
    fn the_slope_is_the_derivative_and_the_bend_its_bound() {
        let signal = fading(-10.0, 5);
        for micros in 0..1000 {
            let at = Time::ZERO + Span::from_micros(17 * micros);
            let ((before, before_slope), (after, after_slope)) =
                (signal.above(at), signal.above(at + Span::from_micros(1)));
            let middle = (before_slope + after_slope) / 2.0;
            assert!(((after - before) / 1e3 - middle).abs() < 1e-10, "{micros}");
            assert!((after_slope - before_slope).abs() / 1e3 <= signal.bend, "{micros}");
        }
    }
}
