//! What every part of a scenario that is chosen by name has in common: its own check, and what the kernel engine does
//! with it.
//!
//! A part knows nothing of where it stands in a scenario: its keys are relative to its own table, and whoever reads the
//! scenario puts the table's path in front of them.

use std::fmt::Display;

use crate::{Amount, Bytes, Rate, Span};

/// Longest time in a scenario: sums of several stay far from the end of the clock.
pub const LONGEST: Span = Span::from_secs(10 * 365 * 86_400);
/// Largest amount of data in a scenario [B]: sums of several stay countable.
pub const LARGEST: Bytes = Bytes::new(1_000_000_000_000_000_000);
/// Fastest finite rate in a scenario.
pub const FASTEST: Rate = Rate::from_bps(1_000_000_000_000_000);

/// A configuration that makes no sense although it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key, relative to the part's table, with dots between tables; empty for the part itself.
    pub key: String,
    /// The offending text.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
    /// What was probably meant, or what to do about it.
    pub hint: Option<String>,
}

/// Whether a configuration makes sense.
pub type Checked = Result<(), Fault>;

impl Fault {
    /// `expected` was due at `key`, but `found` was there.
    pub fn new(key: impl Into<String>, found: impl Display, expected: impl Into<String>) -> Fault {
        Fault { key: key.into(), found: found.to_string(), expected: expected.into(), hint: None }
    }

    /// The same with advice on what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// The same fault as seen from the table that holds the part under `key`.
    pub fn within(mut self, key: &str) -> Fault {
        self.key = if self.key.is_empty() { key.to_owned() } else { format!("{key}.{}", self.key) };
        self
    }
}

/// What the kernel engine does with a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnKernel {
    /// It runs as written: the emulated link is the same code in both engines.
    AsWritten,
    /// The kernel has it under this name.
    Named(String),
    /// It runs, and this note says how it differs.
    Nearly(&'static str),
    /// It cannot run there, and this is why.
    Refused(&'static str),
}

/// A part of a scenario that is chosen by name.
pub trait Part {
    /// Whether the configuration makes sense by itself. Rules that span parts belong to the scenario.
    fn check(&self) -> Checked {
        Ok(())
    }

    /// What the kernel engine does with it.
    fn on_kernel(&self) -> OnKernel {
        OnKernel::AsWritten
    }
}

/// A fault at `key` unless `good`.
pub fn require(key: &str, good: bool, found: impl Display, expected: impl Into<String>) -> Checked {
    if good { Ok(()) } else { Err(Fault::new(key, found, expected)) }
}

/// A time above zero, and not longer than [`LONGEST`].
pub fn positive(key: &str, span: Span) -> Checked {
    require(key, span > Span::ZERO, span, "more than 0 s")?;
    bounded(key, span)
}

/// A time not longer than [`LONGEST`].
pub fn bounded(key: &str, span: Span) -> Checked {
    require(key, span <= LONGEST, span, format!("at most {LONGEST}"))
}

/// A size above zero, and not larger than [`LARGEST`].
pub fn size(key: &str, size: Bytes) -> Checked {
    require(key, size > Bytes::ZERO, size, "more than 0 B")?;
    require(key, size <= LARGEST, size, format!("at most {LARGEST}"))
}

/// An amount above zero, and not larger than [`LARGEST`].
pub fn amount(key: &str, amount: Amount) -> Checked {
    let good = match amount {
        Amount::Bytes(bytes) => bytes > Bytes::ZERO && bytes <= LARGEST,
        Amount::Packets(packets) => packets > 0 && packets <= u64::from(u32::MAX),
        Amount::Bdp(factor) => factor > 0.0 && factor <= 1e9,
        Amount::Unlimited => true,
    };
    require(key, good, amount, "an amount above zero, and below 1 EB")
}

/// A number above zero.
pub fn at_least_one(key: &str, number: u32) -> Checked {
    require(key, number > 0, number, "at least 1")
}

/// A rate not faster than [`FASTEST`], or unlimited.
pub fn rate(key: &str, rate: Rate) -> Checked {
    let good = rate <= FASTEST || rate.is_unlimited();
    require(key, good, rate, format!("at most {FASTEST}, or \"unlimited\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_named_from_outside_in() {
        let fault = positive("target", Span::ZERO).unwrap_err().within("codel").within("queue");
        assert_eq!((fault.key.as_str(), fault.expected.as_str()), ("queue.codel.target", "more than 0 s"));
        assert_eq!(Fault::new("", "9", "less").within("capacity").key, "capacity");
    }

    #[test]
    fn limits_are_those_of_every_scenario() {
        assert!(amount("limit", Amount::Packets(0)).is_err());
        assert!(amount("limit", Amount::Unlimited).is_ok());
        assert!(rate("rate", Rate::UNLIMITED).is_ok());
        assert!(rate("rate", Rate::from_bps(FASTEST.as_bps() + 1)).is_err());
        assert!(bounded("delay", LONGEST).is_ok());
        assert!(size("size", Bytes::ZERO).is_err());
    }
}
