//! A histogram of integers in which the width of a bucket is a fixed fraction of its values.
//!
//! Each octave [2^k, 2^(k+1)) has 32 buckets; below 64 every integer has its own. The middle of a bucket is
//! therefore within 1/64 (1.6 %) of every value in it. Only the touched range of buckets is stored.

use serde::{Deserialize, Serialize};

/// Number of buckets in an octave, as a power of two.
const BITS: u32 = 5;
/// Number of buckets in an octave.
const BUCKETS: u64 = 1 << BITS;
/// Storage grows by this many buckets at a time, so that a drifting value does not reallocate at every step.
const CHUNK: usize = 16;

/// The minimum of an empty histogram; only a value equal to it does not lie outside the range.
const NO_MINIMUM: u64 = u64::MAX;

/// Counts of values by size, with the exact sum, minimum and maximum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Counts of the buckets, starting with bucket `first`.
    counts: Vec<u64>,
    first: usize,
    sum: u128,
    /// The least value; [`NO_MINIMUM`] if the histogram is empty.
    minimum: u64,
    /// Maximum minus minimum, so that one comparison shows whether a value widens the range.
    width: u64,
    /// Where the last value was counted: the next one mostly comes close to it.
    #[serde(skip)]
    last: Stretch,
    /// The same of the value before that was counted elsewhere: often values go to and fro between two buckets.
    #[serde(skip)]
    other: Stretch,
}

/// Values that are counted in one place, and widen no range: from `from` to `from + width`.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: u64,
    width: u64,
    /// Their place among the counts.
    place: usize,
}

impl Stretch {
    /// None at all: there is no such place.
    const NONE: Stretch = Stretch { from: 0, width: 0, place: usize::MAX };

    /// Whether `value` is one of them.
    #[inline(always)]
    fn has(&self, value: u64) -> bool {
        value.wrapping_sub(self.from) <= self.width
    }
}

impl Default for Stretch {
    fn default() -> Stretch {
        Stretch::NONE
    }
}

/// Which value came last is no part of what a histogram says.
impl PartialEq for Stretch {
    fn eq(&self, _: &Stretch) -> bool {
        true
    }
}

impl Eq for Stretch {}

impl Histogram {
    /// An empty histogram; it allocates nothing before the first value.
    pub const fn new() -> Histogram {
        Histogram {
            counts: Vec::new(),
            first: 0,
            sum: 0,
            minimum: NO_MINIMUM,
            width: 0,
            last: Stretch::NONE,
            other: Stretch::NONE,
        }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.sum += u128::from(value);
        if self.last.has(value)
            && let Some(count) = self.counts.get_mut(self.last.place)
        {
            *count += 1;
        } else {
            self.record_elsewhere(value);
        }
    }

    /// Counts a value that is not close to the last one.
    #[inline(never)]
    fn record_elsewhere(&mut self, value: u64) {
        std::mem::swap(&mut self.last, &mut self.other);
        if self.last.has(value)
            && let Some(count) = self.counts.get_mut(self.last.place)
        {
            *count += 1;
            return;
        }
        let place = bucket(value).wrapping_sub(self.first);
        if value.wrapping_sub(self.minimum) <= self.width
            && let Some(count) = self.counts.get_mut(place)
        {
            *count += 1;
            let (low, high) = edges(value);
            let from = low.max(self.minimum);
            self.last = Stretch { from, width: high.min(self.maximum_or_zero()) - from, place };
        } else {
            self.record_outside(value);
        }
    }

    /// Counts a value outside the range so far, or the first value.
    #[cold]
    fn record_outside(&mut self, value: u64) {
        if self.is_empty() {
            (self.minimum, self.width) = (value, 0);
        } else {
            let maximum = self.maximum_or_zero().max(value);
            self.minimum = self.minimum.min(value);
            self.width = maximum - self.minimum;
        }
        self.cover(bucket(value), bucket(value));
        self.counts[bucket(value) - self.first] += 1;
    }

    /// Makes room for the buckets `low` to `high`.
    fn cover(&mut self, low: usize, high: usize) {
        let (low, high) = (low / CHUNK * CHUNK, (high / CHUNK + 1) * CHUNK);
        if self.counts.is_empty() {
            self.first = low;
        }
        if low < self.first {
            (self.last, self.other) = (Stretch::NONE, Stretch::NONE);
            let missing = self.first - low;
            self.counts.reserve_exact(missing);
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = low;
        }
        if high > self.first + self.counts.len() {
            let missing = high - self.first - self.counts.len();
            self.counts.reserve_exact(missing);
            self.counts.extend(std::iter::repeat_n(0, missing));
        }
    }

    /// The number of values counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Whether no value was counted.
    pub fn is_empty(&self) -> bool {
        self.minimum == NO_MINIMUM && self.counts.iter().all(|&count| count == 0)
    }

