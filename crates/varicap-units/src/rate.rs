//! Rates of data in bits per second.

use std::fmt;
use std::ops::Mul;

use crate::{Bytes, NANOS_PER_SEC, Span, Work};

/// A rate of data [b/s]. Zero is an outage, which is an ordinary state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// The rate of an outage: nothing moves.
    pub const ZERO: Rate = Rate(0);
    /// A rate at which frames take no time.
    pub const UNLIMITED: Rate = Rate(u64::MAX);

    /// A rate of `bits` per second [b/s].
    pub const fn from_bps(bits: u64) -> Rate {
        Rate(bits)
    }

    /// The rate in bits per second [b/s].
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Whether frames take no time at this rate.
    pub const fn is_unlimited(self) -> bool {
        self.0 == u64::MAX
    }

    /// The time that `bytes` take at this rate, rounded up to a nanosecond; [`Span::MAX`] at rate zero.
    pub fn transmission_time(self, bytes: Bytes) -> Span {
        if self.is_unlimited() {
            return Span::ZERO;
        }
        if self.0 == 0 {
            return Span::MAX;
        }
        let nanobits = u128::from(bytes.as_u64()) * 8 * u128::from(NANOS_PER_SEC);
        Span::from_nanos(u64::try_from(nanobits.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
    }
}

/// Exact: bits per second times nanoseconds are nanobits.
impl Mul<Span> for Rate {
    type Output = Work;
    fn mul(self, span: Span) -> Work {
        Work::from_nanobits(u128::from(self.0) * u128::from(span.as_nanos()))
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_are_rounded_up() {
        assert_eq!(Rate::from_bps(3).transmission_time(Bytes::new(1)), Span::from_nanos(2_666_666_667));
        assert_eq!(Rate::from_bps(8_000_000).transmission_time(Bytes::new(1000)), Span::from_millis(1));
    }

    #[test]
    fn an_outage_takes_indefinitely_and_no_limit_no_time() {
        assert_eq!(Rate::ZERO.transmission_time(Bytes::new(1)), Span::MAX);
        assert_eq!(Rate::UNLIMITED.transmission_time(Bytes::MAX), Span::ZERO);
    }
}
