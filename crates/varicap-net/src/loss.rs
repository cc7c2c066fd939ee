//! Random loss on the wire, after the server: a lost frame has used its capacity.

use varicap_units::{Stream, Time};

use crate::channel::{Channel, ChannelParts};
use crate::{GilbertElliottConfig, LossConfig, NetError};

/// What the loss of a link is made of, checked. Cheap to clone: all runs share it.
#[derive(Clone, Debug)]
pub enum LossParts {
    /// Nothing is lost.
    None,
    /// Each frame with the same probability.
    Bernoulli(f64),
    /// Two states with a loss probability each, stepped once per frame.
    GilbertElliott(GilbertElliottConfig),
    /// A channel in time.
    Channel(ChannelParts),
}

impl LossParts {
    /// Checks `config`.
    pub fn new(config: &LossConfig) -> Result<LossParts, NetError> {
        Ok(match config {
            LossConfig::None => LossParts::None,
            LossConfig::Bernoulli(probability) => LossParts::Bernoulli(probability.get()),
            LossConfig::GilbertElliott(config) => LossParts::GilbertElliott(*config),
            LossConfig::Markov(config) => LossParts::Channel(ChannelParts::good_bad(config)?),
            LossConfig::Rayleigh(config) => LossParts::Channel(ChannelParts::rayleigh(config)?),
            LossConfig::States(config) => LossParts::Channel(ChannelParts::states(config)?),
        })
    }

    /// Long-run share of frames that are lost; on a channel in time, of frames that are sent in an instant.
    pub fn mean(&self) -> f64 {
        match self {
            LossParts::None => 0.0,
            LossParts::Bernoulli(probability) => *probability,
            LossParts::GilbertElliott(config) => {
                let bad = share_bad(config);
                bad * config.loss_bad.get() + (1.0 - bad) * config.loss_good.get()
            }
            LossParts::Channel(channel) => channel.mean_loss(),
        }
    }
}

/// Long-run share of frames in the bad state; a channel that never turns is good.
fn share_bad(config: &GilbertElliottConfig) -> f64 {
    let (to_bad, to_good) = (config.to_bad.get(), config.to_good.get());
    if to_bad + to_good > 0.0 { to_bad / (to_bad + to_good) } else { 0.0 }
}

/// The loss of one direction of a link.
#[derive(Clone, Debug)]
pub enum Loss {
    /// Nothing is lost.
    None,
    /// Each frame with the same probability.
    Bernoulli(Bernoulli),
    /// Two states with a loss probability each.
    GilbertElliott(GilbertElliott),
    /// A channel in time, and the end of the last transmission over it.
    Channel(Box<Channel>, Time),
}

impl Loss {
    /// The loss of `parts`; `stream` gives the random numbers of its part `loss` (which frames are lost) or `channel` (the
    /// states of a channel in time).
    pub fn new(parts: &LossParts, stream: impl Fn(&str) -> Stream) -> Loss {
        match parts {
            LossParts::None => Loss::None,
            LossParts::Bernoulli(probability) => {
                Loss::Bernoulli(Bernoulli { probability: *probability, stream: stream("loss") })
            }
            LossParts::GilbertElliott(config) => {
                Loss::GilbertElliott(GilbertElliott::new(config, stream("loss")))
            }
            LossParts::Channel(parts) => {
                let channel = Channel::new(parts, stream("channel"), stream("loss"));
                Loss::Channel(Box::new(channel), Time::ZERO)
            }
        }
    }

    /// Whether the next frame is lost, which could be sent from `ready` on and is through at `end`: its transmission
    /// begins when the one before it has ended.
    #[inline]
    pub fn loses(&mut self, ready: Time, end: Time) -> bool {
        // Most links lose nothing: that is decided without a call.
        !matches!(self, Loss::None) && self.draw(ready, end)
    }

    #[inline(never)]
    fn draw(&mut self, ready: Time, end: Time) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli(loss) => loss.stream.chance(loss.probability),
            Loss::GilbertElliott(channel) => channel.loses(),
            Loss::Channel(channel, before) => {
                let begin = ready.max(*before);
                if ready < end {
                    *before = end;
                }
                !channel.receives(begin, end)
            }
        }
    }
}

/// Independent loss.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    probability: f64,
    stream: Stream,
}

/// A channel that is good or bad. Source: Gilbert, BSTJ 39 (1960); Elliott, BSTJ 42 (1963).
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    config: GilbertElliottConfig,
    bad: bool,
    stream: Stream,
}

impl GilbertElliott {
    /// In equilibrium from the start; a channel that never turns is good.
    fn new(config: &GilbertElliottConfig, mut stream: Stream) -> GilbertElliott {
        let turns = config.to_bad.get() + config.to_good.get() > 0.0;
        let bad = turns && stream.chance(share_bad(config));
        GilbertElliott { config: *config, bad, stream }
    }

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
    use varicap_units::{Probability, Streams};

    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    fn losses(config: LossConfig, frames: usize) -> Vec<bool> {
        let parts = LossParts::new(&config).unwrap();
        let mut loss = Loss::new(&parts, |part| Streams::new(3, 0).stream(&format!("link.a.{part}")));
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
