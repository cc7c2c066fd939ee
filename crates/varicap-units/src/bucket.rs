//! A token bucket decides which packets conform to a reserved rate. Source: [minrate, §II-A]; RFC 2215 §3.6
//! (TOKEN_BUCKET_TSPEC).
//!
//! Tokens arrive at the mean rate and accumulate up to the depth; a packet takes as many as it has bytes, or none if
//! there are too few. With a peak rate the packet must also find its tokens in a second bucket, which holds one
//! packet's worth at the peak rate: p T + M of RFC 2215. Tokens are counted exactly: each one is in the bucket, was
//! taken, or was lost.

use crate::{Bytes, NANOS_PER_SEC, Rate, Span, Time, Work};

/// The depth of a token bucket, as a user writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketDepth {
    /// The tokens that the reserved rate brings in this time, which changes with the rate: `"50 ms"`.
    Time(Span),
    /// A fixed number of bytes: `"25 kB"`.
    Bytes(Bytes),
}

impl BucketDepth {
    /// The depth of the bucket if tokens arrive at `rate`.
    pub fn work(self, rate: Rate) -> Work {
        match self {
            BucketDepth::Time(span) => rate * span,
            BucketDepth::Bytes(bytes) => Work::of(bytes),
        }
    }
}

/// A bucket of tokens that arrive at one rate.
#[derive(Clone, Copy, Debug)]
struct Level {
    rate: Rate,
    depth: Work,
    /// Tokens in the bucket when it was last settled.
    tokens: Work,
}

impl Level {
    fn full(rate: Rate, depth: Work) -> Level {
        Level { rate, depth, tokens: depth }
    }

    /// Tokens after `span`, including those beyond the depth.
    fn brought(&self, span: Span) -> Work {
        self.tokens + self.rate * span
    }

    /// Adds the tokens of `span`; returns those that do not fit and are lost.
    fn settle(&mut self, span: Span) -> Work {
        let brought = self.brought(span);
        self.tokens = brought.min(self.depth);
        brought - self.tokens
    }

    /// How long it takes until the bucket holds `work`; [`Span::MAX`] if it never does.
    fn wait(&self, work: Work) -> Span {
        if work <= self.tokens {
            return Span::ZERO;
        }
        if work > self.depth || self.rate == Rate::ZERO {
            return Span::MAX;
        }
        let missing = (work - self.tokens).as_nanobits();
        let nanos = missing.div_ceil(u128::from(self.rate.as_bps()));
        u64::try_from(nanos).map_or(Span::MAX, Span::from_nanos)
    }
}

/// Decides which packets conform to a mean rate, a depth and optionally a peak rate.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    mean: Level,
    depth: BucketDepth,
    peak: Option<Level>,
    /// The time up to which tokens have been added.
    settled: Time,
    /// Tokens that arrived when the bucket was full, or no longer fitted when it became smaller.
    lost: Work,
}

impl TokenBucket {
    /// A bucket that is full at `now`.
    pub fn new(now: Time, rate: Rate, depth: BucketDepth) -> TokenBucket {
        let mean = Level::full(rate, depth.work(rate));
        TokenBucket { mean, depth, peak: None, settled: now, lost: Work::ZERO }
    }

    /// Adds a peak rate, for packets of at most `largest`. An unlimited peak rate has no effect.
    pub fn with_peak(mut self, peak: Rate, largest: Bytes) -> TokenBucket {
        self.peak = (!peak.is_unlimited()).then(|| Level::full(peak, Work::of(largest)));
        self
    }

    /// The mean rate at which tokens arrive.
    pub fn rate(&self) -> Rate {
        self.mean.rate
    }

    /// The most tokens that the bucket may hold at the current rate, in whole bytes [B].
    pub fn depth(&self) -> Bytes {
        whole_bytes(self.mean.depth)
    }

