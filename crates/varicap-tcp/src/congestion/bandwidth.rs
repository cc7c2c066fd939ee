//! The arithmetic of controls that model the path: rates as integers, gains in hundredths, and the maxima of late.

use varicap_units::{Rate, Span};

use super::RateSample;

/// Binary places of a [`Bandwidth`].
const PLACES: u32 = 40;

/// A rate of payload: bytes per nanosecond with 40 binary places. The unit is 8e9 / 2^40 = 0.0073 b/s, the largest rate
/// 1.3e17 b/s. Whatever is computed from it is rounded down, so that results are the same on any machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bandwidth(u64);

impl Bandwidth {
    pub(super) const ZERO: Bandwidth = Bandwidth(0);
    /// No limit.
    pub(super) const INFINITE: Bandwidth = Bandwidth(u64::MAX);

    /// `bytes` in `span`, which is not zero.
    #[inline]
    pub(super) fn of(bytes: u64, span: Span) -> Bandwidth {
        let nanos = span.as_nanos().max(1);
        if bytes < 1 << (u64::BITS - PLACES) {
            return Bandwidth((bytes << PLACES) / nanos);
        }
        let exact = (u128::from(bytes) << PLACES) / u128::from(nanos);
        Bandwidth(u64::try_from(exact).unwrap_or(u64::MAX - 1))
    }

    /// The rate of a sample.
    #[inline]
    pub(super) fn of_sample(sample: &RateSample) -> Bandwidth {
        Bandwidth::of(sample.delivered.as_u64(), sample.interval)
    }

    /// The data that it carries in `span` [B].
    #[inline]
    pub(super) fn carries(self, span: Span) -> u64 {
        let exact = (u128::from(self.0) * u128::from(span.as_nanos())) >> PLACES;
        u64::try_from(exact).unwrap_or(u64::MAX)
    }

    /// `hundredths` of it.
    #[inline]
    pub(super) fn times(self, hundredths: u64) -> Bandwidth {
        Bandwidth(hundredths_of(self.0, hundredths))
    }

    /// It times `numerator / denominator`.
    #[inline]
    pub(super) fn of_units(self, numerator: u64, denominator: u64) -> Bandwidth {
        Bandwidth(self.0.saturating_mul(numerator) / denominator)
    }

    /// By how much it exceeds `other`.
    pub(super) fn less(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0.saturating_sub(other.0))
    }

    pub(super) fn midpoint(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(u64::midpoint(self.0, other.0))
    }

    /// The rate on the wire, where `mss` bytes of payload make a packet of `packet` bytes; never zero.
    pub(super) fn on_wire(self, mss: u64, packet: u64) -> Rate {
        let payload = (u128::from(self.0) * 8_000_000_000) >> PLACES;
        let payload = u64::try_from(payload).unwrap_or(u64::MAX);
        Rate::from_bps((payload.saturating_mul(packet) / mss).max(1))
    }

    /// In bits of payload per second, for whoever watches; none if it is no limit.
    pub(super) fn as_bps(self) -> f64 {
        if self == Bandwidth::INFINITE { f64::NAN } else { self.0 as f64 * 8e9 / (1u64 << PLACES) as f64 }
    }
}

/// `hundredths` of `value`, rounded down.
#[inline]
pub(super) fn hundredths_of(value: u64, hundredths: u64) -> u64 {
    value.saturating_mul(hundredths) / 100
}

/// `value` for whoever watches; NaN if it is no limit.
pub(super) fn shown(value: u64) -> f64 {
    if value == u64::MAX { f64::NAN } else { value as f64 }
}

/// The largest value of the last N units of a time that counts up: cycles, or rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recent<T, const N: usize> {
    /// The largest of each unit before the last, by its number modulo N.
    of_unit: [T; N],
    /// The unit of the last value, the largest of that unit, and of all.
    unit: u64,
    last: T,
    largest: T,
}

impl<T: Copy + Ord + Default, const N: usize> Recent<T, N> {
    pub(super) fn new() -> Recent<T, N> {
        Recent { of_unit: [T::default(); N], unit: 0, last: T::default(), largest: T::default() }
    }

    /// Takes a value of `unit`, which never goes back.
    #[inline]
    pub(super) fn take(&mut self, unit: u64, value: T) {
        debug_assert!(unit >= self.unit, "{unit} after {}", self.unit);
        if unit > self.unit {
            self.advance(unit);
        }
        if value > self.last {
            self.last = value;
            self.largest = self.largest.max(value);
        }
    }

