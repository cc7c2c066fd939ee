//! How a load-reactive capacity is put together, as a scenario file says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::{Amount, Probability, Rate, Span, choice};

use crate::{CapacityConfig, MarkovConfig, SessionsConfig, SlottedMarkovConfig, StepsConfig, TraceConfig};

/// A capacity that answers the load: a controller samples the queue and sets what the link offers. Source: [lrl, §3].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadReactiveConfig {
    /// Least capacity, c0; zero is allowed.
    pub minimum: Rate,
    /// Capacity before the first sample. Default: `minimum`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Rate>,
    /// What there is for it at most, c_m: a rate, or a capacity that others vary. Default: 100 Mbit/s ([lrl, §4]).
    #[serde(default = "residual")]
    pub residual: ResidualConfig,
    /// Whether the capacity gives way at once when the residual falls below it, even below `minimum`. Otherwise it keeps
    /// what it has, and only grows no further. Default: true.
    #[serde(default = "yes")]
    pub pre_emption: bool,
    /// Links that name the same pool share its residual, in equitable shares (max-min) of what their controllers want.
    /// They have the same residual, interval and phase. Default: no pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Time from one sample to the next. Default: 100 ms.
    #[serde(default = "interval")]
    pub interval: Span,
    /// The first sample. Default: 0 s.
    #[serde(default)]
    pub phase: Span,
    /// Which occupancy of the queue the controller compares. Default: instantaneous.
    #[serde(default)]
    pub occupancy: OccupancyConfig,
    /// Whether the occupancy counts the packet in service. Default: false.
    #[serde(default)]
    pub counts_in_service: bool,
    /// What becomes of packets that carry no data, such as acknowledgements. Default: inside.
    #[serde(default)]
    pub control_packets: ControlPackets,
    /// If given, the queue's limit follows the capacity: what it carries in this time, at least one packet and at most
    /// the limit that the queue itself has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Span>,
    /// How the capacity follows the queue. Default: hysteresis.
    #[serde(default)]
    pub control: ReactiveControlConfig,
}

/// What others leave of a capacity, in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::text)]
pub enum ResidualConfig {
    /// The same at all times; may be written as the rate alone: `"10 Mbit/s"`.
    Constant(Rate),
    /// A rate from each given instant on.
    Steps(StepsConfig),
    /// A rate trace: a CSV file of times and rates.
    Trace(TraceConfig),
    /// An n-state continuous-time Markov chain.
    Markov(MarkovConfig),
    /// A Markov chain that may change only at the boundaries of slots.
    SlottedMarkov(SlottedMarkovConfig),
    /// What ephemeral sessions leave: C/(m+1) while m of them are active.
    Sessions(SessionsConfig),
}
varicap_units::choice!(ResidualConfig, |text: &str| {
    let like_a_rate = text == "unlimited" || text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    like_a_rate.then(|| text.parse::<Rate>().map(ResidualConfig::Constant))
});

impl ResidualConfig {
    /// The same as a capacity.
    pub fn as_capacity(&self) -> CapacityConfig {
        match self.clone() {
            ResidualConfig::Constant(rate) => CapacityConfig::Constant(rate),
            ResidualConfig::Steps(steps) => CapacityConfig::Steps(steps),
            ResidualConfig::Trace(trace) => CapacityConfig::Trace(trace),
            ResidualConfig::Markov(chain) => CapacityConfig::Markov(chain),
            ResidualConfig::SlottedMarkov(chain) => CapacityConfig::SlottedMarkov(chain),
            ResidualConfig::Sessions(sessions) => CapacityConfig::Sessions(sessions),
        }
    }
}

/// Which occupancy a controller compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum OccupancyConfig {
    /// What waits at the sample.
    #[default]
    Instantaneous,
    /// The mean over the time since the last sample.
    Mean,
    /// A moving average of what waits at the samples.
    Smoothed(SmoothedConfig),
}
varicap_units::choice!(OccupancyConfig);

/// A moving average over samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SmoothedConfig {
    /// Weight of the newest sample. Default: 0.1.
    pub weight: Probability,
}

impl Default for SmoothedConfig {
    fn default() -> SmoothedConfig {
        SmoothedConfig { weight: weight() }
    }
}

/// What becomes of packets that carry no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ControlPackets {
    /// They wait, are counted and take capacity as all others.
    #[default]
    Inside,
    /// They wait and take capacity, but the occupancy does not count them.
    Uncounted,
    /// They pass beside queue and server, and are only delayed by the propagation. Source: [lrl, footnote 1].
    Outside,
}

/// How a capacity follows the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum ReactiveControlConfig {
    /// Up above a high threshold, down below a low one. Source: [lrl, §3.2].
    Hysteresis(HysteresisConfig),
    /// Up above a single threshold of the moving average of the queue, down below it. Source: [lrl, §3.1].
    MovingAverage(MovingAverageConfig),
    /// Proportional-integral control of the queue towards a target.
    Pi(PiConfig),
    /// What arrives, and what brings the queueing delay to a target.
    TargetDelay(TargetDelayConfig),
    /// One written in Python, by the name under which it was given to `varicap.run`.
    Custom(String),
}
varicap_units::choice!(ReactiveControlConfig);

