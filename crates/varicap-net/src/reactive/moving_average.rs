//! Control by a single threshold of the moving average of the queue. Source: [lrl, §3.1].

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Probability};

use super::control::{
    LoadReactiveControl, Occupancy, QueueSample, ReactivePart, Setting, check_steps, check_threshold,
    check_weight, weight,
};
use super::step::Step;

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
            threshold: Amount::Bytes(Bytes::new(4000)),
            weight: weight(),
            increment: Step::default(),
            decrement: Step::default(),
        }
    }
}

impl Part for MovingAverageConfig {
    fn check(&self) -> Checked {
        check_threshold("threshold", self.threshold)?;
        check_weight("weight", self.weight)?;
        check_steps(&self.increment, &self.decrement)
    }
}

impl ReactivePart for MovingAverageConfig {
    type Control = MovingAverage;

    fn control(&self) -> MovingAverage {
        MovingAverage { config: *self, average: Occupancy::default() }
    }
}

/// Up above a threshold of the moving average of the queue, down below it.
#[derive(Clone, Debug)]
pub struct MovingAverage {
    config: MovingAverageConfig,
    average: Occupancy,
}

impl LoadReactiveControl for MovingAverage {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        self.average.drift(sample.occupancy, self.config.weight.get());
        let excess = self.average.against(self.config.threshold);
        Setting::of(if excess > 0.0 {
            self.config.increment.above(sample.capacity)
        } else if excess < 0.0 {
            self.config.decrement.below(sample.capacity)
        } else {
            sample.capacity
        })
    }
}
