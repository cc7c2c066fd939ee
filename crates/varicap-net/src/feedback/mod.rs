//! The rates that a link advertises to the source about its capacity, and the source's use of them.
//!
//! A new estimator is one file that implements [`EstimatorPart`] for its configuration, and one line of the registry
//! below.

mod advice;
mod config;
mod effective;
mod exact;
mod instantaneous;
mod policy;
mod source;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use varicap_units::part::Part;
use varicap_units::{Bytes, JsonSchema, Rate, Span, Time, Work, choice};

use crate::frame::Backlog;

pub use advice::{ReceivedAdvice, SconeConfig};
pub use config::AbrConfig;
pub use effective::{
    AtSourceConfig, Effective, EffectiveConfig, MOST_SAMPLES, MeasuredRtt, Place, SlidingAverages,
    SourceEstimate,
};
pub use exact::{Exact, ExactConfig};
pub use instantaneous::{Instantaneous, InstantaneousConfig};
pub use policy::{Policy, PolicyConfig};
pub use source::RateSource;

/// The scale of the stretches of a configuration and its delta.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// A round trip.
    pub rtt: Span,
    /// A packet [B].
    pub packet: Bytes,
}

/// The round trips that a sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownRtt {
    /// The least one.
    pub base: Span,
    /// The smoothed one.
    pub smoothed: Span,
}

/// An estimator of a link's rate, fed by the link's observer and polled like a link: observe what happens in order of time, and
/// before that advertise what is due. The world delays what is advertised and hands it to a shaper or to a congestion
/// control. An estimator only observes: it never changes what happens at the link.
pub trait RateFeedback: Debug + Send {
    /// From `now` on the link offers `capacity`, and `backlog` waits.
    fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog);
    /// At `now` the link had an opportunity to do `work`: of a link that has no rate at each instant only means are
    /// known.
    fn pass(&mut self, _now: Time, _work: Work) {}
    /// The next rate that is due by `now`; call it until it gives none.
    fn advertise(&mut self, now: Time) -> Option<Rate>;
    /// When the next rate is due.
    fn poll_at(&self) -> Time;
}

/// The code that the configuration of an estimator brings along, next to its own check ([`Part`]).
pub trait EstimatorPart: Part {
    /// The estimator that runs at the link.
    type Estimator: RateFeedback;

    /// Whether it advertises means, which a link of delivery opportunities has as well.
    fn averages(&self) -> bool {
        true
    }

    /// Time from one rate to the next, if rates come regularly.
    fn interval(&self) -> Option<Span> {
        None
    }

    /// The estimator at a link that offers `capacity` from `now` on. Stretches and delta refer to `scale`.
    fn estimator(&self, scale: Scale, now: Time, capacity: Rate) -> Self::Estimator;

    /// The estimate that the source makes of what it hears, if it makes one; `scale` holds until it has measured a
    /// round trip.
    fn at_source(&self, _scale: Scale) -> Option<SourceEstimate> {
        None
    }

    /// Exponential functions that an update costs for a flow with the round trip `rtt`.
    fn exponentials(&self, _rtt: Span) -> f64 {
        0.0
    }
}

impl<T: RateFeedback> RateFeedback for Box<T> {
    fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog) {
        (**self).observe(now, capacity, backlog);
    }

    fn pass(&mut self, now: Time, work: Work) {
        (**self).pass(now, work);
    }

    fn advertise(&mut self, now: Time) -> Option<Rate> {
        (**self).advertise(now)
    }

    fn poll_at(&self) -> Time {
        (**self).poll_at()
    }
}

/// Generates, from one line for each estimator, the choice in a scenario file, and the estimator of a link with its
/// constructor and its static dispatch.
macro_rules! estimators {
    ($( $Variant:ident ( $Config:ty ) = $name:literal, $doc:literal; )+) => {
        varicap_units::parts! {
            /// How a link finds the rate that it advertises to a sender.
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::names)]
            pub enum EstimatorConfig { $( $Variant(config: $Config) = $name, $doc; )+ }
        }
        choice!(EstimatorConfig);

        impl EstimatorConfig {
            /// Whether it advertises means, which a link of delivery opportunities has as well.
            pub fn averages(&self) -> bool {
                match self {
                    $( EstimatorConfig::$Variant(config) => config.averages(), )+
                }
            }

            /// Time from one rate to the next, if rates come regularly.
            pub fn interval(&self) -> Option<Span> {
                match self {
                    $( EstimatorConfig::$Variant(config) => config.interval(), )+
                }
            }

            /// The estimate that the source makes of what it hears, if it makes one.
            pub fn at_source(&self, scale: Scale) -> Option<SourceEstimate> {
                match self {
                    $( EstimatorConfig::$Variant(config) => config.at_source(scale), )+
                }
            }

            /// Exponential functions that an update costs for a flow with the round trip `rtt`.
            pub fn exponentials(&self, rtt: Span) -> f64 {
                match self {
                    $( EstimatorConfig::$Variant(config) => config.exponentials(rtt), )+
                }
            }
        }

        /// An estimator of a link's rate, dispatched statically.
        #[derive(Clone, Debug)]
        pub enum Estimator {
            $( #[doc = $doc] $Variant(<$Config as EstimatorPart>::Estimator), )+
        }

        impl Estimator {
            /// The part of the estimator that `config` names which is at the link, on one that offers `capacity` from
            /// `now` on. Stretches and delta refer to `scale`.
            pub fn new(config: &EstimatorConfig, scale: Scale, now: Time, capacity: Rate) -> Estimator {
                match config {
                    $( EstimatorConfig::$Variant(config) => {
                        Estimator::$Variant(config.estimator(scale, now, capacity))
                    } )+
                }
            }
        }

        impl RateFeedback for Estimator {
            fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog) {
                match self {
                    $( Estimator::$Variant(estimator) => estimator.observe(now, capacity, backlog), )+
                }
            }

            fn pass(&mut self, now: Time, work: Work) {
                match self {
                    $( Estimator::$Variant(estimator) => estimator.pass(now, work), )+
                }
            }

            fn advertise(&mut self, now: Time) -> Option<Rate> {
                match self {
                    $( Estimator::$Variant(estimator) => estimator.advertise(now), )+
                }
            }

            fn poll_at(&self) -> Time {
                match self {
                    $( Estimator::$Variant(estimator) => estimator.poll_at(), )+
                }
            }
        }
    };
}

estimators! {
    Exact(ExactConfig) = "exact", "The rate itself, at each of its changes or by an interval. Source: [ratcp].";
    Instantaneous(InstantaneousConfig) = "instantaneous",
        "The mean rate of an interval, advertised at its end. Source: [abr] (INSTCAP).";
    Effective(EffectiveConfig) = "effective",
        "The least of sliding averages, or the effective capacity of a finite delta. Source: [abr] (EFFCAP).";
    Policy(PolicyConfig) = "policy",
        "A rate that a policy sets, whatever the capacity. Source: draft-ietf-scone-protocol-07.";
}

impl Default for EstimatorConfig {
    fn default() -> EstimatorConfig {
        EstimatorConfig::Exact(ExactConfig::default())
    }
}
