//! Exogenous capacity: a piecewise-constant path of rates, generated forward in time from its own random stream.
//!
//! A path never depends on traffic. Rate 0 is an ordinary state. A load-reactive capacity has no path of its own: a
//! controller at the link sets it (`reactive`); what has a path is the residual that bounds it.
//!
//! A new capacity is one file that implements [`CapacityPart`] for its configuration, and one line of the registry
//! below, from which the choice in a scenario file, the parts, the paths and their dispatch are generated.

mod constant;
mod markov;
mod opportunities;
mod sessions;
mod slotted_markov;
mod steps;
mod trace;
mod trains;

use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;
use varicap_units::part::{self, Checked, Fault, Part};
use varicap_units::{JsonSchema, Rate, Stream, Time, choice, stream_name};

use crate::error::NetError;
use crate::handover::{Interrupted, InterruptedParts, Outages};
use crate::reactive::{LoadReactiveConfig, ReactiveParts};

pub use constant::Constant;
pub use markov::{Markov, MarkovConfig, MarkovParts};
pub(crate) use opportunities::NANOS_PER_MS;
pub use opportunities::{OpportunitiesConfig, OpportunityParts, OpportunityTrace};
pub use sessions::{Sessions, SessionsConfig, SessionsParts};
pub use slotted_markov::{SlottedMarkov, SlottedMarkovConfig, SlottedMarkovParts};
pub use steps::StepsConfig;
pub use trace::{TraceConfig, read_rates};
pub use trains::{LightConfig, LightParts, Trains};

pub use crate::file::{Files, KeptFiles, ReadFile};
pub use crate::offset::TraceOffset;
pub use crate::timeline::{Steps, Timeline};

/// A rate that holds until an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacitySegment {
    /// The capacity during the segment [b/s].
    pub rate: Rate,
    /// The end of the segment; never if the rate holds indefinitely.
    pub until: Time,
}

/// An exogenous path of capacity.
pub trait CapacityProcess: Debug + Send {
    /// The segment that `now` lies in: `until` is later than `now`, which never decreases from call to call. The same
    /// instant gives the same segment again.
    fn segment(&mut self, now: Time) -> CapacitySegment;
}

/// The code that the configuration of a capacity brings along, next to its own check ([`Part`]).
pub trait CapacityPart: Part {
    /// The parts that all runs share: checked, with its files read. Cheap to clone.
    type Parts: Clone + Debug;
    /// The path of one run.
    type Path: CapacityProcess;
    /// Whether the path is drawn at random, so that two links of the same configuration differ.
    const IS_RANDOM: bool = false;

    /// Checks the configuration, and reads the files that it names through `files`.
    fn read(&self, files: &mut Files<'_>) -> Result<Self::Parts, NetError>;

    /// Long-run mean rate [b/s]; see [`CapacityParts::mean_rate`].
    fn mean_rate(parts: &Self::Parts) -> Rate;

    /// The path of `parts` that `stream` draws.
    fn path(parts: &Self::Parts, stream: Stream) -> Self::Path;

    /// The name of the stream that draws the path at the link called `link`.
    fn stream_name(_parts: &Self::Parts, link: &str) -> String {
        stream_name::link(link, "capacity")
    }

    /// Whether all runs meet the same stretch of a trace.
    fn repeats_itself(_parts: &Self::Parts) -> bool {
        false
    }

    /// The flaws of its log, and what was done about them.
    fn said(_parts: &Self::Parts) -> Option<String> {
        None
    }

    /// Why the kernel engine cannot run it, with the key that it objects to; nothing if it can.
    fn refused_by_kernel(_parts: &Self::Parts) -> Option<Fault> {
        None
    }
}

/// Generates, from one line for each capacity, the choice in a scenario file, what a link is made of and the path of a
/// run, with their constructors and their static dispatch. A line marked `as residual` may also bound a load-reactive
/// link.
macro_rules! capacities {
    ($( $Variant:ident ( $Config:ty ) $(as $residual:ident)? = $name:literal, $doc:literal; )+) => {
        varicap_units::parts! {
            /// The capacity that a link offers in time.
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::text)]
            pub enum CapacityConfig { $( $Variant(config: $Config) = $name, $doc; )+ }
        }

        /// The parts of a path, checked, with its traces read. Cheap to clone: all runs share it.
        #[derive(Clone, Debug)]
        pub enum CapacityParts {
            $( #[doc = $doc] $Variant(<$Config as CapacityPart>::Parts), )+
            /// This rate until another is set from outside ([`crate::Link::set_rate`]); no scenario names it.
            Held(Rate),
            /// Another one with the outages of handovers.
            Interrupted(Box<InterruptedParts>),
        }

