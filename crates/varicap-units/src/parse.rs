//! Reading and writing quantities with their unit: `"0.8 Mbit/s"`, `"50 ms"`, `"64 kB"`, `"1.5 bdp"`, `"2 /s"`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::{Amount, Bytes, Frequency, Probability, Rate, Span};

/// A quantity that cannot be read: what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not {expected}")]
pub struct QuantityError {
    /// The offending text.
    pub found: String,
    /// What was expected, with an example.
    pub expected: &'static str,
}

const TIME_UNITS: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
const RATE_UNITS: &[(&str, f64)] = &[
    ("bit/s", 1.0), ("b/s", 1.0), ("bps", 1.0), ("kbit/s", 1e3), ("kb/s", 1e3), ("kbps", 1e3),
    ("Mbit/s", 1e6), ("Mb/s", 1e6), ("Mbps", 1e6), ("Gbit/s", 1e9), ("Gb/s", 1e9), ("Gbps", 1e9),
];
const BYTE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0), ("byte", 1.0), ("bytes", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9),
    ("KiB", 1024.0), ("MiB", 1048576.0), ("GiB", 1073741824.0),
];
const FREQUENCY_UNITS: &[(&str, f64)] = &[("/s", 1.0), ("Hz", 1.0), ("/min", 1.0 / 60.0), ("/h", 1.0 / 3600.0)];

/// Splits `"0.8 Mbit/s"` into its number and unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_'))).unwrap_or(text.len());
    // An exponent belongs to the number (`1e6 B`), a unit that starts with `e` does not exist.
    let end = match text[end..].strip_prefix(['e', 'E']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => {
            let digits = rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |at| at + 1);
            end + 1 + digits
        }
        _ => end,
    };
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some((number, text[end..].trim()))
}

fn scaled(text: &str, units: &[(&str, f64)], expected: &'static str) -> Result<f64, QuantityError> {
    let error = || QuantityError { found: text.to_owned(), expected };
    let (number, unit) = split(text).ok_or_else(error)?;
    let scale = units.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1;
    Ok(number * scale)
}

fn whole(value: f64) -> Option<u64> {
    (value < u64::MAX as f64).then_some((value + 0.5) as u64)
}

const SPAN: &str = "a length of time with its unit, such as \"50 ms\"";
const RATE: &str = "a rate with its unit, such as \"0.8 Mbit/s\"";
const BYTES: &str = "an amount of data with its unit, such as \"64 kB\"";
const AMOUNT: &str = "an amount such as \"64 kB\", \"10 packets\", \"1.5 bdp\" or \"unlimited\"";
const FREQUENCY: &str = "a frequency with its unit, such as \"2 /s\"";
const PROBABILITY: &str = "a probability between 0 and 1, such as 0.01 or \"1 %\"";

impl FromStr for Span {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Span, QuantityError> {
        let nanos = scaled(text, TIME_UNITS, SPAN)?;
        whole(nanos).map(Span::from_nanos).ok_or(QuantityError { found: text.to_owned(), expected: SPAN })
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        if text.trim() == "unlimited" {
            return Ok(Rate::UNLIMITED);
        }
        let bps = scaled(text, RATE_UNITS, RATE)?;
        whole(bps).map(Rate::from_bps).ok_or(QuantityError { found: text.to_owned(), expected: RATE })
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        let bytes = scaled(text, BYTE_UNITS, BYTES)?;
        whole(bytes).map(Bytes::new).ok_or(QuantityError { found: text.to_owned(), expected: BYTES })
    }
}

impl FromStr for Amount {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Amount, QuantityError> {
        let error = || QuantityError { found: text.to_owned(), expected: AMOUNT };
        if text.trim() == "unlimited" {
            return Ok(Amount::Unlimited);
        }
        match split(text).ok_or_else(error)? {
            (number, "packet" | "packets" | "pkt" | "pkts") if number.fract() == 0.0 => {
                whole(number).map(Amount::Packets).ok_or_else(error)
            }
            (number, "bdp" | "BDP") => Ok(Amount::Bdp(number)),
            _ => text.parse().map(Amount::Bytes).map_err(|_: QuantityError| error()),
        }
    }
}

impl FromStr for Frequency {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Frequency, QuantityError> {
        scaled(text, FREQUENCY_UNITS, FREQUENCY).map(Frequency)
    }
}

impl FromStr for Probability {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Probability, QuantityError> {
        let error = || QuantityError { found: text.to_owned(), expected: PROBABILITY };
        let value = match split(text).ok_or_else(error)? {
            (number, "%") => number / 100.0,
            (number, "") => number,
            _ => return Err(error()),
        };
        Probability::new(value).ok_or_else(error)
    }
}

/// The largest unit in which `value` is at least one, and its number with no superfluous digits.
fn show(f: &mut fmt::Formatter<'_>, value: f64, units: &[(&str, f64)]) -> fmt::Result {
    let (unit, scale) = units.iter().rev().find(|(_, scale)| value >= *scale).unwrap_or(&units[0]);
    write!(f, "{} {unit}", value / scale)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.as_nanos() as f64, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unlimited() {
            return f.write_str("unlimited");
        }
        let units = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
        show(f, self.as_bps() as f64, units)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.as_u64() as f64, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)])
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Bytes(bytes) => bytes.fmt(f),
            Amount::Packets(packets) => write!(f, "{packets} packets"),
            Amount::Bdp(factor) => write!(f, "{factor} bdp"),
            Amount::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /s", self.0)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Reads a quantity from a string; a bare number is refused with what is missing.
macro_rules! quantity_in_files {
    ($type:ty, $name:literal, $expected:expr, $example:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                struct Reader;
                impl Visitor<'_> for Reader {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Reader)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $expected, "examples": [$example] })
            }
            fn inline_schema() -> bool {
                false
            }
        }
    };
}

quantity_in_files!(Span, "Span", SPAN, "50 ms");
quantity_in_files!(Rate, "Rate", RATE, "0.8 Mbit/s");
quantity_in_files!(Bytes, "Bytes", BYTES, "64 kB");
quantity_in_files!(Amount, "Amount", AMOUNT, "10 packets");
quantity_in_files!(Frequency, "Frequency", FREQUENCY, "2 /s");

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Probability, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Probability;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(PROBABILITY)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Probability, E> {
                Probability::new(value).ok_or_else(|| {
                    E::custom(QuantityError { found: value.to_string(), expected: PROBABILITY })
                })
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": PROBABILITY,
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string", "examples": ["1 %"] }]
        })
    }
}
