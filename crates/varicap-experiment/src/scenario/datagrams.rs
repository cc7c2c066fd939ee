//! Flows of datagrams, as a file describes them.

use serde::{Deserialize, Serialize};
use varicap_app::RealTime;
use varicap_units::{Bytes, JsonSchema, Rate, choice};

/// Datagrams, which are sent once. Of those at a constant rate nothing is heard again; an encoder adapts its rate to what
/// arrives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// Rate of the datagrams on the wire; kept exactly, however short they are.
    pub rate: DatagramRate,
    /// Size of each datagram on the wire; of those of an encoder, the largest. Default: 1500 B.
    #[serde(default = "datagram")]
    pub size: Bytes,
    /// How the datagrams are spaced; those of an encoder's frame are so evenly. Default: constant.
    #[serde(default)]
    pub spacing: Spacing,
}

/// A rate of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::text)]
pub enum DatagramRate {
    /// The same at all times; may be written as the rate alone: `"10 Mbit/s"`.
    Constant(Rate),
    /// That of a camera whose encoder follows what arrives in time, as RTP carries it.
    RealTime(RealTime),
}
choice!(DatagramRate, |text: &str| {
    let like_a_rate = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    like_a_rate.then(|| text.parse::<Rate>().map(DatagramRate::Constant))
});

impl DatagramRate {
    /// The fastest that it can be.
    pub fn fastest(self) -> Rate {
        match self {
            DatagramRate::Constant(rate) => rate,
            DatagramRate::RealTime(camera) => camera.maximum,
        }
    }
}

/// How datagrams are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// At equal intervals.
    #[default]
    Constant,
    /// As a Poisson process.
    Poisson,
}

fn datagram() -> Bytes {
    Bytes::new(1500)
}
