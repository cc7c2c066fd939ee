//! Quantities whose meaning needs a context, and plain numbers with a range.

use crate::{Bytes, Rate, Span};

/// An amount of data as a user writes it: bytes, packets or bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// `"64 kB"`.
    Bytes(Bytes),
    /// `"10 packets"`.
    Packets(u64),
    /// `"1.5 bdp"`: multiples of mean capacity times base round-trip time.
    Bdp(f64),
    /// `"unlimited"`.
    Unlimited,
}

impl Amount {
    /// The amount in bytes [B], where a packet has `packet` bytes and the path the given product [B].
    pub fn bytes(self, packet: Bytes, bdp: Bytes) -> Bytes {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Packets(packets) => Bytes::new(packets.saturating_mul(packet.as_u64())),
            Amount::Bdp(factor) => Bytes::new((factor * bdp.as_u64() as f64 + 0.5) as u64),
            Amount::Unlimited => Bytes::MAX,
        }
    }

    /// The bandwidth-delay product of `capacity` and `rtt` [B].
    pub fn bdp(capacity: Rate, rtt: Span) -> Bytes {
        let bits = (capacity * rtt).as_nanobits() / u128::from(crate::NANOS_PER_SEC);
        Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
}

/// Events per second [1/s], finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Frequency(pub(crate) f64);

impl Frequency {
    /// `per_second` events a second [1/s]; `None` unless finite and not negative.
    pub fn from_hz(per_second: f64) -> Option<Frequency> {
        (per_second.is_finite() && per_second >= 0.0).then_some(Frequency(per_second))
    }

    /// Events per second [1/s].
    pub const fn as_hz(self) -> f64 {
        self.0
    }
}

/// A number in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Probability(pub(crate) f64);

impl Probability {
    /// `value`; `None` unless it lies in [0, 1].
    pub fn new(value: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }

    /// Its value.
    pub const fn get(self) -> f64 {
        self.0
    }
}