        impl CapacityParts {
            /// Checks `config` and reads the files that it names through `read_file`. Keys of errors are relative to the
            /// choice.
            pub fn from_config(
                config: &CapacityConfig,
                read_file: &mut ReadFile<'_>,
            ) -> Result<CapacityParts, NetError> {
                CapacityParts::read(config, &mut Files::of(read_file))
            }

            /// As `from_config`, of files of which some may have been read already.
            pub fn read(config: &CapacityConfig, files: &mut Files<'_>) -> Result<CapacityParts, NetError> {
                let parts = match config {
                    $( CapacityConfig::$Variant(config) => config.read(files).map(CapacityParts::$Variant), )+
                };
                parts.map_err(|error| error.within(config.name()))
            }

            /// Long-run mean rate [b/s], exact up to rounding: from the stationary distribution of a chain, over one
            /// round of a trace. Of steps without a period: their last rate. Of a load-reactive capacity: that of its
            /// residual, the most that it can be.
            pub fn mean_rate(&self) -> Rate {
                match self {
                    $( CapacityParts::$Variant(parts) => <$Config as CapacityPart>::mean_rate(parts), )+
                    CapacityParts::Held(rate) => *rate,
                    CapacityParts::Interrupted(parts) => parts.outages.thin(parts.capacity.mean_rate()),
                }
            }

            /// The name of the stream that draws its path at the link called `link`.
            pub fn stream_name(&self, link: &str) -> String {
                match self {
                    $( CapacityParts::$Variant(parts) => <$Config as CapacityPart>::stream_name(parts, link), )+
                    CapacityParts::Held(_) => stream_name::link(link, "capacity"),
                    CapacityParts::Interrupted(parts) => parts.capacity.stream_name(link),
                }
            }

            /// Whether all runs meet the same stretch of a trace.
            pub fn repeats_itself(&self) -> bool {
                match self {
                    $( CapacityParts::$Variant(parts) => <$Config as CapacityPart>::repeats_itself(parts), )+
                    CapacityParts::Held(_) => false,
                    CapacityParts::Interrupted(parts) => parts.capacity.repeats_itself(),
                }
            }

            /// The flaws of its log, and what was done about them.
            pub fn said(&self) -> Option<String> {
                match self {
                    $( CapacityParts::$Variant(parts) => <$Config as CapacityPart>::said(parts), )+
                    CapacityParts::Held(_) => None,
                    CapacityParts::Interrupted(parts) => parts.capacity.said(),
                }
            }

            /// Why the kernel engine cannot run it, with the key that it objects to; nothing if it can.
            pub fn refused_by_kernel(&self) -> Option<Fault> {
                match self {
                    $( CapacityParts::$Variant(parts) => {
                        <$Config as CapacityPart>::refused_by_kernel(parts).map(|fault| fault.within($name))
                    } )+
                    CapacityParts::Held(_) => None,
                    CapacityParts::Interrupted(parts) => parts.capacity.refused_by_kernel(),
                }
            }
        }

        /// The path of one run, dispatched statically.
        #[derive(Debug)]
        pub enum Capacity {
            $( #[doc = $doc] $Variant(<$Config as CapacityPart>::Path), )+
            /// The rate that was set at first; others are set at the link.
            Held(Constant),
            /// Another path with the outages of handovers.
            Interrupted(Box<Interrupted>),
        }

        impl Capacity {
            /// The path of `parts` that `stream` draws. Opportunities and load-reactive capacities are served by the
            /// link itself; as paths of rates, the former count with their mean, the latter with their residual.
            pub fn new(parts: &CapacityParts, stream: Stream) -> Capacity {
                match parts {
                    $( CapacityParts::$Variant(parts) => {
                        Capacity::$Variant(<$Config as CapacityPart>::path(parts, stream))
                    } )+
                    CapacityParts::Held(rate) => Capacity::Held(Constant(*rate)),
                    CapacityParts::Interrupted(parts) => {
                        Capacity::Interrupted(Box::new(Interrupted::new(parts, stream)))
                    }
                }
            }
        }

        impl CapacityProcess for Capacity {
            fn segment(&mut self, now: Time) -> CapacitySegment {
                let segment = match self {
                    $( Capacity::$Variant(path) => path.segment(now), )+
                    Capacity::Held(path) => path.segment(now),
                    Capacity::Interrupted(path) => path.segment(now),
                };
                debug_assert!(segment.until > now, "a segment that ends at {:?} is none at {now:?}", segment.until);
                segment
            }
        }

