//! Hysteresis control. Source: [lrl, §3.2].

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, require};
use varicap_units::{Amount, Bytes, JsonSchema};

use super::control::{
    LoadReactiveControl, Occupancy, QueueSample, ReactivePart, Setting, check_steps, check_threshold,
};
use super::step::Step;

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
            low: Amount::Bytes(Bytes::new(2000)),
            high: Amount::Bytes(Bytes::new(6000)),
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

impl Part for HysteresisConfig {
    fn check(&self) -> Checked {
        Thresholds { low: self.low, high: self.high }.check()?;
        if let Some(also) = &self.also {
            also.check().map_err(|fault| fault.within("also"))?;
        }
        check_steps(&self.increment, &self.decrement)
    }
}

impl Part for Thresholds {
    fn check(&self) -> Checked {
        let Thresholds { low, high } = *self;
        check_threshold("low", low)?;
        check_threshold("high", high)?;
        let (good, expected) = match (low, high) {
            (Amount::Packets(low), Amount::Packets(most)) => (low <= most, format!("at most `high`, {high}")),
            (Amount::Bytes(low), Amount::Bytes(most)) => (low <= most, format!("at most `high`, {high}")),
            _ => {
                let expected = "in the unit of `high`";
                (false, format!("{expected}, {high}; a second pair of thresholds goes into `also`"))
            }
        };
        require("low", good, low, expected)
    }
}

impl ReactivePart for HysteresisConfig {
    type Control = Hysteresis;

    fn control(&self) -> Hysteresis {
        Hysteresis { config: self.clone() }
    }
}

/// Up above a high threshold, down below a low one, unchanged between them.
#[derive(Clone, Debug)]
pub struct Hysteresis {
    config: HysteresisConfig,
}

/// The regions of Fig. 2, in order of occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Region {
    /// Region 0: less capacity would do.
    Low,
    /// Region 1: the capacity is kept.
    Between,
    /// Region 2: more capacity is needed.
    High,
}

impl Hysteresis {
    fn region(&self, occupancy: Occupancy) -> Region {
        let HysteresisConfig { low, high, also, combine, strict, .. } = &self.config;
        let first = region(&Thresholds { low: *low, high: *high }, occupancy, *strict);
        let Some(second) = also.map(|also| region(&also, occupancy, *strict)) else { return first };
        match combine {
            Combine::Either => first.max(second),
            Combine::Both => first.min(second),
        }
    }
}

/// A queue above the high threshold is in the highest region even if both thresholds are the same and not strict.
fn region(thresholds: &Thresholds, occupancy: Occupancy, strict: bool) -> Region {
    let (low, high) = (occupancy.against(thresholds.low), occupancy.against(thresholds.high));
    if high > 0.0 || (!strict && high == 0.0) {
        Region::High
    } else if low < 0.0 || (!strict && low == 0.0) {
        Region::Low
    } else {
        Region::Between
    }
}

impl LoadReactiveControl for Hysteresis {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        Setting::of(match self.region(sample.occupancy) {
            Region::High => self.config.increment.above(sample.capacity),
            Region::Between => sample.capacity,
            Region::Low => self.config.decrement.below(sample.capacity),
        })
    }
}
