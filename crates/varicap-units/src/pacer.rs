//! Distances in time between packets that leave at a rate, exact over many of them.

use crate::{Bytes, NANOS_PER_SEC, Rate, Span, Work};

/// Spaces packets at a rate: each distance is rounded up to a nanosecond, and by as much less the next one is longer. So
/// that no rate is missed, however short the packets: 64 B at 70 Gb/s are 7.31 ns apart, in turns of 7 and 8 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pacer {
    /// The work for which the distances so far have been too long [nb]: less than that of a nanosecond.
    surplus: u64,
}

impl Pacer {
    /// The distance from a packet of `bytes` to the next one at `rate`; [`Span::MAX`] at rate zero.
    #[inline]
    pub fn gap(&mut self, rate: Rate, bytes: Bytes) -> Span {
        debug_assert!(bytes.as_u64() <= u64::MAX / (8 * NANOS_PER_SEC), "a packet of {bytes} exceeds 2 GB");
        self.gap_of(rate, bytes.as_u64() * 8 * NANOS_PER_SEC)
    }

    /// As [`Pacer::gap`], for any work; no more than 2 GB count.
    pub fn gap_of_work(&mut self, rate: Rate, work: Work) -> Span {
        self.gap_of(rate, u64::try_from(work.as_nanobits()).unwrap_or(u64::MAX))
    }

    #[inline]
    fn gap_of(&mut self, rate: Rate, work: u64) -> Span {
        if rate == Rate::ZERO || rate.is_unlimited() {
            self.surplus = 0;
            return if rate == Rate::ZERO { Span::MAX } else { Span::ZERO };
        }
        let rate = rate.as_bps();
        // The rest that a higher rate has left may be more than a nanosecond's work at this one.
        let surplus = if self.surplus < rate { self.surplus } else { 0 };
        if work <= surplus {
            self.surplus = surplus - work;
            return Span::ZERO;
        }
        let left = work - surplus;
        let nanos = left.div_ceil(rate);
        // Rounding up adds less than one nanosecond's work; modulo 2^64 the difference is exact.
        self.surplus = nanos.wrapping_mul(rate).wrapping_sub(left);
        Span::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_rate_of_short_packets_is_kept() {
        let mut pacer = Pacer::default();
        let rate = Rate::from_bps(70_000_000_000);
        let first: Vec<u64> = (0..4).map(|_| pacer.gap(rate, Bytes::new(64)).as_nanos()).collect();
        assert_eq!(first, [8, 7, 7, 8]);
        // 64 B x 8 b x 35,000 packets in 256 us.
        let rest: u64 = (4..35_000).map(|_| pacer.gap(rate, Bytes::new(64)).as_nanos()).sum();
        assert_eq!(rest + 30, 256_000);
    }

    #[test]
    fn at_rates_beyond_a_packet_per_nanosecond_some_distances_are_zero() {
        let mut pacer = Pacer::default();
        let rate = Rate::from_bps(1_000_000_000_000);
        let sum: u64 = (0..1000).map(|_| pacer.gap(rate, Bytes::new(40)).as_nanos()).sum();
        assert_eq!(sum, 320);
    }

    #[test]
    fn an_outage_takes_indefinitely_and_no_limit_no_time() {
        let mut pacer = Pacer::default();
        assert_eq!(pacer.gap(Rate::ZERO, Bytes::new(1)), Span::MAX);
        assert_eq!(pacer.gap(Rate::UNLIMITED, Bytes::new(1)), Span::ZERO);
    }

    #[test]
    fn what_a_high_rate_has_left_over_is_no_time_at_a_low_one() {
        let mut pacer = Pacer::default();
        pacer.gap(Rate::from_bps(399_000_000_000), Bytes::new(1500));
        assert_eq!(pacer.gap(Rate::from_bps(1), Bytes::new(1)), Span::from_secs(8));
    }

    proptest! {
        /// The sum of the distances is the work over the rate, rounded up once.
        #[test]
        fn distances_add_up(rate in 1u64..1_000_000_000_000, sizes in prop::collection::vec(1u64..65_536, 1..200)) {
            let rate = Rate::from_bps(rate);
            let mut pacer = Pacer::default();
            let sum = sizes.iter().fold(Span::ZERO, |sum, &size| sum + pacer.gap(rate, Bytes::new(size)));
            prop_assert_eq!(sum, rate.transmission_time(Bytes::new(sizes.iter().sum())));
        }
    }
}
