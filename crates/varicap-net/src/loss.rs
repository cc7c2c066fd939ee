//! Random loss on the wire, after the server: a lost frame has used its capacity.
//!
//! A loss that is drawn for each frame implements [`FrameLoss`] for its configuration; a channel in time, which moves
//! whatever is sent, implements [`ChannelPart`]; a probability that holds from instant to instant, [`TimedLoss`]. Each is
//! one file, and one line of the registry below.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use varicap_units::part::Part;
use varicap_units::{JsonSchema, Probability, Stream, Streams, Time, choice, stream_name};

use crate::channel::{
    Channel, ChannelPart, ChannelParts, GoodBadConfig, RayleighConfig, StatesConfig, certain,
};
use crate::error::NetError;
use crate::file::{Files, ReadFile};
use crate::handover::{Bursting, Bursts};
use crate::loss_trace::TraceLossConfig;
use crate::netem::{CorrelatedLossConfig, FourStateConfig, GeModelConfig};

/// The code that the configuration of a loss brings along that is drawn for each frame brings along, next to its own check ([`Part`]).
pub trait FrameLoss: Part {
    /// Where the loss of one direction of a link stands.
    type State: LosesFrames;

    /// Long-run share of frames that are lost.
    fn mean(&self) -> f64;

    /// The loss whose random numbers `stream` draws, in equilibrium.
    fn start(&self, stream: Stream) -> Self::State;
}

/// Draws the fate of one frame after the other.
pub trait LosesFrames: Debug + Clone {
    /// Whether the next frame is lost.
    fn loses(&mut self) -> bool;
}

/// The code that the configuration of a probability of loss in time brings along, next to its own check ([`Part`]).
pub trait TimedLoss: Part {
    /// The parts that all runs share: checked, with its files read. Cheap to clone.
    type Parts: Clone + Debug;
    /// Where the loss of one direction of a link stands.
    type State: LosesInTime;

