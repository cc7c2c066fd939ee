//! The common interface of controllers of load-reactive links, and their registry.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, require};
use varicap_units::{Amount, Bytes, JsonSchema, Probability, Rate, Span, Time, choice};

use super::custom::CustomControl;
use super::hysteresis::HysteresisConfig;
use super::moving_average::MovingAverageConfig;
use super::pi::PiConfig;
use super::step::Step;
use super::target_delay::TargetDelayConfig;
use crate::frame::Backlog;
use crate::queue::Limit;

/// How full a queue is, averaged or not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Occupancy {
    /// Frames in the queue.
    pub frames: f64,
    /// Bytes in the queue [B].
    pub bytes: f64,
}

impl Occupancy {
    /// Moves by the share `weight` towards `newest`: a moving average.
    pub(crate) fn drift(&mut self, newest: Occupancy, weight: f64) {
        self.frames += weight * (newest.frames - self.frames);
        self.bytes += weight * (newest.bytes - self.bytes);
    }

    /// By how much it exceeds `threshold`, in the threshold's own unit; negative below it.
    pub(super) fn against(self, threshold: Amount) -> f64 {
        match threshold {
            Amount::Packets(packets) => self.frames - packets as f64,
            // Only amounts in bytes and packets are accepted as thresholds.
            other => self.bytes - other.bytes(Bytes::ZERO, Bytes::ZERO).as_u64() as f64,
        }
    }
}

impl From<Backlog> for Occupancy {
    fn from(backlog: Backlog) -> Occupancy {
        Occupancy { frames: f64::from(backlog.frames), bytes: backlog.bytes.as_u64() as f64 }
    }
}

/// The sample of its link that a controller sees. Frames that are outside the control are in none of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSample {
    /// The instant of the sample.
    pub at: Time,
    /// Time since the last sample; zero at the first.
    pub span: Span,
    /// The capacity now.
    pub capacity: Rate,
    /// The least capacity that the link is to have.
    pub minimum: Rate,
    /// The residual capacity: the most there is for it now.
    pub residual: Rate,
    /// The occupancy that the scenario chose: instantaneous, mean or smoothed.
    pub occupancy: Occupancy,
    /// The frames that wait now.
    pub waiting: Backlog,
    /// Mean of what waited since the last sample.
    pub mean: Occupancy,
    /// Moving average of what waited at the samples.
    pub smoothed: Occupancy,
    /// The frames that came since the last sample, lost or not.
    pub arrived: Backlog,
    /// The frames that were lost at the queue since the last sample.
    pub lost: Backlog,
    /// A full-sized packet [B].
    pub packet: Bytes,
}

/// The setting that a controller wants of its link until the next sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The capacity; the link keeps it between its minimum and the residual.
    pub capacity: Rate,
    /// The propagation delay, if it is to change. Frames keep their order.
    pub delay: Option<Span>,
    /// The limit of the queue, if it is to change. What waits already stays.
    pub limit: Option<Limit>,
}

impl Setting {
    /// This capacity, and nothing else changed.
    pub fn of(capacity: Rate) -> Setting {
        Setting { capacity, delay: None, limit: None }
    }
}

/// Sets the capacity of a link by what waits there (a load-reactive control algorithm, LRCA). Source: [lrl, §3.1].
///
/// A sample holds the capacity that the link really has, so a controller that only says by how much it wants to change
/// it does not wind up at a limit.
pub trait LoadReactiveControl: Debug + Send {
    /// The setting of the link from this sample on.
    fn on_sample(&mut self, sample: &QueueSample) -> Setting;
}

/// The code that the configuration of a controller brings along, next to its own check ([`Part`]).
pub trait ReactivePart: Part {
    /// The controller of one link.
    type Control: LoadReactiveControl;

    /// A controller that has seen nothing yet.
    fn control(&self) -> Self::Control;

    /// The name of the controller that has to come from outside, if there is to be one.
    fn policy(&self) -> Option<&str> {
        None
    }
}

/// Generates, from one line for each controller, the choice in a scenario file, and the controller of a link with its
/// constructor and its static dispatch.
macro_rules! reactive_controls {
    ($( $Variant:ident ( $Config:ty ) = $name:literal, $doc:literal; )+) => {
        varicap_units::parts! {
            /// How a capacity follows the queue.
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::names)]
            pub enum ReactiveControlConfig { $( $Variant(config: $Config) = $name, $doc; )+ }
        }
        choice!(ReactiveControlConfig);

        impl ReactiveControlConfig {
            /// The name of the controller that has to come from outside, if there is to be one.
            pub fn policy(&self) -> Option<&str> {
                match self {
                    $( ReactiveControlConfig::$Variant(config) => config.policy(), )+
                }
            }
        }

        /// A controller of a load-reactive link, dispatched statically.
        #[derive(Debug)]
        pub enum Control {
            $( #[doc = $doc] $Variant(<$Config as ReactivePart>::Control), )+
        }

        impl Control {
            /// The controller that `config` names.
            pub fn new(config: &ReactiveControlConfig) -> Control {
                match config {
                    $( ReactiveControlConfig::$Variant(config) => Control::$Variant(config.control()), )+
                }
            }
        }

        impl LoadReactiveControl for Control {
            fn on_sample(&mut self, sample: &QueueSample) -> Setting {
                match self {
                    $( Control::$Variant(control) => control.on_sample(sample), )+
                }
            }
        }
    };
}

reactive_controls! {
    Hysteresis(HysteresisConfig) = "hysteresis",
        "Up above a high threshold, down below a low one. Source: [lrl, §3.2].";
    MovingAverage(MovingAverageConfig) = "moving-average",
        "Up above a single threshold of the moving average of the queue, down below it. Source: [lrl, §3.1].";
    Pi(PiConfig) = "pi", "Proportional-integral control of the queue towards a target.";
    TargetDelay(TargetDelayConfig) = "target-delay", "What arrives, and what brings the queueing delay to a target.";
    Custom(CustomControl) = "custom",
        "One written in Python, by the name under which it was given to `varicap.run`.";
}

impl Default for ReactiveControlConfig {
    fn default() -> ReactiveControlConfig {
        ReactiveControlConfig::Hysteresis(HysteresisConfig::default())
    }
}

/// A threshold is an amount in bytes or packets; zero is one that nothing is below.
pub(super) fn check_threshold(key: &str, threshold: Amount) -> Checked {
    let good = match threshold {
        Amount::Bytes(bytes) => bytes.as_u64() < 1 << 60,
        Amount::Packets(packets) => packets <= u64::from(u32::MAX),
        Amount::Bdp(_) | Amount::Unlimited => false,
    };
    require(key, good, threshold, "an amount in bytes or packets")
}

/// The newest sample of a moving average has some weight.
pub(super) fn check_weight(key: &str, weight: Probability) -> Checked {
    require(key, weight.get() > 0.0, weight, "above 0: with no weight the average never moves")
}

/// Steps up and down both move.
pub(super) fn check_steps(increment: &Step, decrement: &Step) -> Checked {
    increment.check().map_err(|fault| fault.within("increment"))?;
    decrement.check().map_err(|fault| fault.within("decrement"))
}

/// The usual weight of the newest sample in a moving average.
pub(super) fn weight() -> Probability {
    Probability::new(0.1).unwrap_or_default()
}

/// The nearest rate [b/s]; a negative one is none.
pub(super) fn nearest_rate(bps: f64) -> Rate {
    Rate::from_bps((bps + 0.5) as u64)
}
