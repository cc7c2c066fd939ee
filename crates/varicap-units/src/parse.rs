//! Reading and writing quantities with their unit: `"0.8 Mbit/s"`, `"50 ms"`, `"64 kB"`, `"1.5 bdp"`, `"2 /s"`.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::{Amount, BucketDepth, Bytes, Cadence, Frequency, Probability, Rate, Span, Stretch};

/// An error for a quantity that cannot be read: what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not {expected}")]
pub struct QuantityError {
    /// The offending text.
    pub found: String,
    /// The form that was expected, with an example.
    pub expected: &'static str,
}

impl QuantityError {
    /// Converts this into an error of a serde format: an invalid value, with what was expected.
    pub fn into_serde<E: de::Error>(self) -> E {
        E::invalid_value(de::Unexpected::Str(&self.found), &self.expected)
    }
}

const K: u64 = 1_000;
const M: u64 = 1_000_000;
const G: u64 = 1_000_000_000;

type Units = &'static [(&'static str, u64)];

/// Nanoseconds in each unit.
const TIME_UNITS: Units =
    &[("ns", 1), ("us", K), ("µs", K), ("ms", M), ("s", G), ("min", 60 * G), ("h", 3600 * G)];
/// Bits per second in each unit.
const RATE_UNITS: Units = &[
    ("bit/s", 1),
    ("kbit/s", K),
    ("Mbit/s", M),
    ("Gbit/s", G),
    ("b/s", 1),
    ("kb/s", K),
    ("Mb/s", M),
    ("Gb/s", G),
    ("bps", 1),
    ("kbps", K),
    ("Mbps", M),
    ("Gbps", G),
];
/// Bytes in each unit.
const BYTE_UNITS: Units = &[
    ("B", 1),
    ("byte", 1),
    ("bytes", 1),
    ("kB", K),
    ("MB", M),
    ("GB", G),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const FREQUENCY_UNITS: &[(&str, f64)] =
    &[("/s", 1.0), ("Hz", 1.0), ("/min", 1.0 / 60.0), ("/h", 1.0 / 3600.0)];

/// Splits `"0.8 Mbit/s"` into its number and unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_')))
        .unwrap_or(text.len());
    // An exponent belongs to the number (`1e6 B`): no unit starts with `e`.
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

/// The number of smallest units in `text`, exact for up to 19 digits and rounded to the nearest.
fn scaled(text: &str, units: Units, expected: &'static str) -> Result<u64, QuantityError> {
    let error = || QuantityError { found: text.to_owned(), expected };
    let (number, unit) = split(text).ok_or_else(error)?;
    let scale = units.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1;
    let digits = text.trim().strip_suffix(unit).unwrap_or(text).trim();
    exact(digits, scale).or_else(|| whole(number * scale as f64)).ok_or_else(error)
}

fn whole(value: f64) -> Option<u64> {
    (value < u64::MAX as f64).then_some((value + 0.5) as u64)
}

/// A plain decimal number times `scale`; `None` if the text is anything else, or too long.
fn exact(number: &str, scale: u64) -> Option<u64> {
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("{integer}{fraction}").replace('_', "").parse().ok()?;
    let unit = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = digits.checked_mul(u128::from(scale))?.checked_add(unit / 2)? / unit;
    u64::try_from(scaled).ok().filter(|&value| value < u64::MAX)
}

pub(crate) const SPAN: &str = "a length of time with its unit, such as \"50 ms\"";
pub(crate) const RATE: &str = "a rate with its unit, such as \"0.8 Mbit/s\"";
pub(crate) const BYTES: &str = "an amount of data with its unit, such as \"64 kB\"";
pub(crate) const AMOUNT: &str = "an amount such as \"64 kB\", \"10 packets\", \"1.5 bdp\" or \"unlimited\"";
pub(crate) const BUCKET_DEPTH: &str = "a depth in time or bytes, such as \"50 ms\" or \"25 kB\"";
pub(crate) const STRETCH: &str =
    "a number of samples, a time or round trips, such as \"7 samples\", \"210 ms\" or \"1 rtt\"";
pub(crate) const CADENCE: &str =
    "a time, or whole acknowledgements or round trips, such as \"10 ms\", \"4 acks\" or \"1 rtt\"";
pub(crate) const FREQUENCY: &str = "a frequency with its unit, such as \"2 /s\"";
pub(crate) const PROBABILITY: &str = "a probability between 0 and 1, such as 0.01 or \"1 %\"";

/// The units of what is expected, for whoever wrote another one; none where it has no list.
pub fn units_of(expected: &str) -> Option<&'static str> {
    match expected {
        SPAN => Some("ns, us, ms, s, min or h"),
        RATE => Some("bit/s, kbit/s, Mbit/s or Gbit/s (bits; also b/s and bps)"),
        BYTES => Some("B, kB, MB or GB, or KiB, MiB or GiB"),
        FREQUENCY => Some("/s, /min, /h or Hz"),
        _ => None,
    }
}

