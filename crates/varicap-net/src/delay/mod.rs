//! Propagation delay: a piecewise-constant path of delays, generated forward in time from its own random stream.
//!
//! A path never depends on traffic. A frame takes the delay of the instant at which it leaves the server, to the
//! nanosecond; some delays are drawn anew for each frame that leaves. Where a link keeps frames in order, one that would come out before those ahead of it comes out with the
//! last of them.
//!
//! A new delay is one file that implements [`DelayPart`] for its configuration, and one line of the registry below, from
//! which the choice in a scenario file, the parts, the paths and their dispatch are generated.

mod constant;
mod markov;
mod netem;
mod steps;
mod trace;
mod wifi;

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{JsonSchema, Span, Stream, Streams, Time, choice, stream_name};

use crate::error::NetError;
use crate::file::{Files, ReadFile};
use crate::handover::{HandedOver, Jumping};

pub use constant::ConstantDelay;
pub use markov::{MarkovDelay, MarkovDelayConfig, MarkovDelayParts};
pub use netem::{NetemDelay, NetemDelayConfig, NetemDelayParts};
pub use steps::StepsDelayConfig;
pub use trace::{TraceDelayConfig, read_delays};
pub use wifi::{WifiDelay, WifiDelayConfig, WifiDelayParts};

/// A delay that holds until an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelaySegment {
    /// The delay of what leaves the server during the segment.
    pub delay: Span,
    /// The end of the segment; never if the delay holds indefinitely.
    pub until: Time,
}

/// An exogenous path of delays.
pub trait DelayProcess: Debug + Send {
    /// The segment that `now` lies in: `until` is later than `now`, which never decreases from call to call. The same
    /// instant gives the same segment again. Where each frame has a delay of its own, that is drawn at each call, and
    /// `until` is `now`: it holds for one frame.
    fn segment(&mut self, now: Time) -> DelaySegment;
}

/// The code that the configuration of a delay brings along, next to its own check ([`Part`]).
pub trait DelayPart: Part {
    /// The parts that all runs share: checked, with its files read. Cheap to clone.
    type Parts: Clone + Debug;
    /// The path of one run.
    type Path: DelayProcess;

    /// Checks the configuration, and reads the files that it names through `files`.
    fn read(&self, files: &mut Files<'_>) -> Result<Self::Parts, NetError>;

    /// Long-run mean in time; see [`DelayParts::mean`].
    fn mean(parts: &Self::Parts) -> Span;

    /// The least delay that a path has.
    fn least(parts: &Self::Parts) -> Span;

    /// The path of `parts` that `stream` draws.
    fn path(parts: &Self::Parts, stream: Stream) -> Self::Path;

    /// The name of the stream that draws the path at the link called `link`.
    fn stream_name(_parts: &Self::Parts, link: &str) -> String {
        stream_name::link(link, "delay")
    }

    /// Whether each frame draws a delay of its own.
    fn is_per_frame() -> bool {
        false
    }

    /// Whether all runs meet the same stretch of a trace.
    fn repeats_itself(_parts: &Self::Parts) -> bool {
        false
    }

    /// The flaws of its log, and what was done about them.
    fn said(_parts: &Self::Parts) -> Option<String> {
        None
    }
}

/// Generates, from one line for each delay, the choice in a scenario file, what a link is made of and the path of a run,
/// with their constructors and their static dispatch.
macro_rules! delays {
    ($( $Variant:ident ( $Config:ty ) = $name:literal, $doc:literal; )+) => {
        varicap_units::parts! {
            /// The propagation delay of a link in time: each packet takes the delay of the instant at which it leaves
            /// the server.
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::text)]
            pub enum DelayConfig { $( $Variant(config: $Config) = $name, $doc; )+ }
        }

        /// The parts of a path, checked, with its traces read. Cheap to clone: all runs share it.
        #[derive(Clone, Debug)]
        pub enum DelayParts {
            $( #[doc = $doc] $Variant(<$Config as DelayPart>::Parts), )+
            /// Another one that handovers move.
            HandedOver(Arc<HandedOver>),
        }

        impl DelayParts {
            /// Checks `config` and reads the files that it names through `read_file`. Keys of errors are relative to the
            /// choice.
            pub fn from_config(
                config: &DelayConfig,
                read_file: &mut ReadFile<'_>,
            ) -> Result<DelayParts, NetError> {
                DelayParts::read(config, &mut Files::of(read_file))
            }

            /// As `from_config`, of files of which some may have been read already.
            pub fn read(config: &DelayConfig, files: &mut Files<'_>) -> Result<DelayParts, NetError> {
                let parts = match config {
                    $( DelayConfig::$Variant(config) => config.read(files).map(DelayParts::$Variant), )+
                };
                parts.map_err(|error| error.within(config.name()))
            }

