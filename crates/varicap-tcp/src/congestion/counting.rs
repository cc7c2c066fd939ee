//! How much of what an acknowledgement covers opens the window. Source: RFC 3465.

use super::Counting;

/// Most that one acknowledgement may add in slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// The limit in force [B].
    now: u64,
    usual: u64,
    after_timeout: u64,
}

impl Limit {
    /// The limit of `counting`.
    pub(super) fn new(counting: Counting, mss: u64) -> Limit {
        let usual = match counting {
            // RFC 5681 (2): min(N, SMSS).
            Counting::Acks => mss,
            // RFC 3465 §2.2: min(N, L*SMSS).
            Counting::Bytes(bytes) => mss.saturating_mul(u64::from(bytes.limit.max(1))),
            Counting::Segments => u64::MAX,
        };
        // RFC 3465 §2.3: L = 1 in the slow start that follows a timeout, in which an acknowledgement may cover data that
        // left the network long ago.
        let after_timeout = if let Counting::Bytes(_) = counting { mss } else { usual };
        Limit { now: usual, usual, after_timeout }
    }

    /// The same limit at all times [B].
    pub(super) fn fixed(bytes: u64) -> Limit {
        Limit { now: bytes, usual: bytes, after_timeout: bytes }
    }

    /// The part of `acked` bytes that counts.
    #[inline]
    pub(super) fn of(&self, acked: u64) -> u64 {
        acked.min(self.now)
    }

    /// Slow start has reached ssthresh.
    pub(super) fn on_end_of_slow_start(&mut self) {
        self.now = self.usual;
    }

    pub(super) fn on_timeout(&mut self) {
        self.now = self.after_timeout;
    }
}

/// A window of whole segments that opens by one whenever so many segments have been acknowledged, as Linux counts them.
/// All is in segments, where `segment` is 1, or in bytes, where it is the MSS.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub(super) window: u64,
    /// Data that was acknowledged and has not yet opened the window.
    pub(super) credit: u64,
    pub(super) segment: u64,
}

impl Steps {
    /// `acked` was acknowledged, and `every` so much opens the window by a segment.
    #[inline]
    pub(super) fn advance(&mut self, every: u64, acked: u64) {
        let every = every.max(1);
        if self.credit >= every {
            // Credit from when a step took longer is worth one step, not several at once.
            self.credit = 0;
            self.window += self.segment;
        }
        self.credit += acked;
        if self.credit >= every {
            self.window += self.credit / every * self.segment;
            self.credit %= every;
        }
    }
}

/// `bytes` as segments of `mss`: the last one may have been a short one.
#[inline]
pub(super) fn segments(bytes: u64, mss: u64) -> u64 {
    bytes.div_ceil(mss)
}

/// How much the slow start of a window of whole segments adds when `acked` bytes are acknowledged, a short segment counting
/// as one, and what is left for congestion avoidance [B]. It ends with the first whole segment at ssthresh, which may have a
/// fraction of one if it was given, not computed.
pub(super) fn slow_start_in_segments(acked: u64, cwnd: u64, ssthresh: u64, mss: u64) -> (u64, u64) {
    debug_assert!(cwnd.is_multiple_of(mss) && cwnd <= ssthresh);
    let acked = segments(acked, mss) * mss;
    let used = acked.min(ssthresh.div_ceil(mss).saturating_mul(mss) - cwnd);
    (used, acked - used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_so_many_segments_and_keeps_the_rest() {
        let mut steps = Steps { window: 10, credit: 0, segment: 1 };
        let mut after = |every, acked| {
            steps.advance(every, acked);
            (steps.window, steps.credit)
        };
        assert_eq!(after(10, 9), (10, 9));
        assert_eq!(after(10, 3), (11, 2));
        assert_eq!(after(11, 31), (14, 0));
        // Credit that was gathered towards a longer step: one step at once, and the count starts anew.
        assert_eq!(after(14, 12), (14, 12));
        assert_eq!(after(2, 1), (15, 1));
    }

    #[test]
    fn steps_of_bytes_are_those_of_segments() {
        let mut segments = Steps { window: 10, credit: 0, segment: 1 };
        let mut bytes = Steps { window: 14_600, credit: 0, segment: 1460 };
        for acked in [9, 3, 31, 1, 2, 90, 13] {
            let every = segments.window - acked % 3;
            segments.advance(every, acked);
            bytes.advance(every * 1460, acked * 1460);
            assert_eq!((bytes.window, bytes.credit), (segments.window * 1460, segments.credit * 1460));
        }
    }

    #[test]
    fn a_short_segment_counts_as_one() {
        assert_eq!([0, 1, 1000, 1001].map(|bytes| segments(bytes, 1000)), [0, 1, 1, 2]);
    }
}
