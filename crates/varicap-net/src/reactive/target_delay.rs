//! Control of the queueing delay.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, positive};
use varicap_units::{JsonSchema, Probability, Span};

use super::control::{
    LoadReactiveControl, QueueSample, ReactivePart, Setting, check_weight, nearest_rate, weight,
};

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

impl Part for TargetDelayConfig {
    fn check(&self) -> Checked {
        positive("target", self.target)?;
        positive("horizon", self.horizon)?;
        check_weight("weight", self.weight)
    }
}

impl ReactivePart for TargetDelayConfig {
    type Control = TargetDelay;

    fn control(&self) -> TargetDelay {
        TargetDelay { config: *self, arrivals: 0.0 }
    }
}

/// The mean rate of arrivals A, and (q - A target) / horizon to bring the queue q to what A brings in the target.
#[derive(Clone, Debug)]
pub struct TargetDelay {
    config: TargetDelayConfig,
    /// Moving average of the rate of arrivals [b/s].
    arrivals: f64,
}

impl LoadReactiveControl for TargetDelay {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        if sample.span > Span::ZERO {
            let arrivals = sample.arrived.bytes.as_u64() as f64 * 8.0 / sample.span.as_secs_f64();
            self.arrivals += self.config.weight.get() * (arrivals - self.arrivals);
        }
        let excess = sample.occupancy.bytes * 8.0 - self.arrivals * self.config.target.as_secs_f64();
        Setting::of(nearest_rate(self.arrivals + excess / self.config.horizon.as_secs_f64()))
    }
}