    #[inline(never)]
    fn advance(&mut self, unit: u64) {
        self.of_unit[(self.unit % N as u64) as usize] = self.last;
        for new in self.unit.max(unit.saturating_sub(N as u64)) + 1..=unit {
            self.of_unit[(new % N as u64) as usize] = T::default();
        }
        (self.unit, self.last) = (unit, T::default());
        self.largest = self.of_unit.iter().copied().max().unwrap_or_default();
    }

    /// The largest value of the last N units, up to that of the last value taken.
    #[inline]
    pub(super) fn largest(&self) -> T {
        self.largest
    }

    /// The largest value of the last unit alone.
    #[inline]
    pub(super) fn largest_of_last(&self) -> T {
        self.last
    }
}

/// The largest value of the last N units of a time that counts up, by its three best candidates. Source: K. Nichols's filter,
/// as in Linux (`minmax_running_max`), by which a value that nothing exceeds counts for N + 1 units.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidates<T, const N: u64> {
    /// The largest value, the largest after it, and the largest after that, each with its unit.
    best: [(u64, T); 3],
}

impl<T: Copy + Ord, const N: u64> Candidates<T, N> {
    /// Takes a value of `unit`, which never goes back.
    #[inline]
    pub(super) fn take(&mut self, unit: u64, value: T) {
        let new = (unit, value);
        let [first, second, third] = &mut self.best;
        if value >= first.1 || unit - third.0 > N {
            self.best = [new; 3];
            return;
        }
        if value >= second.1 {
            (*second, *third) = (new, new);
        } else if value >= third.1 {
            *third = new;
        }
        self.age(new);
    }

    /// Candidates of the first quarter and of the first half give way to newer ones, and one that is too old to the next.
    fn age(&mut self, new: (u64, T)) {
        let [first, second, third] = self.best;
        let age = new.0 - first.0;
        if age > N {
            self.best = [second, third, new];
            if new.0 - second.0 > N {
                self.best = [third, new, new];
            }
        } else if second.0 == first.0 && age > N / 4 {
            self.best = [first, new, new];
        } else if third.0 == second.0 && age > N / 2 {
            self.best[2] = new;
        }
    }

    /// The largest value of late.
    #[inline]
    pub(super) fn largest(&self) -> T {
        self.best[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rate_times_a_time_is_a_volume() {
        let rate = Bandwidth::of(1448, Span::from_micros(1448));
        assert_eq!(rate.carries(Span::from_millis(40)), 40_000 - 1, "rounded down");
        assert_eq!(Bandwidth::of(1 << 40, Span::from_secs(1)).carries(Span::from_secs(2)), (1 << 41) - 1);
        assert_eq!(rate.times(250).carries(Span::from_millis(40)), 100_000 - 1);
        assert_eq!(rate.on_wire(1448, 1500), Rate::from_bps(7_999_999 * 1500 / 1448));
        assert_eq!(Bandwidth::ZERO.on_wire(1448, 1500), Rate::from_bps(1), "a pace of nothing never ends");
    }

    #[test]
    fn a_value_that_nothing_exceeds_counts_for_a_unit_more_than_the_window_has() {
        let mut candidates = Candidates::<u64, 10>::default();
        candidates.take(5, 100);
        let counts = (6..30).take_while(|&unit| {
            candidates.take(unit, 50 - unit);
            candidates.largest() == 100
        });
        assert_eq!(counts.last(), Some(15));
        assert_eq!(candidates.largest(), 42, "the newest of its first quarter, of unit 8");
    }

    proptest! {
        #[test]
        fn candidates_are_between_the_newest_value_and_the_largest_of_the_window(
            values in prop::collection::vec((0u64..3, 0u64..100), 1..60)
        ) {
            let (mut candidates, mut list, mut unit) = (Candidates::<u64, 4>::default(), Vec::new(), 0);
            for (step, value) in values {
                unit += step * step;
                candidates.take(unit, value);
                list.push((unit, value));
                let of_late = list.iter().filter(|(at, _)| at + 4 >= unit).map(|(_, value)| *value).max().unwrap();
                prop_assert!((value..=of_late).contains(&candidates.largest()));
            }
        }

        #[test]
        fn the_largest_of_late_is_what_a_list_says(values in prop::collection::vec((0u64..3, 0u64..100), 1..60)) {
            let (mut recent, mut list, mut unit) = (Recent::<u64, 4>::new(), Vec::new(), 0);
            for (step, value) in values {
                unit += step * step;
                recent.take(unit, value);
                list.push((unit, value));
                let of = |least: u64| list.iter().filter(|(at, _)| *at >= least).map(|(_, value)| *value).max();
                prop_assert_eq!(Some(recent.largest()), of((unit + 1).saturating_sub(4)));
                prop_assert_eq!(Some(recent.largest_of_last()), of(unit));
            }
        }
    }
}