            /// Long-run mean in time, rounded to the nanosecond: from the stationary distribution of a chain, over one
            /// round of a trace. Of steps without a period: their last delay.
            pub fn mean(&self) -> Span {
                match self {
                    $( DelayParts::$Variant(parts) => <$Config as DelayPart>::mean(parts), )+
                    DelayParts::HandedOver(parts) => parts.mean(),
                }
            }

            /// The least delay that a path has.
            pub fn least(&self) -> Span {
                match self {
                    $( DelayParts::$Variant(parts) => <$Config as DelayPart>::least(parts), )+
                    DelayParts::HandedOver(parts) => parts.least(),
                }
            }

            /// Whether each frame draws a delay of its own.
            pub fn is_per_frame(&self) -> bool {
                match self {
                    $( DelayParts::$Variant(_) => <$Config as DelayPart>::is_per_frame(), )+
                    DelayParts::HandedOver(parts) => parts.delay().is_per_frame(),
                }
            }

            /// Whether all runs meet the same stretch of a trace.
            pub fn repeats_itself(&self) -> bool {
                match self {
                    $( DelayParts::$Variant(parts) => <$Config as DelayPart>::repeats_itself(parts), )+
                    DelayParts::HandedOver(parts) => parts.delay().repeats_itself(),
                }
            }

            /// The flaws of its log, and what was done about them.
            pub fn said(&self) -> Option<String> {
                match self {
                    $( DelayParts::$Variant(parts) => <$Config as DelayPart>::said(parts), )+
                    DelayParts::HandedOver(parts) => parts.delay().said(),
                }
            }
        }

        /// The path of one run, dispatched statically.
        #[derive(Debug)]
        pub enum Delay {
            $( #[doc = $doc] $Variant(<$Config as DelayPart>::Path), )+
            /// Another path that handovers move.
            HandedOver(Box<Jumping>),
        }

        impl Delay {
            /// The path of `parts` at the link called `link`, with random numbers from `streams`.
            pub fn new(parts: &DelayParts, link: &str, streams: &Streams) -> Delay {
                match parts {
                    $( DelayParts::$Variant(parts) => {
                        let stream = streams.stream(&<$Config as DelayPart>::stream_name(parts, link));
                        Delay::$Variant(<$Config as DelayPart>::path(parts, stream))
                    } )+
                    DelayParts::HandedOver(parts) => {
                        let path = Delay::new(parts.delay(), link, streams);
                        let stream = streams.stream(&stream_name::handovers());
                        Delay::HandedOver(Box::new(Jumping::new(parts, path, stream)))
                    }
                }
            }
        }

        impl DelayProcess for Delay {
            fn segment(&mut self, now: Time) -> DelaySegment {
                let segment = match self {
                    $( Delay::$Variant(path) => path.segment(now), )+
                    Delay::HandedOver(path) => path.segment(now),
                };
                debug_assert!(segment.until >= now, "a segment that ends at {:?} is none at {now:?}", segment.until);
                segment
            }
        }
    };
}

delays! {
    Constant(Span) = "constant", "The same at all times; may be written as the time alone: `\"20 ms\"`.";
    Steps(StepsDelayConfig) = "steps", "A delay from each given instant on.";
    Trace(TraceDelayConfig) = "trace", "A trace of delays: a log of times and delays, or LeoReplayer's.";
    Markov(MarkovDelayConfig) = "markov", "An n-state continuous-time Markov chain of delays.";
    Netem(NetemDelayConfig) = "netem", "A delay of its own for each packet, as Linux's netem draws it.";
    Wifi(WifiDelayConfig) = "wifi", "A delay of its own for each packet, as on Wi-Fi with hidden nodes.";
}
choice!(DelayConfig, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| text.parse::<Span>().map(DelayConfig::Constant))
});

impl Default for DelayConfig {
    fn default() -> DelayConfig {
        DelayConfig::Constant(Span::ZERO)
    }
}

impl DelayParts {
    /// The delay, if it never changes.
    pub fn constant(&self) -> Option<Span> {
        match self {
            DelayParts::Constant(delay) => Some(*delay),
            _ => None,
        }
    }
}

impl From<Span> for DelayParts {
    fn from(delay: Span) -> DelayParts {
        DelayParts::Constant(delay)
    }
}

/// No delay of the list at `key` is longer than times of a scenario may be.
fn check_delays(key: &str, delays: &[Span]) -> Checked {
    let mut numbered = delays.iter().enumerate();
    numbered.try_for_each(|(index, delay)| part::bounded(&format!("{key}.{index}"), *delay))
}

/// Mean over what a timeline holds, to the nearest nanosecond.
fn mean_of(held: impl Iterator<Item = (Span, Span)>) -> Span {
    let (mut sum, mut nanos): (u128, u128) = (0, 0);
    for (delay, length) in held {
        sum += u128::from(delay.as_nanos()) * u128::from(length.as_nanos());
        nanos += u128::from(length.as_nanos());
    }
    debug_assert!(nanos > 0, "a timeline without length");
    Span::from_nanos(u64::try_from((sum + nanos / 2) / nanos.max(1)).unwrap_or(u64::MAX))
}