impl FromStr for Span {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Span, QuantityError> {
        scaled(text, TIME_UNITS, SPAN).map(Span::from_nanos)
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        if text.trim() == "unlimited" {
            return Ok(Rate::UNLIMITED);
        }
        scaled(text, RATE_UNITS, RATE).map(Rate::from_bps)
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        scaled(text, BYTE_UNITS, BYTES).map(Bytes::new)
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

impl FromStr for Stretch {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Stretch, QuantityError> {
        let error = || QuantityError { found: text.to_owned(), expected: STRETCH };
        match split(text).ok_or_else(error)? {
            (number, "sample" | "samples") if number.fract() == 0.0 => {
                whole(number).map(Stretch::Samples).ok_or_else(error)
            }
            (number, "rtt" | "RTT") => Ok(Stretch::Rtt(number)),
            _ => text.parse().map(Stretch::Time).map_err(|_: QuantityError| error()),
        }
    }
}

impl FromStr for Cadence {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Cadence, QuantityError> {
        let error = || QuantityError { found: text.to_owned(), expected: CADENCE };
        let count = |number: f64| {
            let count = (number.fract() == 0.0).then(|| whole(number)).flatten();
            count.and_then(|count| u32::try_from(count).ok()).ok_or_else(error)
        };
        match split(text).ok_or_else(error)? {
            (number, "ack" | "acks") => count(number).map(Cadence::Acks),
            (number, "rtt" | "RTT") => count(number).map(Cadence::Rounds),
            _ => text.parse().map(Cadence::Time).map_err(|_: QuantityError| error()),
        }
    }
}

impl FromStr for BucketDepth {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<BucketDepth, QuantityError> {
        if let Ok(time) = text.parse() {
            return Ok(BucketDepth::Time(time));
        }
        let expected = BUCKET_DEPTH;
        text.parse()
            .map(BucketDepth::Bytes)
            .map_err(|QuantityError { found, .. }| QuantityError { found, expected })
    }
}

impl FromStr for Frequency {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Frequency, QuantityError> {
        let error = || QuantityError { found: text.to_owned(), expected: FREQUENCY };
        let (number, unit) = split(text).ok_or_else(error)?;
        let scale = FREQUENCY_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1;
        Ok(Frequency(number * scale))
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

/// Writes `value` in the largest unit in which it is at least one, with as many decimals as needed.
fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (unit, scale) = units.iter().rev().find(|(_, scale)| value >= *scale).unwrap_or(&units[0]);
    write!(f, "{}", value / scale)?;
    if !value.is_multiple_of(*scale) {
        let width = scale.ilog10() as usize;
        let fraction = format!("{:0width$}", value % scale);
        write!(f, ".{}", fraction.trim_end_matches('0'))?;
    }
    write!(f, " {unit}")
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Span::ZERO {
            return f.write_str("0 s");
        }
        show(f, self.as_nanos(), &[("ns", 1), ("us", K), ("ms", M), ("s", G)])
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unlimited() {
            return f.write_str("unlimited");
        }
        show(f, self.as_bps(), &RATE_UNITS[..4])
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // People know sizes of packets and buffers in bytes: `1460 B`, but `64 kB`.
        let bytes = self.as_u64();
        let whole = |(_, scale): &&(&str, u64)| bytes >= *scale && bytes.is_multiple_of(*scale);
        let units = [("B", 1), ("kB", K), ("MB", M), ("GB", G)];
        let (unit, scale) = units.iter().rev().find(whole).unwrap_or(&units[0]);
        write!(f, "{} {unit}", bytes / scale)
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

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stretch::Samples(samples) => write!(f, "{samples} samples"),
            Stretch::Time(time) => time.fmt(f),
            Stretch::Rtt(factor) => write!(f, "{factor} rtt"),
        }
    }
}

impl fmt::Display for Cadence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cadence::Time(time) => time.fmt(f),
            Cadence::Acks(acks) => write!(f, "{acks} acks"),
            Cadence::Rounds(rounds) => write!(f, "{rounds} rtt"),
        }
    }
}

impl fmt::Display for BucketDepth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BucketDepth::Time(time) => time.fmt(f),
            BucketDepth::Bytes(bytes) => bytes.fmt(f),
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

/// Reads a quantity from a string; refuses a bare number and says what is missing.
macro_rules! quantity_in_files {
    ($type:ty, $expected:expr) => {
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
                        text.parse().map_err(QuantityError::into_serde)
                    }
                }
                deserializer.deserialize_str(Reader)
            }
        }
    };
}

