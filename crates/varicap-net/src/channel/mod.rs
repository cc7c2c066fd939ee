//! Channels: what a transmission meets that lasts a while.
//!
//! A channel moves through states in time, whatever is sent: its path is drawn from a random stream of its own, so that
//! two senders under the same seed face the same channel. A transmission fares as in the worst state that it meets:
//! sent while the channel visits states with probabilities p_i of reception, it is received with the least of them.
//! Source: [wireless, §III-A and V].

mod fading;
mod good_bad;
mod states;

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value as Json;
use varicap_units::part::{Fault, Part};
use varicap_units::{Probability, Stream, Time};

use crate::chain::HoldingChain;

pub use fading::{Rayleigh, RayleighConfig};
pub use good_bad::GoodBadConfig;
pub use states::StatesConfig;

/// The code that the configuration of a channel in time brings along, next to its own check ([`Part`]).
pub trait ChannelPart: Part {
    /// Checks the configuration; all runs share what it makes.
    fn channel(&self) -> Result<ChannelParts, Fault>;

    /// The facts of the channel for an analysis, in plain numbers: times in seconds, frequencies in hertz.
    fn facts(&self) -> Json;
}

/// The parts of a channel, checked. Cheap to clone: all runs share it.
#[derive(Clone, Debug)]
pub struct ChannelParts {
    /// Probability that a transmission is received, in each state.
    delivered: Arc<[f64]>,
    law: Law,
}

/// By which law the states of a channel follow one another.
trait ChannelLaw {
    /// The states of one run.
    type Path: StatePath;

    /// Long-run share of time in each state.
    fn shares(&self) -> Vec<f64>;

    /// Roughly how much work a second of it is, in random numbers or cosines [1/s].
    fn work(&self) -> f64;

    /// The states that `stream` draws: the first one, and until when it lasts, at least.
    fn start(&self, stream: Stream) -> (Self::Path, (usize, Time));
}

/// The states of a channel in one run.
trait StatePath {
    /// The state after `state`, which ends at `at`, and until when it lasts, at least.
    fn next(&mut self, state: usize, at: Time) -> (usize, Time);
}

/// Generates, from one line for each law, the law of a channel and its path in a run, dispatched statically.
macro_rules! laws {
    ($( $Law:ident ( $Shared:ty ), $doc:literal; )+) => {
        /// How the states of a channel follow one another.
        #[derive(Clone, Debug)]
        enum Law {
            $( #[doc = $doc] $Law($Shared), )+
        }

        /// The states of a channel in one run.
        #[derive(Clone, Debug)]
        enum Path {
            $( #[doc = $doc] $Law(<$Shared as ChannelLaw>::Path), )+
        }

        impl ChannelLaw for Law {
            type Path = Path;

            fn shares(&self) -> Vec<f64> {
                match self {
                    $( Law::$Law(law) => law.shares(), )+
                }
            }

            fn work(&self) -> f64 {
                match self {
                    $( Law::$Law(law) => law.work(), )+
                }
            }

            fn start(&self, stream: Stream) -> (Path, (usize, Time)) {
                match self {
                    $( Law::$Law(law) => {
                        let (path, first) = law.start(stream);
                        (Path::$Law(path), first)
                    } )+
                }
            }
        }

        impl StatePath for Path {
            fn next(&mut self, state: usize, at: Time) -> (usize, Time) {
                match self {
                    $( Path::$Law(path) => path.next(state, at), )+
                }
            }
        }
    };
}

laws! {
    Chain(Arc<HoldingChain>), "A Markov chain in continuous time.";
    Fading(Rayleigh), "A faded signal, above or below a level.";
}

impl ChannelLaw for Arc<HoldingChain> {
    type Path = (Arc<HoldingChain>, Stream);

    fn shares(&self) -> Vec<f64> {
        self.share().to_vec()
    }

    fn work(&self) -> f64 {
        let times = self.mean_holding().iter().zip(self.share());
        times.map(|(mean, share)| share / mean.as_secs_f64()).sum()
    }

    fn start(&self, mut stream: Stream) -> (Self::Path, (usize, Time)) {
        let first = self.first(&mut stream);
        ((self.clone(), stream), first)
    }
}

impl StatePath for (Arc<HoldingChain>, Stream) {
    fn next(&mut self, state: usize, at: Time) -> (usize, Time) {
        let (chain, stream) = self;
        HoldingChain::next(chain, state, at, stream)
    }
}

impl ChannelParts {
    /// A channel that delivers with these probabilities in its states, which follow `law`.
    fn new(delivered: Arc<[f64]>, law: Law) -> ChannelParts {
        debug_assert_eq!(delivered.len(), law.shares().len(), "a probability for each state");
        ChannelParts { delivered, law }
    }

    /// Long-run share of transmissions without length that are not received.
    pub fn mean_loss(&self) -> f64 {
        let shares = self.law.shares();
        shares.iter().zip(&*self.delivered).map(|(share, delivered)| share * (1.0 - delivered)).sum()
    }

    /// Roughly how much work a second of this channel is, in random numbers or cosines [1/s].
    pub fn work(&self) -> f64 {
        self.law.work()
    }
}

/// The default of a probability that something succeeds: it always does.
pub(crate) fn certain() -> Probability {
    Probability::new(1.0).unwrap_or_default()
}

/// A channel of one run.
#[derive(Clone, Debug)]
pub struct Channel {
    path: Path,
    delivered: Arc<[f64]>,
    /// The present state, and until when it lasts.
    state: usize,
    until: Time,
    /// When each state ended last; zero if it never did.
    ended: Vec<Time>,
    luck: Stream,
}

impl Channel {
    /// The channel whose states `stream` draws; `luck` draws which transmissions are received.
    pub fn new(parts: &ChannelParts, stream: Stream, luck: Stream) -> Channel {
        let (path, (state, until)) = parts.law.start(stream);
        let ended = vec![Time::ZERO; parts.delivered.len()];
        Channel { path, delivered: parts.delivered.clone(), state, until, ended, luck }
    }

    /// The state at `at`, which never decreases, and until when it lasts, at least.
    pub fn state(&mut self, at: Time) -> (usize, Time) {
        while self.until <= at {
            self.pass();
        }
        (self.state, self.until)
    }

    /// Whether a transmission from `from` to `to` is received; `to` never decreases.
    pub fn receives(&mut self, from: Time, to: Time) -> bool {
        debug_assert!(from <= to, "a transmission from {from:?} to {to:?}");
        // An outage that begins as a transmission ends does not touch it; one without length meets one state.
        while self.until < to || self.until <= from {
            self.pass();
        }
        let met = self.ended.iter().zip(&*self.delivered).filter(|(ended, _)| **ended > from);
        let worst = met.fold(self.delivered[self.state], |worst, (_, delivered)| worst.min(*delivered));
        self.luck.chance(worst)
    }

    /// The present state ends.
    fn pass(&mut self) {
        let at = self.until;
        self.ended[self.state] = at;
        (self.state, self.until) = self.path.next(self.state, at);
        debug_assert!(self.until > at, "a state that ends at {:?} cannot begin at {at:?}", self.until);
    }
}
