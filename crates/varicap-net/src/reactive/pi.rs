//! Proportional-integral control of the queue.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, require};
use varicap_units::{Amount, Bytes, JsonSchema};

use super::control::{
    LoadReactiveControl, QueueSample, ReactivePart, Setting, check_threshold, nearest_rate,
};

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
        let target = Amount::Bytes(Bytes::new(4000));
        PiConfig { target, proportional: 1.0, integral: 1.0 }
    }
}

impl Part for PiConfig {
    fn check(&self) -> Checked {
        check_threshold("target", self.target)?;
        for (key, gain) in [("proportional", self.proportional), ("integral", self.integral)] {
            require(key, (0.0..=1e9).contains(&gain), gain, "0 to 1e9")?;
        }
        let moves = self.proportional > 0.0 || self.integral > 0.0;
        require("integral", moves, self.integral, "above 0 where `proportional` is 0")
    }
}

impl ReactivePart for PiConfig {
    type Control = Pi;

    fn control(&self) -> Pi {
        Pi { config: *self, before: 0.0 }
    }
}

/// Proportional-integral control of the queue: the capacity changes by
/// K_p (q - q_before) + K_i (q - target) T at a sample that comes T after the one before.
#[derive(Clone, Debug)]
pub struct Pi {
    config: PiConfig,
    /// The backlog at the last sample [b].
    before: f64,
}

impl LoadReactiveControl for Pi {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        let queue = sample.occupancy.bytes * 8.0;
        let target = match self.config.target {
            Amount::Packets(packets) => packets as f64 * sample.packet.as_u64() as f64,
            other => other.bytes(sample.packet, sample.packet).as_u64() as f64,
        } * 8.0;
        let integral = self.config.integral * (queue - target) * sample.span.as_secs_f64();
        let change = self.config.proportional * (queue - self.before) + integral;
        self.before = queue;
        Setting::of(nearest_rate(sample.capacity.as_bps() as f64 + change))
    }
}
