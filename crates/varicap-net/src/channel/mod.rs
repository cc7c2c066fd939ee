//! Channels: what a transmission meets that lasts a while.
//!
//! A channel moves through states in time, whatever is sent: its path is drawn from a random stream of its own, so that
//! two senders under the same seed face the same channel. A transmission fares as in the worst state that it meets:
//! sent while the channel visits states with probabilities p_i of reception, it is received with the least of them.
//! Source: [wireless, §III-A and V].

mod config;
mod fading;

use std::sync::Arc;

use varicap_units::{Span, Stream, Time};

use crate::NetError;
use crate::chain::HoldingChain;

pub use config::{GoodBadConfig, RayleighConfig, StatesConfig};
use fading::Fading;
pub use fading::Rayleigh;

/// What a channel is made of, checked. Cheap to clone: all runs share it.
#[derive(Clone, Debug)]
pub struct ChannelParts {
    /// Probability that a transmission is received, in each state.
    delivered: Arc<[f64]>,
    law: Law,
}

/// How the states follow one another.
#[derive(Clone, Debug)]
enum Law {
    Chain(Arc<HoldingChain>),
    Fading(Rayleigh),
}

impl ChannelParts {
    /// A channel that is good or bad.
    pub fn good_bad(config: &GoodBadConfig) -> Result<ChannelParts, NetError> {
        for (key, mean) in [("good", config.good), ("bad", config.bad)] {
            if mean == Span::ZERO {
                return Err(NetError::value(format!("loss.markov.{key}"), mean, "a time above zero"));
            }
        }
        let chain =
            HoldingChain::new("loss.markov", ("delivered", 2), &[config.bad, config.good], None, None)?;
        Ok(ChannelParts { delivered: [0.0, config.delivered.get()].into(), law: Law::Chain(Arc::new(chain)) })
    }

    /// A Rayleigh-faded channel.
    pub fn rayleigh(config: &RayleighConfig) -> Result<ChannelParts, NetError> {
        let law = Law::Fading(Rayleigh::new(config)?);
        Ok(ChannelParts { delivered: [0.0, config.delivered.get()].into(), law })
    }

    /// A channel with several states.
    pub fn states(config: &StatesConfig) -> Result<ChannelParts, NetError> {
        let states = ("delivered", config.delivered.len());
        let (holding, jumps) = (&config.mean_holding, config.jumps.as_deref());
        let chain = HoldingChain::new("loss.states", states, holding, jumps, config.start)?;
        let delivered = config.delivered.iter().map(|probability| probability.get()).collect();
        Ok(ChannelParts { delivered, law: Law::Chain(Arc::new(chain)) })
    }

    /// Long-run share of transmissions without length that are not received.
    pub fn mean_loss(&self) -> f64 {
        let shares = match &self.law {
            Law::Chain(chain) => chain.share().to_vec(),
            Law::Fading(fading) => vec![fading.share_bad(), 1.0 - fading.share_bad()],
        };
        shares.iter().zip(&*self.delivered).map(|(share, delivered)| share * (1.0 - delivered)).sum()
    }

    /// Roughly how much work a second of this channel is, in random numbers or cosines [1/s].
    pub fn work(&self) -> f64 {
        match &self.law {
            Law::Chain(chain) => {
                let times = chain.mean_holding().iter().zip(chain.share());
                times.map(|(mean, share)| share / mean.as_secs_f64()).sum()
            }
            Law::Fading(fading) => fading.work(),
        }
    }
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

#[derive(Clone, Debug)]
enum Path {
    Chain(Arc<HoldingChain>, Stream),
    Fading(Fading),
}

impl Channel {
    /// The channel whose states `stream` draws; `luck` draws which transmissions are received.
    pub fn new(parts: &ChannelParts, mut stream: Stream, luck: Stream) -> Channel {
        let (path, (state, until)) = match &parts.law {
            Law::Chain(chain) => {
                let first = chain.first(&mut stream);
                (Path::Chain(chain.clone(), stream), first)
            }
            Law::Fading(rayleigh) => {
                let fading = Fading::new(rayleigh, &mut stream);
                let is_good = fading.is_good(Time::ZERO);
                let first = (usize::from(is_good), fading.until(Time::ZERO, is_good));
                (Path::Fading(fading), first)
            }
        };
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
        // What begins as a transmission ends does not touch it; one without length meets one state.
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
        (self.state, self.until) = match &mut self.path {
            Path::Chain(chain, stream) => chain.next(self.state, at, stream),
            Path::Fading(fading) => {
                let is_good = fading.is_good(at);
                (usize::from(is_good), fading.until(at, is_good))
            }
        };
    }
}