    /// Checks the configuration, and reads the files that it names through `files`.
    fn read(&self, files: &mut Files<'_>) -> Result<Self::Parts, NetError>;

    /// Long-run share of what is lost, if it is sent at random instants.
    fn mean(parts: &Self::Parts) -> f64;

    /// How often the probability changes [1/s].
    fn work(parts: &Self::Parts) -> f64;

    /// Whether all runs meet the same stretch of a trace.
    fn repeats_itself(parts: &Self::Parts) -> bool;

    /// The flaws of its log, and what was done about them.
    fn said(parts: &Self::Parts) -> Option<String>;

    /// The loss of one run: `traces` draws where in a trace it begins, `luck` which frames are lost.
    fn start(parts: &Self::Parts, traces: Stream, luck: Stream) -> Self::State;
}

/// Draws the fate of one frame after the other, each by the instant at which it leaves the server.
pub trait LosesInTime: Debug + Clone {
    /// Whether the frame is lost that is through at `end`, which never decreases.
    fn loses(&mut self, end: Time) -> bool;
}

/// Nothing is lost.
struct NoLoss;

impl Part for NoLoss {}

/// Generates, from one line for each loss, the choice in a scenario file, what the loss of a link is made of and its
/// state in a run, with their constructors and their static dispatch.
macro_rules! losses {
    (
        per_frame { $( $Frame:ident ( $FrameConfig:ty ) = $frame_name:literal, $frame_doc:literal; )+ }
        in_time { $( $Time:ident ( $TimeConfig:ty ) = $time_name:literal, $time_doc:literal; )+ }
        by_instant { $( $Timed:ident ( $TimedConfig:ty ) = $timed_name:literal, $timed_doc:literal; )+ }
    ) => {
        varicap_units::parts! {
            /// Random loss on the wire, after the server: a lost frame has used its capacity. The first five are stepped
            /// once per frame (per transmission of a link with `arq`); the others move in time, whatever is sent.
            #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::text_or_number)]
            pub enum LossConfig {
                #[default]
                None[NoLoss] = "none", "Nothing is lost.";
                $( $Frame(config: $FrameConfig) = $frame_name, $frame_doc; )+
                $( $Time(config: $TimeConfig) = $time_name, $time_doc; )+
                $( $Timed(config: $TimedConfig) = $timed_name, $timed_doc; )+
            }
        }

        impl LossConfig {
            /// A channel in time in plain numbers ([`ChannelPart::facts`]); none for a loss that is no such channel.
            pub fn channel_facts(&self) -> Option<Json> {
                match self {
                    LossConfig::None => None,
                    $( LossConfig::$Frame(_) => None, )+
                    $( LossConfig::$Time(config) => Some(config.facts()), )+
                    $( LossConfig::$Timed(_) => None, )+
                }
            }
        }

        /// The parts of the loss of a link, checked. Cheap to clone: all runs share it.
        #[derive(Clone, Debug)]
        pub enum LossParts {
            /// Nothing is lost.
            None,
            $( #[doc = $frame_doc] $Frame($FrameConfig), )+
            $( #[doc = $timed_doc] $Timed(<$TimedConfig as TimedLoss>::Parts), )+
            /// A channel in time.
            Channel(ChannelParts),
            /// Another one with bursts at handovers.
            Bursts(Arc<Bursts>),
        }

        impl LossParts {
            /// Checks `config` and reads the files that it names through `read_file`. Keys of errors are relative to the
            /// choice.
            pub fn from_config(
                config: &LossConfig,
                read_file: &mut ReadFile<'_>,
            ) -> Result<LossParts, NetError> {
                LossParts::read(config, &mut Files::of(read_file))
            }

            /// As `from_config`, of files of which some may have been read already.
            pub fn read(config: &LossConfig, files: &mut Files<'_>) -> Result<LossParts, NetError> {
                config.check()?;
                Ok(match config {
                    LossConfig::None => LossParts::None,
                    $( LossConfig::$Frame(config) => LossParts::$Frame(config.clone()), )+
                    $( LossConfig::$Time(config) => LossParts::Channel(config.channel()?), )+
                    $( LossConfig::$Timed(config) => {
                        LossParts::$Timed(config.read(files).map_err(|error| error.within($timed_name))?)
                    } )+
                })
            }

            /// The same of a `config` that names no file.
            pub fn new(config: &LossConfig) -> Result<LossParts, NetError> {
                LossParts::from_config(config, &mut |_| Err("no files are read here".to_owned()))
            }

            /// Long-run share of frames that are lost; on a channel in time, of frames that are sent in an instant.
            pub fn mean(&self) -> f64 {
                match self {
                    LossParts::None => 0.0,
                    $( LossParts::$Frame(config) => config.mean(), )+
                    $( LossParts::$Timed(parts) => <$TimedConfig as TimedLoss>::mean(parts), )+
                    LossParts::Channel(channel) => channel.mean_loss(),
                    LossParts::Bursts(bursts) => bursts.mean(),
                }
            }

            /// Roughly how much work a second of it is while nothing is sent, in random numbers, cosines or rows of a
            /// trace [1/s].
            pub fn work(&self) -> f64 {
                match self {
                    LossParts::None => 0.0,
                    $( LossParts::$Frame(_) => 0.0, )+
                    $( LossParts::$Timed(parts) => <$TimedConfig as TimedLoss>::work(parts), )+
                    LossParts::Channel(channel) => channel.work(),
                    LossParts::Bursts(bursts) => bursts.loss().work(),
                }
            }

            /// Whether all runs meet the same stretch of a trace.
            pub fn repeats_itself(&self) -> bool {
                match self {
                    $( LossParts::$Timed(parts) => <$TimedConfig as TimedLoss>::repeats_itself(parts), )+
                    LossParts::Bursts(bursts) => bursts.loss().repeats_itself(),
                    _ => false,
                }
            }

            /// The flaws of its log, and what was done about them.
            pub fn said(&self) -> Option<String> {
                match self {
                    $( LossParts::$Timed(parts) => <$TimedConfig as TimedLoss>::said(parts), )+
                    LossParts::Bursts(bursts) => bursts.loss().said(),
                    _ => None,
                }
            }
        }

        /// The loss of one direction of a link.
        #[derive(Clone, Debug)]
        pub enum Loss {
            /// Nothing is lost.
            None,
            $( #[doc = $frame_doc] $Frame(<$FrameConfig as FrameLoss>::State), )+
            $( #[doc = $timed_doc] $Timed(Box<<$TimedConfig as TimedLoss>::State>), )+
            /// A channel in time, and before when the next transmission over it cannot have begun.
            Channel(Box<Channel>, Time),
            /// Another one with bursts at handovers.
            Bursts(Box<Bursting>),
        }

        impl Loss {
            /// The loss of `parts` at the link called `link`, with random numbers from `streams`: `loss` says which
            /// frames are lost, `channel` the states of a channel in time, `handover` which frames a burst loses.
            pub fn new(parts: &LossParts, link: &str, streams: &Streams) -> Loss {
                let stream = |part: &str| streams.stream(&stream_name::link(link, part));
                match parts {
                    LossParts::None => Loss::None,
                    $( LossParts::$Frame(config) => Loss::$Frame(config.start(stream("loss"))), )+
                    $( LossParts::$Timed(parts) => {
                        let traces = streams.stream(&stream_name::traces());
                        Loss::$Timed(Box::new(<$TimedConfig as TimedLoss>::start(parts, traces, stream("loss"))))
                    } )+
                    LossParts::Channel(parts) => {
                        let channel = Channel::new(parts, stream("channel"), stream("loss"));
                        Loss::Channel(Box::new(channel), Time::ZERO)
                    }
                    LossParts::Bursts(bursts) => {
                        let loss = Loss::new(bursts.loss(), link, streams);
                        Loss::Bursts(Box::new(Bursting::new(bursts, loss, stream("handover"))))
                    }
                }
            }

            #[inline(never)]
            fn draw(&mut self, ready: Time, end: Time) -> bool {
                match self {
                    Loss::None => false,
                    $( Loss::$Frame(loss) => loss.loses(), )+
                    $( Loss::$Timed(loss) => loss.loses(end), )+
                    Loss::Channel(channel, free) => {
                        let begin = ready.max(*free);
                        if ready < end {
                            *free = end;
                        }
                        !channel.receives(begin, end)
                    }
                    // Both draw, whatever the other does: neither shifts the other's numbers.
                    Loss::Bursts(bursting) => bursting.loses(end) | bursting.loss.loses(ready, end),
                }
            }
        }
    };
}

losses! {
    per_frame {
        Bernoulli(Probability) = "bernoulli",
            "Each frame with the same probability; may be written as the probability alone: `\"1 %\"`.";
        GilbertElliott(GilbertElliottConfig) = "gilbert-elliott",
            "Two states with a loss probability each. Source: Gilbert 1960, Elliott 1963.";
        Correlated(CorrelatedLossConfig) = "correlated",
            "Each frame with a probability, correlated with the fate of the one before: netem's `loss random P C`.";
        GeModel(GeModelConfig) = "gemodel",
            "Gilbert-Elliott loss in netem's parameters: `loss gemodel P R 1-H 1-K`.";
        FourState(FourStateConfig) = "4state",
            "netem's Markov chain of four states: `loss state P13 P31 P32 P23 P14`.";
    }
    in_time {
        Markov(GoodBadConfig) = "markov",
            "A channel that is good or bad for exponential times; what is not sent wholly within a good time is lost.";
        Rayleigh(RayleighConfig) = "rayleigh",
            "Rayleigh fading: what is sent while the power is below a threshold is lost.";
        States(StatesConfig) = "states",
            "A channel with several states, in continuous time; what is sent fares as in the worst state that it meets.";
    }
    by_instant {
        Trace(TraceLossConfig) = "trace",
            "A trace of probabilities; what is sent fares by that of the instant at which it leaves the server.";
    }
}
choice!(LossConfig, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| text.parse::<Probability>().map(LossConfig::Bernoulli))
});

impl Loss {
    /// The transmission that ends next cannot begin before `at`, although its frame is there and none is being sent: it
    /// waited for its queue to let it go, or for an outage to end.
    #[inline]
    pub fn hold_until(&mut self, at: Time) {
        match self {
            Loss::Channel(_, free) => {
                debug_assert!(
                    at >= *free,
                    "a transmission begins at {at:?}, before the last has ended at {free:?}"
                );
                *free = at;
            }
            Loss::Bursts(bursting) => bursting.loss.hold_until(at),
            _ => {}
        }
    }

    /// Whether the next frame is lost, which could be sent from `ready` on and is through at `end`: its transmission
    /// begins when the one before it has ended, unless it was held up ([`Loss::hold_until`]), and lasts until `end`, an
    /// outage within it included.
    #[inline]
    pub fn loses(&mut self, ready: Time, end: Time) -> bool {
        debug_assert!(ready <= end, "a transmission that ends at {end:?} was ready at {ready:?} only");
        // Most links lose nothing: that is decided without a call.
        !matches!(self, Loss::None) && self.draw(ready, end)
    }
}

/// Independent loss.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    probability: f64,
    stream: Stream,
}

impl FrameLoss for Probability {
    type State = Bernoulli;

    fn mean(&self) -> f64 {
        self.get()
    }

    fn start(&self, stream: Stream) -> Bernoulli {
        Bernoulli { probability: self.get(), stream }
    }
}

impl LosesFrames for Bernoulli {
    fn loses(&mut self) -> bool {
        self.stream.chance(self.probability)
    }
}

/// The Gilbert-Elliott channel, stepped once per frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottConfig {
    /// Probability of turning bad, per frame.
    pub to_bad: Probability,
    /// Probability of turning good, per frame.
    pub to_good: Probability,
    /// Loss probability in the good state. Default: 0.
    #[serde(default)]
    pub loss_good: Probability,
    /// Loss probability in the bad state. Default: 1.
    #[serde(default = "certain")]
    pub loss_bad: Probability,
}

impl Part for GilbertElliottConfig {
    fn draws(&self) -> bool {
        true
    }
}

impl FrameLoss for GilbertElliottConfig {
    type State = GilbertElliott;

