//! The common interface of all parts of a scenario that are chosen by name: its own check, and what the kernel engine does
//! with it.
//!
//! A part knows nothing of where it stands in a scenario: its keys are relative to its own table, and whoever reads the
//! scenario puts the table's path in front of them.

use std::fmt::Display;

use crate::{Amount, Bytes, Probability, Rate, Span};

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
    /// The values that were expected instead.
    pub expected: String,
    /// The value that was probably meant, or how to correct the mistake.
    pub hint: Option<String>,
}

/// The outcome of checking a configuration.
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

/// The dotted path of some keys; a key that is empty or has a dot of its own is quoted.
pub fn join<T: AsRef<str>>(keys: &[T]) -> String {
    let quoted = keys.iter().map(|key| match key.as_ref() {
        key if key.contains('.') || key.is_empty() => format!("\"{key}\""),
        key => key.to_owned(),
    });
    quoted.collect::<Vec<_>>().join(".")
}

/// The treatment of a part by the kernel engine.
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
    /// Checks the configuration by itself. Rules that span parts belong to the scenario.
    fn check(&self) -> Checked {
        Ok(())
    }

    /// Its treatment by the kernel engine.
    fn on_kernel(&self) -> OnKernel {
        OnKernel::AsWritten
    }

    /// Whether a run of the simulator draws random numbers for it, or may: a part from outside may draw what it likes.
    /// Where no part does, all runs are one; [`Streams::silent`](crate::Streams::silent) asserts that none has been
    /// forgotten.
    fn draws(&self) -> bool {
        false
    }
}

/// The registry of a kind of part: generates the enum of configurations that a scenario file chooses from, the names, and
/// a [`Part`] that asks the chosen one. A line is one part:
///
/// ```text
/// Red(config: RedConfig) = "red", "Random early detection.";
/// None[NoLoss] = "none", "Nothing is lost.";
/// ```
///
/// that is its variant, the type of its configuration, its name in a file, and what the schema says of it. A part in
/// brackets has no settings: a unit struct answers for it. Derives, serde's `remote = "Self"` and the
/// schema's transform are given with the enum, and [`choice!`](crate::choice!) reads it. The registry of a crate
/// (`controls!`, `queues!`, …) expands to this macro, and to what it needs besides: the state of a run, its constructor and
/// its dispatch.
#[macro_export]
macro_rules! parts {
    (
        $(#[$meta:meta])*
        pub enum $Config:ident {
            $(
                $(#[$variant_meta:meta])*
                $Variant:ident $( ( $inner:ident : $Inner:ty ) )? $( [ $unit:path ] )? = $name:literal, $doc:literal;
            )+
        }
    ) => {
        $(#[$meta])*
        pub enum $Config {
            $( #[doc = $doc] $(#[$variant_meta])* #[serde(rename = $name)] $Variant $( ( $Inner ) )?, )+
        }

        impl $Config {
            /// The names of all parts of this kind, in the order of the registry.
            pub const NAMES: &'static [&'static str] = &[$( $name ),+];

            /// Its name in a file.
            pub fn name(&self) -> &'static str {
                match self {
                    $( $Config::$Variant { .. } => $name, )+
                }
            }

            /// The chosen part itself.
            fn chosen(&self) -> &dyn $crate::part::Part {
                match self {
                    $( $Config::$Variant $( ( $inner ) )? => $( $inner )? $( &$unit )?, )+
                }
            }
        }

        impl $crate::part::Part for $Config {
            fn check(&self) -> $crate::part::Checked {
                self.chosen().check().map_err(|fault| fault.within(self.name()))
            }

            fn on_kernel(&self) -> $crate::part::OnKernel {
                self.chosen().on_kernel()
            }

            fn draws(&self) -> bool {
                self.chosen().draws()
            }
        }
    };
}

impl Part for Rate {
    fn check(&self) -> Checked {
        rate("", *self)
    }
}

impl Part for Span {
    fn check(&self) -> Checked {
        bounded("", *self)
    }
}

impl Part for Probability {
    fn draws(&self) -> bool {
        self.get() > 0.0 && self.get() < 1.0
    }
}

/// A part that someone else answers for, by its name: whoever hands it over to a run, or a kernel that has one.
impl Part for String {
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Named(self.clone())
    }

    fn draws(&self) -> bool {
        true
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
    use crate::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Slow {
        /// How long.
        pub delay: Span,
    }

    impl Part for Slow {
        fn check(&self) -> Checked {
            positive("delay", self.delay)
        }
        fn on_kernel(&self) -> OnKernel {
            OnKernel::Refused("it is too slow")
        }
    }

    struct Plain;

    impl Part for Plain {}

    crate::parts! {
        /// How fast.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(remote = "Self")]
        #[schemars(transform = crate::schema::names)]
        pub enum Pace {
            Slow(config: Slow) = "slow", "After a delay.";
            Plain[Plain] = "plain", "At once.";
            At(rate: Rate) = "at-rate", "At a rate.";
        }
    }
    crate::choice!(Pace);

    #[test]
    fn a_registry_names_checks_and_reads_its_parts() {
        assert_eq!(Pace::NAMES, ["slow", "plain", "at-rate"]);
        assert_eq!(Pace::Plain.check(), Ok(()));
        assert_eq!(Pace::Plain.on_kernel(), OnKernel::AsWritten);
        let slow: Pace = serde_json::from_str(r#""slow""#).unwrap();
        assert_eq!(slow, Pace::Slow(Slow::default()));
        assert_eq!(slow.check().unwrap_err().key, "slow.delay");
        assert_eq!(slow.on_kernel(), OnKernel::Refused("it is too slow"));
        assert_eq!(serde_json::to_string(&Pace::Plain).unwrap(), r#""plain""#);
        let fast = Pace::At(Rate::from_bps(FASTEST.as_bps() + 1));
        assert_eq!(fast.check().unwrap_err().key, "at-rate");
    }

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
