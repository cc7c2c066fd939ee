//! Quantities whose meaning needs a context, and plain numbers with a range.

use crate::{Bytes, Rate, Span};

/// An amount of data as a user writes it: bytes, packets or bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A number of bytes: `"64 kB"`.
    Bytes(Bytes),
    /// A number of packets: `"10 packets"`.
    Packets(u64),
    /// Multiples of the bandwidth-delay product, mean capacity times base round-trip time: `"1.5 bdp"`.
    Bdp(f64),
    /// No limit: `"unlimited"`.
    Unlimited,
}

impl Amount {
    /// The amount in bytes [B], if a packet has `packet` bytes and the path has the bandwidth-delay product `bdp` [B].
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

/// A stretch of regular samples as a user writes it: as a number of samples, a time, or round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stretch {
    /// A number of samples: `"7 samples"`.
    Samples(u64),
    /// The samples that a length of time begins: `"210 ms"`.
    Time(Span),
    /// Multiples of the samples that a round trip begins: `"1 rtt"`.
    Rtt(f64),
}

impl Stretch {
    /// The number of samples, at least one, if a sample comes every `interval` and a round trip takes `rtt`. Whatever
    /// is not whole is rounded up, starting with the samples of a round trip.
    pub fn samples(self, interval: Span, rtt: Span) -> u64 {
        let begun = |span: Span| span.as_nanos().div_ceil(interval.as_nanos().max(1));
        let samples = match self {
            Stretch::Samples(samples) => samples,
            Stretch::Time(time) => begun(time),
            Stretch::Rtt(factor) => libm::ceil(factor * begun(rtt).max(1) as f64) as u64,
        };
        samples.max(1)
    }
}

/// How often something is due, as a user writes it: after a time, or counted in what a sender hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// A length of time: `"10 ms"`.
    Time(Span),
    /// A number of acknowledgements: `"4 acks"`.
    Acks(u32),
    /// A number of round trips, counted in packets: `"1 rtt"`.
    Rounds(u32),
}

impl Cadence {
    /// The length of time, unless it is counted.
    pub fn time(self) -> Option<Span> {
        match self {
            Cadence::Time(time) => Some(time),
            Cadence::Acks(_) | Cadence::Rounds(_) => None,
        }
    }
}

/// Events per second [1/s], finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Frequency(pub(crate) f64);

impl Frequency {
    /// `per_second` events per second [1/s]; `None` unless `per_second` is finite and not negative.
    pub fn from_hz(per_second: f64) -> Option<Frequency> {
        (per_second.is_finite() && per_second >= 0.0).then_some(Frequency(per_second))
    }

    /// The frequency as events per second [1/s].
    pub const fn as_hz(self) -> f64 {
        self.0
    }
}

/// A number in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Probability(pub(crate) f64);

impl Probability {
    /// The probability `value`; `None` unless it lies in [0, 1].
    pub fn new(value: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }

    /// The probability as a number in [0, 1].
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_of_round_trips_has_whole_round_trips_of_samples() {
        // [abr, §VI-A]: a round trip of 200 ms begins 7 samples of 30 ms; 7 such are 49, not 47.
        let samples = |stretch: Stretch| stretch.samples(Span::from_millis(30), Span::from_millis(200));
        assert_eq!(samples(Stretch::Rtt(1.0)), 7);
        assert_eq!(samples(Stretch::Rtt(7.0)), 49);
        assert_eq!(samples(Stretch::Rtt(0.5)), 4);
        assert_eq!(samples(Stretch::Time(Span::from_millis(90))), 3);
        assert_eq!(samples(Stretch::Time(Span::from_millis(91))), 4);
        assert_eq!(samples(Stretch::Samples(5)), 5);
        assert_eq!(samples(Stretch::Rtt(0.0)), 1);
        assert_eq!(Stretch::Rtt(2.0).samples(Span::from_millis(30), Span::ZERO), 2);
    }
}
