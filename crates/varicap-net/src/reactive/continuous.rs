//! Controls whose capacity is a continuous function of the queue.

use varicap_units::{Amount, Rate, Span};

use super::{LoadReactiveControl, QueueSample, Setting};
use crate::{PiConfig, TargetDelayConfig};

/// Proportional-integral control of the queue: the capacity changes by
/// K_p (q - q_before) + K_i (q - target) T at a sample that comes T after the one before.
#[derive(Clone, Debug)]
pub struct Pi {
    config: PiConfig,
    /// What waited at the last sample [b].
    before: f64,
}

impl Pi {
    /// The control of `config`.
    pub fn new(config: &PiConfig) -> Pi {
        Pi { config: *config, before: 0.0 }
    }
}

impl LoadReactiveControl for Pi {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        let queue = sample.occupancy.bytes * 8.0;
        let target = match self.config.target {
            Amount::Packets(packets) => packets as f64 * sample.packet.as_u64() as f64,
            other => other.bytes(sample.packet, sample.packet).as_u64() as f64,
        } * 8.0;
        let integral = self.config.integral * (queue - target) * seconds(sample.span);
        let change = self.config.proportional * (queue - self.before) + integral;
        self.before = queue;
        Setting::of(rate(sample.capacity.as_bps() as f64 + change))
    }
}

/// The mean rate of arrivals A, and (q - A target) / horizon to bring the queue q to what A brings in the target.
#[derive(Clone, Debug)]
pub struct TargetDelay {
    config: TargetDelayConfig,
    /// [b/s]
    arrivals: f64,
}

impl TargetDelay {
    /// The control of `config`.
    pub fn new(config: &TargetDelayConfig) -> TargetDelay {
        TargetDelay { config: *config, arrivals: 0.0 }
    }
}

impl LoadReactiveControl for TargetDelay {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        if sample.span > Span::ZERO {
            let arrivals = sample.arrived.bytes.as_u64() as f64 * 8.0 / seconds(sample.span);
            self.arrivals += self.config.weight.get() * (arrivals - self.arrivals);
        }
        let excess = sample.occupancy.bytes * 8.0 - self.arrivals * seconds(self.config.target);
        Setting::of(rate(self.arrivals + excess / seconds(self.config.horizon)))
    }
}

fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}

/// The nearest rate [b/s]; a negative one is none.
fn rate(bps: f64) -> Rate {
    Rate::from_bps((bps + 0.5) as u64)
}