impl Default for ReactiveControlConfig {
    fn default() -> ReactiveControlConfig {
        ReactiveControlConfig::Hysteresis(HysteresisConfig::default())
    }
}

/// Hysteresis control. Source: [lrl, §3.2].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HysteresisConfig {
    /// Below this occupancy the capacity falls; in bytes or packets. Default: 2000 B ([lrl, Fig. 3]).
    pub low: Amount,
    /// Above this occupancy the capacity rises; in bytes or packets. Default: 6000 B ([lrl, Fig. 3]).
    pub high: Amount,
    /// A second pair of thresholds, say in packets beside bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also: Option<Thresholds>,
    /// How two pairs of thresholds join. Default: either.
    pub combine: Combine,
    /// By how much the capacity rises at a sample. Default: 50 kbit/s.
    pub increment: Step,
    /// By how much it falls. Default: 50 kbit/s.
    pub decrement: Step,
    /// Whether a threshold itself counts as between the two: strictly above, strictly below. Default: true.
    pub strict: bool,
}

impl Default for HysteresisConfig {
    fn default() -> HysteresisConfig {
        HysteresisConfig {
            low: Amount::Bytes(varicap_units::Bytes::new(2000)),
            high: Amount::Bytes(varicap_units::Bytes::new(6000)),
            also: None,
            combine: Combine::Either,
            increment: Step::default(),
            decrement: Step::default(),
            strict: true,
        }
    }
}

/// A pair of thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Below this occupancy the capacity falls; in bytes or packets.
    pub low: Amount,
    /// Above this occupancy the capacity rises; in bytes or packets.
    pub high: Amount,
}

/// How two pairs of thresholds join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// Up if one of them says so, down only if both do.
    #[default]
    Either,
    /// Up only if both say so, down if one does.
    Both,
}

/// By how much a capacity changes at a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::text)]
pub enum Step {
    /// Always by the same rate; may be written as the rate alone: `"50 kbit/s"`.
    By(Rate),
    /// In proportion to what it is.
    Proportional(ProportionalStep),
}
varicap_units::choice!(Step, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.').then(|| text.parse::<Rate>().map(Step::By))
});

impl Default for Step {
    /// Source: [lrl, §4].
    fn default() -> Step {
        Step::By(Rate::from_bps(50_000))
    }
}

/// A change in proportion to the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProportionalStep {
    /// The share of the capacity by which it changes. Default: 0.5.
    pub share: Probability,
    /// The least change, so that a capacity of zero can rise. Default: 10 kbit/s.
    pub least: Rate,
}

impl Default for ProportionalStep {
    fn default() -> ProportionalStep {
        let share = Probability::new(0.5).unwrap_or_default();
        ProportionalStep { share, least: Rate::from_bps(10_000) }
    }
}

/// A single threshold on the moving average of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MovingAverageConfig {
    /// Above it the capacity rises, below it falls; in bytes or packets. Default: 4000 B.
    pub threshold: Amount,
    /// Weight of the newest sample. Default: 0.1.
    pub weight: Probability,
    /// By how much the capacity rises at a sample. Default: 50 kbit/s.
    pub increment: Step,
    /// By how much it falls. Default: 50 kbit/s.
    pub decrement: Step,
}

impl Default for MovingAverageConfig {
    fn default() -> MovingAverageConfig {
        MovingAverageConfig {
            threshold: Amount::Bytes(varicap_units::Bytes::new(4000)),
            weight: weight(),
            increment: Step::default(),
            decrement: Step::default(),
        }
    }
}

/// Proportional-integral control in its incremental form, which does not wind up at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PiConfig {
    /// The occupancy to hold, in bytes or packets. Default: 4000 B.
    pub target: Amount,
    /// Bits per second for each bit of a change of the occupancy. Default: 1 /s.
    pub proportional: f64,
    /// Bits per second, each second, for each bit above the target. Default: 1 /s².
    pub integral: f64,
}

impl Default for PiConfig {
    fn default() -> PiConfig {
        let target = Amount::Bytes(varicap_units::Bytes::new(4000));
        PiConfig { target, proportional: 1.0, integral: 1.0 }
    }
}

/// Control of the queueing delay. The capacity is the rate of arrivals and what brings the queue to its target in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TargetDelayConfig {
    /// The queueing delay to hold. Default: 50 ms.
    pub target: Span,
    /// In which time an excess is to be drained. Default: 500 ms.
    pub horizon: Span,
    /// Weight of the newest sample in the mean rate of arrivals. Default: 0.1.
    pub weight: Probability,
}

impl Default for TargetDelayConfig {
    fn default() -> TargetDelayConfig {
        TargetDelayConfig { target: Span::from_millis(50), horizon: Span::from_millis(500), weight: weight() }
    }
}

fn residual() -> ResidualConfig {
    ResidualConfig::Constant(Rate::from_bps(100_000_000))
}

fn yes() -> bool {
    true
}

fn interval() -> Span {
    Span::from_millis(100)
}

fn weight() -> Probability {
    Probability::new(0.1).unwrap_or_default()
}