quantity_in_files!(Span, SPAN);
quantity_in_files!(Rate, RATE);
quantity_in_files!(Bytes, BYTES);
quantity_in_files!(Amount, AMOUNT);
quantity_in_files!(Stretch, STRETCH);
quantity_in_files!(Cadence, CADENCE);
quantity_in_files!(BucketDepth, BUCKET_DEPTH);
quantity_in_files!(Frequency, FREQUENCY);

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
                text.parse().map_err(QuantityError::into_serde)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Probability, E> {
                Probability::new(value)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &PROBABILITY))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_read_with_their_unit() {
        assert_eq!("50 ms".parse(), Ok(Span::from_millis(50)));
        assert_eq!("1.5us".parse(), Ok(Span::from_nanos(1500)));
        assert_eq!("2 min".parse(), Ok(Span::from_secs(120)));
        assert_eq!("0.8 Mbit/s".parse(), Ok(Rate::from_bps(800_000)));
        assert_eq!("100Gb/s".parse(), Ok(Rate::from_bps(100_000_000_000)));
        assert_eq!("unlimited".parse(), Ok(Rate::UNLIMITED));
        assert_eq!("64 kB".parse(), Ok(Bytes::new(64_000)));
        assert_eq!("64 KiB".parse(), Ok(Bytes::new(65_536)));
        assert_eq!("1e6 B".parse(), Ok(Bytes::new(1_000_000)));
        assert_eq!("10 packets".parse(), Ok(Amount::Packets(10)));
        assert_eq!("1.5 bdp".parse(), Ok(Amount::Bdp(1.5)));
        assert_eq!("90 kB".parse(), Ok(Amount::Bytes(Bytes::new(90_000))));
        assert_eq!("2 /s".parse(), Ok(Frequency(2.0)));
        assert_eq!("7 samples".parse(), Ok(Stretch::Samples(7)));
        assert_eq!("1.5 rtt".parse(), Ok(Stretch::Rtt(1.5)));
        assert_eq!("210 ms".parse(), Ok(Stretch::Time(Span::from_millis(210))));
        assert_eq!("10 ms".parse(), Ok(Cadence::Time(Span::from_millis(10))));
        assert_eq!("4 acks".parse(), Ok(Cadence::Acks(4)));
        assert_eq!("1 rtt".parse(), Ok(Cadence::Rounds(1)));
        assert_eq!("1 %".parse(), Ok(Probability(0.01)));
        assert_eq!("50 ms".parse(), Ok(BucketDepth::Time(Span::from_millis(50))));
        assert_eq!("25 kB".parse(), Ok(BucketDepth::Bytes(Bytes::new(25_000))));
    }

    #[test]
    fn bare_and_wrong_quantities_are_refused() {
        for text in ["50", "", "ms", "-5 ms", "5 Mb/s", "1 ms ms", "nan s", "1e999 s", "20 µ", "1e s"] {
            assert!(text.parse::<Span>().is_err(), "{text:?} was taken for a span");
        }
        assert!("10 mbit/s".parse::<Rate>().is_err(), "units keep their case: milli is not mega");
        assert!("1.5 packets".parse::<Amount>().is_err());
        for text in ["7", "1.5 samples", "-1 rtt", "rtt", "7 packets"] {
            assert!(text.parse::<Stretch>().is_err(), "{text:?} was taken for a stretch");
        }
        for text in ["10", "1.5 acks", "0.5 rtt", "5000000000 acks", "acks", "7 packets"] {
            assert!(text.parse::<Cadence>().is_err(), "{text:?} was taken for a cadence");
        }
        assert!("150 %".parse::<Probability>().is_err());
        let depth = "25".parse::<BucketDepth>().unwrap_err().to_string();
        assert_eq!(depth, "`25` is not a depth in time or bytes, such as \"50 ms\" or \"25 kB\"");
        let error = "50".parse::<Span>().unwrap_err();
        assert_eq!(error.to_string(), "`50` is not a length of time with its unit, such as \"50 ms\"");
    }

    #[test]
    fn sizes_are_shown_without_decimals() {
        let shown = [1460, 64_000, 1500, 0, 2_000_000].map(|bytes| Bytes::new(bytes).to_string());
        assert_eq!(shown, ["1460 B", "64 kB", "1500 B", "0 B", "2 MB"]);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(nanos in 0u64..1 << 62, bps in 0u64..1 << 62) {
            let (span, rate) = (Span::from_nanos(nanos), Rate::from_bps(bps));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            prop_assert_eq!(Bytes::new(nanos).to_string().parse(), Ok(Bytes::new(nanos)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = (text.parse::<Span>(), text.parse::<Rate>(), text.parse::<Amount>(), text.parse::<Probability>());
        }
    }
}