    /// Lets tokens arrive at `rate` from `now` on. A depth given as a time changes accordingly; tokens that no longer
    /// fit are lost.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.settle(now);
        self.mean.rate = rate;
        self.mean.depth = self.depth.work(rate);
        self.lost += self.mean.settle(Span::ZERO);
    }

    /// Adds tokens that no rate brings; those beyond the depth are lost.
    pub fn bring(&mut self, now: Time, tokens: Work) {
        self.settle(now);
        self.mean.tokens += tokens;
        self.lost += self.mean.settle(Span::ZERO);
    }

    /// Whether a packet of `size` would find its tokens at `now`.
    pub fn conforms(&self, now: Time, size: Bytes) -> bool {
        let (span, work) = (now.since(self.settled), Work::of(size));
        let holds = |level: &Level| work <= level.brought(span).min(level.depth);
        holds(&self.mean) && self.peak.as_ref().is_none_or(holds)
    }

    /// Takes the tokens of a packet of `size` if it conforms, and says whether it did.
    pub fn take(&mut self, now: Time, size: Bytes) -> bool {
        self.settle(now);
        let work = Work::of(size);
        if work > self.mean.tokens || self.peak.is_some_and(|peak| work > peak.tokens) {
            return false;
        }
        self.mean.tokens -= work;
        if let Some(peak) = &mut self.peak {
            peak.tokens -= work;
        }
        true
    }

    /// When a packet of `size` will conform if no tokens are taken and the rate does not change; [`Time::NEVER`] if the
    /// packet is larger than the depth of the bucket, or no tokens arrive.
    pub fn conforms_at(&self, size: Bytes) -> Time {
        let work = Work::of(size);
        let peak = self.peak.map_or(Span::ZERO, |peak| peak.wait(work));
        self.settled + self.mean.wait(work).max(peak)
    }

    /// Whole tokens in the bucket at `now` [B].
    pub fn tokens(&self, now: Time) -> Bytes {
        whole_bytes(self.mean.brought(now.since(self.settled)).min(self.mean.depth))
    }

    /// The exact amount of tokens lost up to `now`.
    pub fn lost(&self, now: Time) -> Work {
        self.lost + self.mean.brought(now.since(self.settled)).saturating_sub(self.mean.depth)
    }

    fn settle(&mut self, now: Time) {
        let span = now.since(self.settled);
        self.settled = self.settled.max(now);
        self.lost += self.mean.settle(span);
        if let Some(peak) = &mut self.peak {
            peak.settle(span);
        }
    }
}

