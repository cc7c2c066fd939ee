//! How a channel is described in a scenario file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::{Frequency, Probability, Span};

/// A channel that is good or bad, each for exponential times. Source: [wireless, §III-A].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoodBadConfig {
    /// Mean duration of a good time.
    pub good: Span,
    /// Mean duration of a bad time.
    pub bad: Span,
    /// Probability that a transmission is received that lies in a good time wholly. Default: 1.
    #[serde(default = "certain")]
    pub delivered: Probability,
}

/// A Rayleigh-faded channel: a sum of sinusoids with random phases. Source: Jakes 1974, §1.7 ([jakes93]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RayleighConfig {
    /// Doppler frequency: the receiver's speed over the wavelength.
    pub doppler: Frequency,
    /// Power over its mean [dB] below which the channel is bad. Default: -10 ([wireless, §IV]).
    #[serde(default = "threshold")]
    pub threshold_db: f64,
    /// Probability that a transmission is received during which the power is never below the threshold. Default: 1.
    #[serde(default = "certain")]
    pub delivered: Probability,
    /// Low-frequency oscillators; one more has the Doppler frequency itself. Default: 8.
    #[serde(default = "oscillators")]
    pub oscillators: u32,
}

/// A channel with several states: an n-state continuous-time Markov chain. Source: [wireless, §V].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatesConfig {
    /// Probability that a transmission is received, in each state; in several states, that of the worst of them.
    pub delivered: Vec<Probability>,
    /// Mean holding time of each state.
    pub mean_holding: Vec<Span>,
    /// Probability of each next state (rows sum to 1, zero on the diagonal). Default: every other state alike.
    #[serde(default)]
    pub jumps: Option<Vec<Vec<Probability>>>,
    /// First state. Default: drawn from the stationary distribution.
    #[serde(default)]
    pub start: Option<usize>,
}

fn certain() -> Probability {
    Probability::new(1.0).unwrap_or_default()
}

fn threshold() -> f64 {
    -10.0
}

fn oscillators() -> u32 {
    8
}
