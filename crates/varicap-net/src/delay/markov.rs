//! A Markov chain of delays in continuous time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Fault, Part};
use varicap_units::{JsonSchema, Probability, Span, Stream, Time};

use super::{DelayPart, DelayProcess, DelaySegment, Files, check_delays};
use crate::chain::HoldingChain;
use crate::error::NetError;

/// An n-state continuous-time Markov chain of delays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkovDelayConfig {
    /// The delay in each state.
    pub delays: Vec<Span>,
    /// Mean holding time of each state.
    pub mean_holding: Vec<Span>,
    /// Probability of each next state (rows sum to 1, zero on the diagonal). Default: every other state alike.
    #[serde(default)]
    pub jumps: Option<Vec<Vec<Probability>>>,
    /// First state. Default: drawn from the stationary distribution.
    #[serde(default)]
    pub start: Option<usize>,
}

impl Part for MarkovDelayConfig {
    fn check(&self) -> Checked {
        MarkovDelayParts::new(self).map(|_| ())
    }

    fn draws(&self) -> bool {
        true
    }
}

impl DelayPart for MarkovDelayConfig {
    type Parts = Arc<MarkovDelayParts>;
    type Path = MarkovDelay;

    fn read(&self, _: &mut Files<'_>) -> Result<Arc<MarkovDelayParts>, NetError> {
        Ok(Arc::new(MarkovDelayParts::new(self)?))
    }

    fn mean(parts: &Arc<MarkovDelayParts>) -> Span {
        let states = parts.delays.iter().zip(parts.chain.share());
        let nanos: f64 = states.map(|(delay, share)| delay.as_nanos() as f64 * share).sum();
        Span::from_nanos((nanos + 0.5) as u64)
    }

    fn least(parts: &Arc<MarkovDelayParts>) -> Span {
        parts.delays.iter().min().copied().unwrap_or_default()
    }

    fn path(parts: &Arc<MarkovDelayParts>, mut stream: Stream) -> MarkovDelay {
        let (state, until) = parts.chain.first(&mut stream);
        MarkovDelay { parts: parts.clone(), stream, state, until }
    }
}

/// A continuous-time chain of delays, checked.
#[derive(Clone, Debug)]
pub struct MarkovDelayParts {
    delays: Vec<Span>,
    chain: HoldingChain,
}

impl MarkovDelayParts {
    fn new(config: &MarkovDelayConfig) -> Result<MarkovDelayParts, Fault> {
        check_delays("delays", &config.delays)?;
        let states = ("delays", config.delays.len());
        let chain = HoldingChain::new(states, &config.mean_holding, config.jumps.as_deref(), config.start)?;
        Ok(MarkovDelayParts { delays: config.delays.clone(), chain })
    }
}

/// A path of a continuous-time chain.
#[derive(Clone, Debug)]
pub struct MarkovDelay {
    parts: Arc<MarkovDelayParts>,
    stream: Stream,
    state: usize,
    until: Time,
}

impl DelayProcess for MarkovDelay {
    fn segment(&mut self, now: Time) -> DelaySegment {
        while self.until <= now {
            (self.state, self.until) = self.parts.chain.next(self.state, self.until, &mut self.stream);
        }
        DelaySegment { delay: self.parts.delays[self.state], until: self.until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> MarkovDelayConfig {
        MarkovDelayConfig {
            delays: vec![Span::from_millis(10), Span::from_millis(50)],
            mean_holding: vec![Span::from_secs(3), Span::from_secs(1)],
            jumps: None,
            start: None,
        }
    }

    #[test]
    fn the_mean_weighs_states_with_their_holding_times() {
        let parts = Arc::new(MarkovDelayParts::new(&config()).unwrap());
        assert_eq!(MarkovDelayConfig::mean(&parts), Span::from_millis(20));
        assert_eq!(MarkovDelayConfig::least(&parts), Span::from_millis(10));
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |change: fn(&mut MarkovDelayConfig)| {
            let mut config = config();
            change(&mut config);
            NetError::from(MarkovDelayParts::new(&config).unwrap_err()).to_string()
        };
        assert_eq!(refusal(|c| c.delays.clear()), "`delays` is empty, expected at least one delay");
        assert_eq!(
            refusal(|c| c.mean_holding.truncate(1)),
            "`mean_holding` is 1 values, expected 2, one per delay"
        );
        assert_eq!(refusal(|c| c.start = Some(2)), "`start` is 2, expected a state from 0 to 1");
    }
}