fn whole_bytes(work: Work) -> Bytes {
    let bytes = work.as_nanobits() / (8 * u128::from(NANOS_PER_SEC));
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// The bucket of the paper: 4 Mb/s and 50 ms are 25 kB.
    fn paper() -> TokenBucket {
        TokenBucket::new(Time::ZERO, Rate::from_bps(4_000_000), BucketDepth::Time(Span::from_millis(50)))
    }

    const PACKET: Bytes = Bytes::new(1000);

    #[test]
    fn a_full_bucket_lets_its_depth_pass_and_then_the_rate() {
        let mut bucket = paper();
        assert_eq!(bucket.depth(), Bytes::new(25_000));
        assert!((0..25).all(|_| bucket.take(ms(0), PACKET)));
        assert!(!bucket.take(ms(0), PACKET));
        // A packet's tokens take 2 ms to arrive.
        assert_eq!(bucket.conforms_at(PACKET), ms(2));
        assert!(!bucket.conforms(Time::from_nanos(1_999_999), PACKET));
        assert!(bucket.conforms(ms(2), PACKET) && bucket.take(ms(2), PACKET));
        assert_eq!(bucket.tokens(ms(3)), Bytes::new(500));
    }

    #[test]
    fn tokens_that_no_rate_brings_fill_it_too() {
        let mut bucket = TokenBucket::new(ms(0), Rate::ZERO, BucketDepth::Bytes(PACKET * 2));
        assert!(bucket.take(ms(0), PACKET) && bucket.take(ms(1), PACKET) && !bucket.take(ms(2), PACKET));
        bucket.bring(ms(3), Work::of(PACKET));
        assert!(bucket.take(ms(3), PACKET));
        bucket.bring(ms(4), Work::of(PACKET * 3));
        assert_eq!((bucket.tokens(ms(4)), bucket.lost(ms(4))), (PACKET * 2, Work::of(PACKET)));
    }

    #[test]
    fn tokens_that_find_it_full_are_lost() {
        let mut bucket = paper();
        assert!(bucket.take(ms(0), PACKET));
        assert_eq!(bucket.lost(ms(2)), Work::ZERO);
        assert_eq!(bucket.lost(ms(10)), Work::of(Bytes::new(4000)));
        assert!(bucket.take(ms(10), PACKET));
        assert_eq!(bucket.lost(ms(12)), Work::of(Bytes::new(4000)));
        // Each step brings less than a whole token, and none is forgotten: 1 b/s brings a byte in 8 s.
        let mut slow = TokenBucket::new(Time::ZERO, Rate::from_bps(1), BucketDepth::Bytes(PACKET));
        for second in 1..=8 {
            assert!(!slow.take(ms(1000 * second), Bytes::new(1001)));
        }
        assert_eq!(slow.lost(ms(8000)), Work::of(Bytes::new(1)));
    }

    #[test]
    fn a_packet_beyond_the_depth_never_conforms() {
        let mut bucket = paper();
        assert_eq!(bucket.conforms_at(Bytes::new(25_001)), Time::NEVER);
        assert!(!bucket.take(ms(60_000), Bytes::new(25_001)));
        bucket.set_rate(ms(60_000), Rate::ZERO);
        assert_eq!(bucket.conforms_at(PACKET), Time::NEVER);
    }

    #[test]
    fn a_peak_rate_keeps_packets_apart() {
        let mut bucket = paper().with_peak(Rate::from_bps(8_000_000), PACKET);
        assert!(bucket.take(ms(0), PACKET));
        assert!(!bucket.take(ms(0), PACKET));
        assert_eq!(bucket.conforms_at(PACKET), ms(1));
        assert!(bucket.take(ms(1), PACKET));
        // A packet that the peak rate refuses takes no tokens: 25 - 2 + the half packet that arrived.
        assert_eq!(bucket.tokens(ms(1)), Bytes::new(23_500));
        assert!(paper().with_peak(Rate::UNLIMITED, PACKET).peak.is_none());
    }

    #[test]
    fn a_rate_that_changes_takes_a_depth_in_time_along_and_leaves_one_in_bytes() {
        let mut bucket = paper();
        bucket.set_rate(ms(0), Rate::from_bps(1_000_000));
        assert_eq!((bucket.depth(), bucket.tokens(ms(0))), (Bytes::new(6250), Bytes::new(6250)));
        assert_eq!(bucket.lost(ms(0)), Work::of(Bytes::new(18_750)));
        bucket.set_rate(ms(0), Rate::from_bps(4_000_000));
        // A larger bucket fills at the new rate.
        assert_eq!((bucket.tokens(ms(0)), bucket.tokens(ms(10))), (Bytes::new(6250), Bytes::new(11_250)));
        let depth = BucketDepth::Bytes(Bytes::new(3000));
        let mut fixed = TokenBucket::new(ms(0), Rate::from_bps(8_000_000), depth);
        assert!((0..3).all(|_| fixed.take(ms(0), PACKET)));
        fixed.set_rate(ms(1), Rate::from_bps(16_000_000));
        assert_eq!((fixed.tokens(ms(1)), fixed.tokens(ms(2))), (PACKET, Bytes::new(3000)));
        assert_eq!(fixed.lost(ms(3)), Work::of(Bytes::new(2000)));
    }

    proptest! {
        /// In any period no more passes than the depth and the tokens that arrived, as a Tspec promises; and no token
                /// disappears.
        #[test]
        fn no_more_passes_than_depth_and_rate_allow(
            rate in 1u64..100_000_000,
            depth in 1u64..100_000,
            steps in prop::collection::vec((0u64..50_000_000, 1u64..3000), 1..200),
        ) {
            let rate = Rate::from_bps(rate);
            let mut bucket = TokenBucket::new(Time::ZERO, rate, BucketDepth::Bytes(Bytes::new(depth)));
            let mut passed: Vec<(Time, u64)> = Vec::new();
            let (mut now, mut taken) = (Time::ZERO, Work::ZERO);
            for (gap, size) in steps {
                now += Span::from_nanos(gap);
                let expected = bucket.conforms(now, Bytes::new(size));
                prop_assert_eq!(bucket.conforms_at(Bytes::new(size)) <= now, expected);
                prop_assert_eq!(bucket.take(now, Bytes::new(size)), expected);
                if expected {
                    taken += Work::of(Bytes::new(size));
                    passed.push((now, size));
                }
                let inside = bucket.mean.tokens;
                let come = Work::of(Bytes::new(depth)) + rate * now.since(Time::ZERO);
                prop_assert_eq!(inside + taken + bucket.lost(now), come);
            }
            for first in 0..passed.len() {
                let mut sum = Work::ZERO;
                for &(at, size) in &passed[first..] {
                    sum += Work::of(Bytes::new(size));
                    let allowed = Work::of(Bytes::new(depth)) + rate * at.since(passed[first].0);
                    prop_assert!(sum <= allowed);
                }
            }
        }
    }
}
