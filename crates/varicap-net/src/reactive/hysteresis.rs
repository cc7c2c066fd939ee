//! Hysteresis control. Source: [lrl, §3.2].

use varicap_units::{Amount, Bytes, Rate};

use super::{LoadReactiveControl, Occupancy, QueueSample, Setting};
use crate::{Combine, HysteresisConfig, MovingAverageConfig, Step, Thresholds};

/// Up above a high threshold, down below a low one, unchanged between them.
#[derive(Clone, Debug)]
pub struct Hysteresis {
    config: HysteresisConfig,
}

/// The regions of Fig. 2, in order of occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Region {
    /// 0: less capacity would do.
    Low,
    /// 1.
    Between,
    /// 2: more is needed.
    High,
}

impl Hysteresis {
    /// The control of `config`.
    pub fn new(config: &HysteresisConfig) -> Hysteresis {
        Hysteresis { config: config.clone() }
    }

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

impl Step {
    /// A step up from `rate`.
    pub(super) fn above(&self, rate: Rate) -> Rate {
        Rate::from_bps(rate.as_bps().saturating_add(self.size(rate).as_bps()))
    }

    /// A step down from `rate`.
    pub(super) fn below(&self, rate: Rate) -> Rate {
        Rate::from_bps(rate.as_bps().saturating_sub(self.size(rate).as_bps()))
    }

    fn size(&self, rate: Rate) -> Rate {
        match self {
            Step::By(step) => *step,
            Step::Proportional(step) => {
                let share = Rate::from_bps((rate.as_bps() as f64 * step.share.get() + 0.5) as u64);
                share.max(step.least)
            }
        }
    }
}

impl Occupancy {
    /// By how much it exceeds `threshold`, in the threshold's own unit; negative below it.
    fn against(self, threshold: Amount) -> f64 {
        match threshold {
            Amount::Packets(packets) => self.frames - packets as f64,
            // Only amounts in bytes and packets are accepted as thresholds.
            other => self.bytes - other.bytes(Bytes::ZERO, Bytes::ZERO).as_u64() as f64,
        }
    }
}

/// Up above a threshold of the moving average of the queue, down below it.
#[derive(Clone, Debug)]
pub struct MovingAverage {
    config: MovingAverageConfig,
    average: Occupancy,
}

impl MovingAverage {
    /// The control of `config`.
    pub fn new(config: &MovingAverageConfig) -> MovingAverage {
        MovingAverage { config: *config, average: Occupancy::default() }
    }
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
