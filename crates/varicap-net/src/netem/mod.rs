//! The effects of Linux's netem on packets, with its integers: correlated random numbers, chances, tables of distributions.
//!
//! The parts are beside the others of their kinds: delays in `delay/netem.rs`, losses in the files of this folder that
//! are named after them, copies and damage in `copies.rs`. Source: Linux `net/sched/sch_netem.c`; `tc-netem(8)`.

mod copies;
mod correlated;
mod four_state;
mod gemodel;
mod table;

use varicap_units::{Probability, Stream};

pub(crate) use copies::Copies;
pub use copies::NetemConfig;
pub use correlated::CorrelatedLossConfig;
pub use four_state::FourStateConfig;
pub use gemodel::GeModelConfig;
pub(crate) use table::DistTable;
pub use table::Distribution;

/// A probability as netem keeps it: a share of 2^32 - 1, rounded. Source: `tc` `get_percent`.
pub fn percent(probability: Probability) -> u32 {
    (probability.get() * f64::from(u32::MAX)).round() as u32
}

/// Random numbers of 32 bits, each of which may depend on the last. Source: Linux `get_crandom`.
#[derive(Clone, Debug)]
pub struct CRandom {
    rho: u32,
    last: u32,
}

impl CRandom {
    /// Numbers with this correlation; without one nothing is drawn here.
    pub fn new(correlation: Probability, stream: &mut Stream) -> CRandom {
        let rho = percent(correlation);
        CRandom { rho, last: if rho == 0 { 0 } else { draw(stream) } }
    }

    /// The next number: a mean of a new one and the last, with weights 1 - rho and rho.
    pub fn next(&mut self, stream: &mut Stream) -> u32 {
        let value = u64::from(draw(stream));
        if self.rho == 0 {
            return value as u32;
        }
        let rho = u64::from(self.rho) + 1;
        // Below 2^64: both are below 2^32, and the weights sum to 2^32.
        self.last = ((value * ((1 << 32) - rho) + u64::from(self.last) * rho) >> 32) as u32;
        self.last
    }
}

/// 32 random bits.
pub(crate) fn draw(stream: &mut Stream) -> u32 {
    (stream.bits() >> 32) as u32
}

/// Something that happens to packets with a probability, each time depending on the last if there is a correlation.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    threshold: u32,
    numbers: CRandom,
}

impl Chance {
    pub fn new(probability: Probability, correlation: Probability, stream: &mut Stream) -> Chance {
        let threshold = percent(probability);
        // A chance of zero draws nothing, as in netem.
        let correlation = if threshold == 0 { Probability::default() } else { correlation };
        Chance { threshold, numbers: CRandom::new(correlation, stream) }
    }

    /// Whether it happens now.
    pub fn happens(&mut self, stream: &mut Stream) -> bool {
        self.threshold != 0 && self.threshold >= self.numbers.next(stream)
    }
}

/// Long-run share of correlated numbers that are at most `probability` of their range: not that probability, since a mean
/// of two uniform numbers is near the middle more often.
///
/// The number Y is (1 - r) U + r Y', so its distribution function F solves F(y) = r / (1 - r) (G(y / r) - G((y - 1 + r) / r)),
/// where G is the integral of F; the iteration below converges as r^n.
pub(crate) fn share_at_most(probability: f64, correlation: f64) -> f64 {
    const CELLS: usize = 1 << 14;
    if correlation <= 0.0 || probability <= 0.0 || probability >= 1.0 {
        return probability.clamp(0.0, 1.0);
    }
    if correlation > 1.0 - 1e-6 {
        return probability; // the first number, which is uniform, for ever
    }
    let mut shares: Vec<f64> = (0..=CELLS).map(|cell| cell as f64 / CELLS as f64).collect();
    let rounds = (libm::log(1e-9) / libm::log(correlation)).ceil().min(2_000.0) as usize;
    let apply = |shares: &[f64], sums: &[f64], y: f64| {
        let integral = |x: f64| -> f64 {
            if x <= 0.0 {
                return 0.0;
            }
            if x >= 1.0 {
                return sums[CELLS] + (x - 1.0);
            }
            let place = x * CELLS as f64;
            let (cell, part) = (place as usize, place.fract());
            let height = shares[cell] + (shares[cell + 1] - shares[cell]) * part / 2.0;
            sums[cell] + height * part / CELLS as f64
        };
        let (from, to) = ((y - 1.0 + correlation) / correlation, y / correlation);
        correlation / (1.0 - correlation) * (integral(to) - integral(from))
    };
    let sums_of = |shares: &[f64]| {
        let mut sums = vec![0.0; CELLS + 1];
        for cell in 0..CELLS {
            sums[cell + 1] = sums[cell] + (shares[cell] + shares[cell + 1]) / 2.0 / CELLS as f64;
        }
        sums
    };
    for _ in 0..rounds {
        let sums = sums_of(&shares);
        shares = (0..=CELLS).map(|cell| apply(&shares, &sums, cell as f64 / CELLS as f64)).collect();
    }
    apply(&shares, &sums_of(&shares), probability).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Streams;

    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn a_probability_is_a_share_of_all_numbers_of_32_bits() {
        assert_eq!([percent(p(0.0)), percent(p(0.5)), percent(p(1.0))], [0, 0x8000_0000, u32::MAX]);
    }

    #[test]
    fn what_is_certain_happens_always_and_what_is_impossible_draws_nothing() {
        let mut stream = Streams::new(1, 0).stream("a");
        let mut certain = Chance::new(p(1.0), p(0.0), &mut stream);
        assert!((0..1000).all(|_| certain.happens(&mut stream)));
        let mut silent = Streams::new(1, 0).silent().stream("a");
        let mut never = Chance::new(p(0.0), p(0.5), &mut silent);
        assert!((0..1000).all(|_| !never.happens(&mut silent)));
    }

    #[test]
    fn the_share_of_correlated_numbers_is_that_of_a_long_run() {
        for (probability, correlation) in [(0.01, 0.25), (0.1, 0.25), (0.3, 0.5), (0.05, 0.75), (0.5, 0.9)] {
            let mut stream = Streams::new(7, 0).stream("a");
            let mut chance = Chance::new(p(probability), p(correlation), &mut stream);
            let count = (0..2_000_000).filter(|_| chance.happens(&mut stream)).count() as f64 / 2e6;
            let share = share_at_most(probability, correlation);
            // At most (1 + r) / (1 - r) as uncertain as independent numbers; four standard errors, and the grid.
            let error = 4.0 * (share / 2e6 * (1.0 + correlation) / (1.0 - correlation)).sqrt() + 1e-6;
            assert!((count - share).abs() < error, "{probability} {correlation}: {count} for {share}");
        }
    }
}
