//! Reservations of flows, as a file describes them. Source: [minrate, §II-A].

use serde::{Deserialize, Serialize};
use varicap_net::{Nonconformant, StepsConfig};
use varicap_tcp::{DelayedConfig, Reservation, TimedConfig};
use varicap_units::{BucketDepth, JsonSchema, Rate, Span};

/// The value of `marked_at` that stands for the sender itself.
pub(crate) const SOURCE: &str = "source";

/// A reservation for each connection or stream of a flow: packets that conform to it are marked. Source: [minrate].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationConfig {
    /// Reserved mean rate, counting packets as on the wire. It may change during a run.
    pub rate: ReservedRate,
    /// Peak rate: packets of a burst that arrive faster are not marked. Default: none, the speed of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
    /// Depth of the token bucket, in bytes or as a time at the reserved rate; the bucket starts full. Default: 50 ms.
    #[serde(default = "bucket")]
    pub bucket: BucketDepth,
    /// Where conforming packets are marked: `source`, or the name of a link on the path to the receiver.
    /// Default: source.
    #[serde(default = "source")]
    pub marked_at: String,
    /// The fate of packets that do not conform, if a link does the marking. Default: pass.
    #[serde(default)]
    pub nonconformant: Nonconformant,
    /// A timer that sends conforming segments even if cwnd does not allow it. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedConfig>,
    /// Segments that find no tokens are held back for a random time. Default: they are sent at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed: Option<DelayedConfig>,
    /// Whether timed transmissions and the reserved part of a rate-adaptive window end permanently when the sender
    /// detects that a marked packet was lost. Default: false.
    #[serde(default)]
    pub safeguard: bool,
}

/// A reserved rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::text)]
pub enum ReservedRate {
    /// The same at all times; may be written as the rate alone: `"10 Mbit/s"`.
    Constant(Rate),
    /// A new rate from each given instant on.
    Steps(StepsConfig),
}
varicap_units::choice!(ReservedRate, |text: &str| {
    let like_a_rate = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    like_a_rate.then(|| text.parse::<Rate>().map(ReservedRate::Constant))
});

fn bucket() -> BucketDepth {
    BucketDepth::Time(Span::from_millis(50))
}

fn source() -> String {
    SOURCE.to_owned()
}

impl ReservationConfig {
    /// A reservation of `rate`, marked at the source, with a bucket of 50 ms.
    pub fn new(rate: Rate) -> ReservationConfig {
        ReservationConfig {
            rate: ReservedRate::Constant(rate),
            peak: None,
            bucket: bucket(),
            marked_at: source(),
            nonconformant: Nonconformant::Pass,
            timed: None,
            delayed: None,
            safeguard: false,
        }
    }

    /// The terms that a sender starts with, at the first of its rates.
    pub fn terms(&self) -> Reservation {
        Reservation {
            rate: self.rates().first().copied().unwrap_or_default(),
            bucket: self.bucket,
            peak: self.peak.unwrap_or(Rate::UNLIMITED),
            timed: self.timed.clone(),
            delayed: self.delayed.clone(),
            safeguard: self.safeguard,
        }
    }

    /// The reserved rates, in the order in which they apply.
    pub(crate) fn rates(&self) -> &[Rate] {
        match &self.rate {
            ReservedRate::Constant(rate) => std::slice::from_ref(rate),
            ReservedRate::Steps(steps) => &steps.rates,
        }
    }
}
