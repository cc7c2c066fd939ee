//! Named random streams, one per component, so that adding a component does not change the draws of another.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Dxsm;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::{Span, Time};

/// The random streams of one run, all derived from (seed, replication).
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
    replication: u64,
    #[cfg(debug_assertions)]
    is_silent: bool,
}

impl Streams {
    /// The streams of the given replication, for `seed`.
    pub const fn new(seed: u64, replication: u64) -> Streams {
        Streams {
            seed,
            replication,
            #[cfg(debug_assertions)]
            is_silent: false,
        }
    }

    /// The same of a run of which no part [draws](crate::part::Part::draws): where assertions are on, one that does
    /// panics.
    #[cfg_attr(not(debug_assertions), expect(clippy::unused_self, reason = "what is asserted"))]
    pub const fn silent(self) -> Streams {
        Streams {
            #[cfg(debug_assertions)]
            is_silent: true,
            ..self
        }
    }

    /// The stream of the component called `name`; the same name gives the same draws on any machine.
    pub fn stream(&self, name: &str) -> Stream {
        let key = [self.replication.to_le_bytes().as_slice(), name.as_bytes()].concat();
        let mut state = [0u8; 32];
        state[..16].copy_from_slice(&xxh3_128_with_seed(&key, self.seed).to_le_bytes());
        state[16..].copy_from_slice(&xxh3_128_with_seed(&key, !self.seed).to_le_bytes());
        Stream {
            numbers: Pcg64Dxsm::from_seed(state),
            #[cfg(debug_assertions)]
            is_silent: self.is_silent,
        }
    }
}

/// The random numbers of one component: PCG64-DXSM, the same on any machine.
#[derive(Clone, Debug)]
pub struct Stream {
    numbers: Pcg64Dxsm,
    #[cfg(debug_assertions)]
    is_silent: bool,
}

impl Stream {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        #[cfg(debug_assertions)]
        assert!(!self.is_silent, "a part of the scenario draws, and does not say so");
        self.numbers.next_u64()
    }

    /// A number uniform on [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// An integer uniform on 0..n; zero if `n` is zero. Lemire's multiplication; its bias (below n / 2^64) is ignored.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        // A certain outcome takes a number like all else, so that those that follow are the same.
        #[cfg(debug_assertions)]
        if self.is_silent && (p <= 0.0 || p >= 1.0) {
            return p >= 1.0;
        }
        self.uniform() < p
    }

    /// An exponentially distributed number with the given mean, by inversion.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// An exponentially distributed length of time with the given mean, rounded to a nanosecond.
    pub fn exponential_span(&mut self, mean: Span) -> Span {
        Span::from_nanos((self.exponential(mean.as_nanos() as f64) + 0.5) as u64)
    }

    /// A length of time uniform on [0, longest], in whole nanoseconds.
    pub fn uniform_span(&mut self, longest: Span) -> Span {
        Span::from_nanos(self.below(longest.as_nanos().saturating_add(1)))
    }

    /// A standard normal number, by Box and Muller's method without its spare value: each call draws the same amount.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// An instant uniform on [start, start + spread]; without a spread it is `start`, and nothing is drawn.
    pub fn start_within(&mut self, start: Time, spread: Span) -> Time {
        if spread == Span::ZERO { start } else { start + self.uniform_span(spread) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_frozen() {
        // Golden values: a change here silently changes every result ever published with varicap.
        let mut stream = Streams::new(1, 0).stream("link.down.capacity");
        let draws =
            [stream.bits(), stream.bits(), stream.exponential(1.0).to_bits(), stream.normal().to_bits()];
        assert_eq!(
            draws,
            [6652609697463609510, 13018257022294782148, 4599367763464617381, 4603871106194958417]
        );
    }

    #[test]
    #[should_panic(expected = "draws, and does not say so")]
    fn a_silent_stream_refuses_to_draw() {
        let mut stream = Streams::new(1, 0).silent().stream("a");
        assert!(stream.chance(1.0) && !stream.chance(0.0));
        stream.bits();
    }

    #[test]
    fn names_seeds_and_replications_separate_streams() {
        let first = |seed, replication, name| Streams::new(seed, replication).stream(name).bits();
        let draws = [first(1, 0, "a"), first(1, 0, "b"), first(2, 0, "a"), first(1, 1, "a")];
        let distinct: std::collections::HashSet<u64> = draws.into_iter().collect();
        assert_eq!(distinct.len(), 4);
    }

    #[test]
    fn draws_have_their_mean() {
        // 100,000 draws; bounds are five standard errors.
        let mut stream = Streams::new(3, 0).stream("moments");
        let mut mean = |draw: &mut dyn FnMut(&mut Stream) -> f64| {
            (0..100_000).map(|_| draw(&mut stream)).sum::<f64>() / 1e5
        };
        assert!((mean(&mut |s| s.uniform()) - 0.5).abs() < 5.0 * 0.289 / 316.0);
        assert!((mean(&mut |s| s.exponential(2.0)) - 2.0).abs() < 5.0 * 2.0 / 316.0);
        assert!(mean(&mut |s| s.normal()).abs() < 5.0 / 316.0);
        assert!((mean(&mut |s| s.normal().powi(2)) - 1.0).abs() < 5.0 * 1.42 / 316.0);
        assert!((mean(&mut |s| s.below(10) as f64) - 4.5).abs() < 5.0 * 2.88 / 316.0);
    }
}
