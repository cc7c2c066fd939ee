//! How a link is put together, as a scenario file says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::{Bytes, Frequency, Probability, Rate, Span, choice};

use crate::{GoodBadConfig, LoadReactiveConfig, RayleighConfig, StatesConfig};

/// The capacity that a link offers in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::text)]
#[expect(clippy::large_enum_variant, reason = "there is one for each link")]
pub enum CapacityConfig {
    /// The same at all times; may be written as the rate alone: `"10 Mbit/s"`.
    Constant(Rate),
    /// A rate from each given instant on.
    Steps(StepsConfig),
    /// A rate trace: a CSV file of times and rates.
    Trace(TraceConfig),
    /// A trace of delivery opportunities in Mahimahi's format.
    Opportunities(OpportunitiesConfig),
    /// An n-state continuous-time Markov chain.
    Markov(MarkovConfig),
    /// A Markov chain that may change only at the boundaries of slots.
    SlottedMarkov(SlottedMarkovConfig),
    /// What ephemeral sessions leave: C/(m+1) while m of them are active.
    Sessions(SessionsConfig),
    /// What a controller sets by the queue at the link.
    LoadReactive(LoadReactiveConfig),
}
varicap_units::choice!(CapacityConfig, |text: &str| {
    let like_a_rate = text == "unlimited" || text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    like_a_rate.then(|| text.parse::<Rate>().map(CapacityConfig::Constant))
});

/// A rate from each given instant on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepsConfig {
    /// When each rate begins, in increasing order, the first at `"0 s"`.
    pub at: Vec<Span>,
    /// The rates, as many as instants.
    pub rates: Vec<Rate>,
    /// If given, the steps repeat with this period.
    #[serde(default)]
    pub period: Option<Span>,
}

/// A CSV file of rates; its header names the columns, `time_s` and `rate_bps`, `rate_kbps` or `rate_mbps`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// After its last row, whose rate holds as long as the one before it, the trace begins again; otherwise its last
    /// rate stays. Default: true.
    #[serde(default = "yes")]
    pub repeat: bool,
}

/// A trace of delivery opportunities: one non-decreasing integer a line, in ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpportunitiesConfig {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// Bytes that an opportunity carries. Default: 1500 B.
    #[serde(default = "opportunity")]
    pub size: Bytes,
    /// Mahimahi's exact rules: 1504 bytes an opportunity and 4 more in each packet, whole milliseconds. Default: false.
    #[serde(default)]
    pub mahimahi: bool,
    /// Whether the trace begins again after its last opportunity. Default: true.
    #[serde(default = "yes")]
    pub repeat: bool,
}

/// An n-state continuous-time Markov chain of rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkovConfig {
    /// The rate in each state.
    pub rates: Vec<Rate>,
    /// Mean holding time of each state.
    pub mean_holding: Vec<Span>,
    /// Probability of each next state (rows sum to 1, zero on the diagonal). Default: every other state alike.
    #[serde(default)]
    pub jumps: Option<Vec<Vec<Probability>>>,
    /// First state. Default: drawn from the stationary distribution.
    #[serde(default)]
    pub start: Option<usize>,
}

/// A Markov chain that may change only at multiples of `step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlottedMarkovConfig {
    /// The rate in each state.
    pub rates: Vec<Rate>,
    /// Length of a slot.
    pub step: Span,
    /// Probability of each next state after a slot (rows sum to 1).
    pub transitions: Vec<Vec<Probability>>,
    /// First state. Default: drawn from the stationary distribution.
    #[serde(default)]
    pub start: Option<usize>,
}

/// Ephemeral sessions that share the link equally with one persistent session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionsConfig {
    /// Capacity of the whole link, C.
    pub capacity: Rate,
    /// Arrivals of sessions.
    pub arrivals: Frequency,
    /// Mean of the exponential size of a session.
    pub mean_size: Bytes,
    /// Most sessions at a time; more are turned away.
    pub at_most: u32,
}

/// How the server measures out its capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// The capacity is integrated over each frame's own transmission, as a real link does.
    #[default]
    Fluid,
    /// The duration is fixed when transmission begins, as some papers assume.
    AtStart,
}

/// Random loss on the wire, after the server: a lost frame has used its capacity. The first two are stepped once per
/// frame (per transmission of a link with `arq`); the others are channels in time, whatever is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::text_or_number)]
pub enum LossConfig {
    /// Nothing is lost.
    #[default]
    None,
    /// Each frame with the same probability; may be written as the probability alone: `"1 %"`.
    Bernoulli(Probability),
    /// Two states with a loss probability each. Source: Gilbert 1960, Elliott 1963.
    GilbertElliott(GilbertElliottConfig),
    /// A channel that is good or bad for exponential times; what is not sent in a good time wholly is lost.
    Markov(GoodBadConfig),
    /// Rayleigh fading: what is sent while the power is below a threshold is lost.
    Rayleigh(RayleighConfig),
    /// A channel with several states, in continuous time; what is sent fares as in the worst state that it meets.
    States(StatesConfig),
}
varicap_units::choice!(LossConfig, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| text.parse::<Probability>().map(LossConfig::Bernoulli))
});

/// The Gilbert-Elliott channel, stepped once per frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottConfig {
    /// Probability of turning bad, per frame.
    pub to_bad: Probability,
    /// Probability of turning good, per frame.
    pub to_good: Probability,
    /// Loss probability in the good state. Default: 0.
    #[serde(default)]
    pub loss_good: Probability,
    /// Loss probability in the bad state. Default: 1.
    #[serde(default = "certain")]
    pub loss_bad: Probability,
}

/// What the link layer adds to each frame before it is sent. A queue counts frames without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Framing {
    /// Bytes added to each frame. Default: 0 B.
    pub overhead: Bytes,
    /// The frame and its overhead are cut into cells, the last one filled up. Default: no cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
}

/// Cells of fixed size, as in ATM: 48 bytes of payload in 53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cells {
    /// What of a frame a cell carries. Default: 48 B.
    pub payload: Bytes,
    /// What a cell takes on the wire. Default: 53 B.
    pub size: Bytes,
}

impl Default for Cells {
    fn default() -> Cells {
        Cells { payload: Bytes::new(48), size: Bytes::new(53) }
    }
}

impl Framing {
    /// What a frame of `bytes` takes on the wire [B].
    #[inline]
    pub fn framed(&self, bytes: Bytes) -> Bytes {
        let bytes = bytes + self.overhead;
        match self.cells {
            None => bytes,
            Some(cells) => cells.size * bytes.as_u64().div_ceil(cells.payload.as_u64().max(1)),
        }
    }
}

fn yes() -> bool {
    true
}

fn opportunity() -> Bytes {
    Bytes::new(1500)
}

fn certain() -> Probability {
    Probability::new(1.0).unwrap_or_default()
}
