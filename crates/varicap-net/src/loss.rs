//! Random loss on the wire, after the server: a lost frame has used its capacity.

use varicap_units::Stream;

use crate::{GilbertElliottConfig, LossConfig};

/// The loss of one direction of a link.
#[derive(Clone, Debug)]
pub enum Loss {
    /// Nothing is lost.
    None,
    /// Each frame with the same probability.
    Bernoulli(Bernoulli),
    /// Two states with a loss probability each.
    GilbertElliott(GilbertElliott),
}

impl Loss {
    /// The loss of `config` that `stream` draws.
    pub fn new(config: &LossConfig, stream: Stream) -> Loss {
        match config {
            LossConfig::None => Loss::None,
            LossConfig::Bernoulli(probability) => {
                Loss::Bernoulli(Bernoulli { probability: probability.get(), stream })
            }
            LossConfig::GilbertElliott(config) => Loss::GilbertElliott(GilbertElliott::new(config, stream)),
        }
    }

    /// Whether the next frame is lost.
    #[inline]
    pub fn loses(&mut self) -> bool {
        // Most links lose nothing: that is decided without a call.
        !matches!(self, Loss::None) && self.draw()
    }

    #[inline(never)]
    fn draw(&mut self) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli(loss) => loss.stream.chance(loss.probability),
            Loss::GilbertElliott(channel) => channel.loses(),
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
        let (to_bad, to_good) = (config.to_bad.get(), config.to_good.get());
        let turns = to_bad + to_good;
        let bad = turns > 0.0 && stream.chance(to_bad / turns);
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
        let mut loss = Loss::new(&config, Streams::new(3, 0).stream("link.a.loss"));
        (0..frames).map(|_| loss.loses()).collect()
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