        residuals! { [] $( $Variant($Config) $(as $residual)? = $name, $doc; )+ }
    };
}

/// Picks the lines of the registry that are marked `as residual`, and generates what bounds a load-reactive link.
macro_rules! residuals {
    ([$($kept:tt)*] $Variant:ident($Config:ty) as residual = $name:literal, $doc:literal; $($rest:tt)*) => {
        residuals! { [$($kept)* $Variant($Config) = $name, $doc;] $($rest)* }
    };
    ([$($kept:tt)*] $Variant:ident($Config:ty) = $name:literal, $doc:literal; $($rest:tt)*) => {
        residuals! { [$($kept)*] $($rest)* }
    };
    ([$( $Variant:ident($Config:ty) = $name:literal, $doc:literal; )+]) => {
        varicap_units::parts! {
            /// The rest of a capacity that others leave, in time.
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::text)]
            pub enum ResidualConfig { $( $Variant(config: $Config) = $name, $doc; )+ }
        }

        impl ResidualConfig {
            /// Whether its path is drawn at random, so that two links of the same configuration differ.
            pub fn is_random(&self) -> bool {
                match self {
                    $( ResidualConfig::$Variant(_) => <$Config as CapacityPart>::IS_RANDOM, )+
                }
            }

            /// Checks it and reads the files that it names through `files`. Keys of errors are relative to the
            /// choice.
            pub(crate) fn read(&self, files: &mut Files<'_>) -> Result<CapacityParts, NetError> {
                let parts = match self {
                    $( ResidualConfig::$Variant(config) => config.read(files).map(CapacityParts::$Variant), )+
                };
                parts.map_err(|error| error.within(self.name()))
            }
        }
    };
}

capacities! {
    Constant(Rate) as residual = "constant",
        "The same at all times; may be written as the rate alone: `\"10 Mbit/s\"`.";
    Steps(StepsConfig) as residual = "steps", "A rate from each given instant on.";
    Trace(TraceConfig) as residual = "trace", "A rate trace: a log of times and rates.";
    Opportunities(OpportunitiesConfig) = "opportunities", "A trace of delivery opportunities in Mahimahi's format.";
    Markov(MarkovConfig) as residual = "markov", "An n-state continuous-time Markov chain.";
    SlottedMarkov(SlottedMarkovConfig) as residual = "slotted-markov",
        "A Markov chain that may change only at the boundaries of slots.";
    Sessions(SessionsConfig) as residual = "sessions",
        "What ephemeral sessions leave: C/(m+1) while m of them are active.";
    LoadReactive(LoadReactiveConfig) = "load-reactive", "What a controller sets by the queue at the link.";
}
choice!(CapacityConfig, |text: &str| {
    constant::shorthand(text).map(|rate| rate.map(CapacityConfig::Constant))
});
choice!(ResidualConfig, |text: &str| {
    constant::shorthand(text).map(|rate| rate.map(ResidualConfig::Constant))
});

impl CapacityParts {
    /// The same with `outages`. Opportunities within one pass unused; of a load-reactive capacity the residual has them.
    pub(crate) fn interrupted(self, outages: Outages) -> CapacityParts {
        match self {
            CapacityParts::Opportunities(parts) => {
                CapacityParts::Opportunities(OpportunityParts { outages: Some(outages), ..parts })
            }
            CapacityParts::LoadReactive(parts) => {
                let ReactiveParts { config, residual } = (*parts).clone();
                let residual = residual.interrupted(outages);
                CapacityParts::LoadReactive(Arc::new(ReactiveParts { config, residual }))
            }
            capacity => CapacityParts::Interrupted(Box::new(InterruptedParts { capacity, outages })),
        }
    }
}

impl CapacityProcess for Box<Capacity> {
    fn segment(&mut self, now: Time) -> CapacitySegment {
        (**self).segment(now)
    }
}

/// No rate of the list at `key` is faster than those of a scenario may be.
fn check_rates(key: &str, rates: &[Rate]) -> Checked {
    let mut numbered = rates.iter().enumerate();
    numbered.try_for_each(|(index, rate)| part::rate(&format!("{key}.{index}"), *rate))
}

/// `weights`-average of rates; unlimited if a rate that has weight is.
fn mean_of(rates: &[Rate], weights: &[f64]) -> Rate {
    debug_assert_eq!(rates.len(), weights.len(), "a weight for each rate");
    let mut sum = 0.0;
    for (rate, weight) in rates.iter().zip(weights) {
        if rate.is_unlimited() && *weight > 0.0 {
            return Rate::UNLIMITED;
        }
        sum += rate.as_bps() as f64 * weight;
    }
    Rate::from_bps((sum + 0.5) as u64)
}