    /// The exact mean of the values; `None` if there are none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The least value; `None` if there are none.
    pub fn minimum(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.minimum)
    }

    /// The greatest value; `None` if there are none.
    pub fn maximum(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.maximum_or_zero())
    }

    fn maximum_or_zero(&self) -> u64 {
        self.minimum + self.width
    }

    /// The `q`-quantile: the least value that at least the share `q` of all values do not exceed, within 1/64; `None`
    /// if there are no values.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count);
        let mut below = 0;
        let place = self.counts.iter().position(|&here| {
            below += here;
            below >= rank
        })?;
        Some(middle(self.first + place).clamp(self.minimum, self.maximum_or_zero()))
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        let (Some(minimum), Some(maximum)) = (other.minimum(), other.maximum()) else { return };
        let lowest = self.minimum().map_or(minimum, |mine| mine.min(minimum));
        let highest = self.maximum().map_or(maximum, |mine| mine.max(maximum));
        (self.minimum, self.width) = (lowest, highest - lowest);
        self.sum += other.sum;
        self.cover(bucket(lowest), bucket(highest));
        let (low, high) = (bucket(minimum), bucket(maximum));
        for (place, count) in (low..=high).zip(&other.counts[low - other.first..]) {
            self.counts[place - self.first] += count;
        }
    }

    /// Forgets all values and keeps the storage.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.sum, self.minimum, self.width) = (0, NO_MINIMUM, 0);
        (self.last, self.other) = (Stretch::NONE, Stretch::NONE);
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

/// The bucket of `value`: 32 per octave, counted from zero.
#[inline]
fn bucket(value: u64) -> usize {
    let shift = 63 - (value | (2 * BUCKETS - 1)).leading_zeros() - BITS;
    (u64::from(shift) * BUCKETS + (value >> shift)) as usize
}

/// The least and the greatest value in the bucket of `value`.
#[inline]
fn edges(value: u64) -> (u64, u64) {
    let shift = 63 - (value | (2 * BUCKETS - 1)).leading_zeros() - BITS;
    (value >> shift << shift, value | ((1 << shift) - 1))
}

/// The value in the middle of a bucket, rounded down.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / BUCKETS).saturating_sub(1);
    let low = (bucket - shift * BUCKETS) << shift;
    low + ((1 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    /// Values of every magnitude.
    fn value() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift)
    }

    #[test]
    fn values_below_64_are_exact() {
        for value in 0..64 {
            assert_eq!(middle(bucket(value)), value);
        }
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        for shift in 0..64 {
            let value = 1u64 << shift;
            assert!(bucket(value) <= bucket(value - 1) + 1, "gap below {value}");
            assert!(
                bucket(value + (value / 32).max(1)) > bucket(value),
                "one bucket holds too much at {value}"
            );
        }
    }

    #[test]
    fn equal_values_have_exact_quantiles() {
        assert_eq!(of(&[20_000_123; 5]).quantile(0.5), Some(20_000_123));
    }

    #[test]
    fn an_empty_histogram_has_no_statistics() {
        let mut histogram = of(&[3, 500]);
        histogram.clear();
        assert_eq!((histogram.quantile(0.5), histogram.mean(), histogram.maximum()), (None, None, None));
        histogram.record(7);
        assert_eq!((histogram.minimum(), histogram.maximum(), histogram.count()), (Some(7), Some(7), 1));
    }

    #[test]
    fn buckets_that_come_in_front_move_the_place_of_the_last_value() {
        let histogram = of(&[100_000, 100_001, 100_000, 10, 100_001, 100_001]);
        assert_eq!(histogram.quantile(0.5), Some(middle(bucket(100_000))));
    }

    #[test]
    fn memory_follows_the_touched_range() {
        // An RTT between 20 ms and 80 ms: two octaves, three at most with the rounding to chunks.
        let histogram = of(&(20..80).map(|ms| ms * 1_000_000).collect::<Vec<_>>());
        assert!(histogram.counts.capacity() <= 3 * 32, "{} buckets", histogram.counts.capacity());
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_64th_of_sorted_data(
            mut values in prop::collection::vec(value(), 1..200), q in 0.0f64..=1.0,
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1];
            let found = histogram.quantile(q).unwrap();
            // Half a bucket is at most 1/64 of the bucket's lower end.
            prop_assert!(found.abs_diff(exact) <= exact / 64, "{found} for {exact}");
        }

        /// Most values come close to the one before, which says where they are counted.
        #[test]
        fn values_that_come_close_are_counted_as_by_themselves(
            first in value(), steps in prop::collection::vec(-40i64..40, 0..200), scale in 0u32..30,
        ) {
            let mut values = vec![first];
            for step in steps {
                values.push(values[values.len() - 1].saturating_add_signed(step << scale));
            }
            let mut apart = Histogram::new();
            values.iter().for_each(|&value| apart.merge(&of(&[value])));
            let counts = |histogram: &Histogram| -> Vec<(usize, u64)> {
                (histogram.first..).zip(histogram.counts.iter().copied()).filter(|&(_, count)| count > 0).collect()
            };
            let together = of(&values);
            prop_assert_eq!(counts(&together), counts(&apart));
            prop_assert_eq!((together.minimum, together.width, together.sum), (apart.minimum, apart.width, apart.sum));
        }

        #[test]
        fn mean_minimum_and_maximum_are_exact(values in prop::collection::vec(value(), 1..200)) {
            let histogram = of(&values);
            let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
            prop_assert_eq!(histogram.mean(), Some(sum as f64 / values.len() as f64));
            prop_assert_eq!(histogram.minimum(), values.iter().min().copied());
            prop_assert_eq!(histogram.maximum(), values.iter().max().copied());
        }

        #[test]
        fn merging_equals_recording_everything_in_one(
            left in prop::collection::vec(value(), 0..50), right in prop::collection::vec(value(), 0..50),
        ) {
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let together = of(&[left, right].concat());
            prop_assert_eq!(merged.count(), together.count());
            prop_assert_eq!(merged.mean(), together.mean());
            for q in [0.0, 0.01, 0.5, 0.95, 1.0] {
                prop_assert_eq!(merged.quantile(q), together.quantile(q));
            }
        }
    }
}
