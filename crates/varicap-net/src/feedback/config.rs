//! How a link finds the rate that it tells, and what a source makes of it, as a scenario file says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::{Rate, Span, Stretch, choice};

use crate::Service;

/// How a link finds the rate that it tells a sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum EstimatorConfig {
    /// The rate itself, at each of its changes or by an interval. Source: [ratcp].
    Exact(ExactConfig),
    /// The mean rate of an interval, told at its end. Source: [abr] (INSTCAP).
    Instantaneous(InstantaneousConfig),
    /// The least of sliding averages, or the effective capacity of a finite delta. Source: [abr] (EFFCAP).
    Effective(EffectiveConfig),
}
varicap_units::choice!(EstimatorConfig);

impl Default for EstimatorConfig {
    fn default() -> EstimatorConfig {
        EstimatorConfig::Exact(ExactConfig::default())
    }
}

impl EstimatorConfig {
    /// Whether it tells means, which a link of delivery opportunities has as well.
    pub fn averages(&self) -> bool {
        !matches!(self, EstimatorConfig::Exact(_))
    }

    /// Time from one rate to the next, if rates come regularly.
    pub fn interval(&self) -> Option<Span> {
        match self {
            EstimatorConfig::Exact(exact) => exact.interval,
            EstimatorConfig::Instantaneous(mean) => Some(mean.interval),
            EstimatorConfig::Effective(effective) => Some(effective.interval),
        }
    }
}

/// The rate itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExactConfig {
    /// Time from one update to the next. Default: each change is told at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
}

/// The mean rate of an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InstantaneousConfig {
    /// Over which it is taken, and after which it is told. Default: 100 ms.
    pub interval: Span,
}

impl Default for InstantaneousConfig {
    fn default() -> InstantaneousConfig {
        InstantaneousConfig { interval: Span::from_millis(100) }
    }
}

/// Samples are the mean rates of intervals. M of them make an average, a new one with each sample; the least of the
/// last N averages is told. Until there are so many, what there is counts. Source: [abr, eq. (28)].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EffectiveConfig {
    /// Over which a sample is taken, and after which a rate is told. Default: 30 ms.
    pub interval: Span,
    /// How many samples make an average (M). Default: 1 rtt ([abr, §VI]).
    pub average: Stretch,
    /// Over how many averages the least is taken (N). Default: 7 rtt: with `average` a memory of 8 round trips
    /// ([abr, §VI]).
    pub least: Stretch,
    /// Instead of the least average the effective capacity of the N averages for this delta [1/packet], between their
    /// mean (0) and their least (unlimited). Default: the least. Source: [abr, eqs. (25), (26)].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// Where it is found. Default: link.
    pub at: Place,
}

impl Default for EffectiveConfig {
    fn default() -> EffectiveConfig {
        EffectiveConfig {
            interval: Span::from_millis(30),
            average: Stretch::Rtt(1.0),
            least: Stretch::Rtt(7.0),
            delta: None,
            at: Place::Link,
        }
    }
}

/// Where the effective capacity is found, which decides what a round trip is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum Place {
    /// At the link; a round trip is the flow's propagation delay of both ways, known from its set-up.
    #[default]
    Link,
    /// At the source, from samples that the link tells it; a round trip is what the sender measures. A sample that is
    /// lost on its way does not count. Source: [abr, §VI-B].
    Source(AtSourceConfig),
}
varicap_units::choice!(Place);

/// The effective capacity at the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AtSourceConfig {
    /// Which round trip counts. Default: base.
    pub rtt: MeasuredRtt,
}

/// A round trip that a sender has measured; before that, its propagation delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredRtt {
    /// The least one.
    #[default]
    Base,
    /// The smoothed one (RFC 6298's SRTT), the waiting in the source's own buffer included.
    Smoothed,
}

/// A segmentation buffer without limit behind the sender, served at the rate that `feedback` tells. Rates count packets
/// without link framing. Source: [abr, §III-A].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AbrConfig {
    /// A constant rate, instead of one that is told ([abr, §IV]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The rate before the first one is told, and after it has expired. Default: `peak`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Rate>,
    /// The least rate, whatever is told. Default: 0 bit/s.
    pub minimum: Rate,
    /// The largest rate, whatever is told. Default: unlimited.
    pub peak: Rate,
    /// By how much an update may raise the rate; it falls at once. Default: unlimited.
    pub increase: Rate,
    /// How the rate is measured out. Default: at-start: it does not change during a packet.
    pub service: Service,
}

impl Default for AbrConfig {
    fn default() -> AbrConfig {
        AbrConfig {
            rate: None,
            initial: None,
            minimum: Rate::ZERO,
            peak: Rate::UNLIMITED,
            increase: Rate::UNLIMITED,
            service: Service::AtStart,
        }
    }
}