    fn mean(&self) -> f64 {
        let bad = self.share_bad();
        bad * self.loss_bad.get() + (1.0 - bad) * self.loss_good.get()
    }

    fn start(&self, mut stream: Stream) -> GilbertElliott {
        let turns = self.to_bad.get() + self.to_good.get() > 0.0;
        let bad = turns && stream.chance(self.share_bad());
        GilbertElliott { config: *self, bad, stream }
    }
}

impl GilbertElliottConfig {
    /// Long-run share of frames in the bad state; a channel that never turns is good.
    fn share_bad(&self) -> f64 {
        let (to_bad, to_good) = (self.to_bad.get(), self.to_good.get());
        if to_bad + to_good > 0.0 { to_bad / (to_bad + to_good) } else { 0.0 }
    }
}

/// A channel that is good or bad. Source: Gilbert, BSTJ 39 (1960); Elliott, BSTJ 42 (1963).
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    config: GilbertElliottConfig,
    bad: bool,
    stream: Stream,
}

impl LosesFrames for GilbertElliott {
    /// Turns the channel once, then sends a frame through it.
    fn loses(&mut self) -> bool {
        let turn = if self.bad { self.config.to_good } else { self.config.to_bad };
        self.bad ^= self.stream.chance(turn.get());
        let loss = if self.bad { self.config.loss_bad } else { self.config.loss_good };
        self.stream.chance(loss.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    fn losses(config: LossConfig, frames: usize) -> Vec<bool> {
        let parts = LossParts::new(&config).unwrap();
        let mut loss = Loss::new(&parts, "a", &Streams::new(3, 0));
        (0..frames).map(|_| loss.loses(Time::ZERO, Time::ZERO)).collect()
    }

    #[test]
    fn bernoulli_loses_its_share() {
        let lost = losses(LossConfig::Bernoulli(p(0.02)), 1_000_000).iter().filter(|lost| **lost).count();
        // Binomial: standard deviation sqrt(n p (1 - p)) = 140; four of them are exceeded once in 16,000 seeds.
        assert!((lost as f64 - 20_000.0).abs() < 4.0 * 140.0, "{lost}");
    }

    #[test]
    fn certain_and_impossible_loss_are_exact() {
        assert!(losses(LossConfig::Bernoulli(p(1.0)), 1000).iter().all(|lost| *lost));
        assert!(losses(LossConfig::Bernoulli(p(0.0)), 1000).iter().all(|lost| !*lost));
        assert!(losses(LossConfig::None, 1000).iter().all(|lost| !*lost));
    }

    #[test]
    fn gilbert_elliott_loses_in_bursts_of_geometric_length() {
        let config =
            GilbertElliottConfig { to_bad: p(0.01), to_good: p(0.25), loss_good: p(0.0), loss_bad: p(1.0) };
        let lost = losses(LossConfig::GilbertElliott(config), 1_000_000);
        let share = lost.iter().filter(|lost| **lost).count() as f64 / 1e6;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let length = share * 1e6 / bursts;
        // About 9,600 bursts with standard deviation sqrt(12) = 3.5 frames, so the mean length is known to 0.036 and
        // the share, bad 0.01 / 0.26 of the time, to 0.0005; four standard deviations each.
        assert!((share - 0.01 / 0.26).abs() < 0.002, "{share}");
        assert!((length - 4.0).abs() < 0.15, "{length}");
    }

    #[test]
    fn a_channel_that_never_turns_is_good() {
        let config =
            GilbertElliottConfig { to_bad: p(0.0), to_good: p(0.0), loss_good: p(0.0), loss_bad: p(1.0) };
        assert!(losses(LossConfig::GilbertElliott(config), 1000).iter().all(|lost| !*lost));
    }
}
