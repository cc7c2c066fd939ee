//! A Markov chain of rates in continuous time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Fault, Part};
use varicap_units::{JsonSchema, Probability, Rate, Span, Stream, Time};

use super::{CapacityPart, CapacityProcess, CapacitySegment, Files, check_rates, mean_of};
use crate::chain::HoldingChain;
use crate::error::NetError;

/// An n-state continuous-time Markov chain of rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkovConfig {
    /// The rate in each state.
    pub rates: Vec<Rate>,
    /// Mean holding time of each state.
    pub mean_holding: Vec<Span>,
    /// Probability of each next state (rows sum to 1, zero on the diagonal). Default: every other state alike.
    #[serde(default)]
    pub jumps: Option<Vec<Vec<Probability>>>,
    /// First state. Default: drawn from the stationary distribution.
    #[serde(default)]
    pub start: Option<usize>,
}

impl Part for MarkovConfig {
    fn check(&self) -> Checked {
        MarkovParts::new(self).map(|_| ())
    }

    fn draws(&self) -> bool {
        true
    }
}

impl CapacityPart for MarkovConfig {
    type Parts = Arc<MarkovParts>;
    type Path = Markov;
    const IS_RANDOM: bool = true;

    fn read(&self, _: &mut Files<'_>) -> Result<Arc<MarkovParts>, NetError> {
        Ok(Arc::new(MarkovParts::new(self)?))
    }

    fn mean_rate(parts: &Arc<MarkovParts>) -> Rate {
        parts.mean_rate()
    }

    fn path(parts: &Arc<MarkovParts>, stream: Stream) -> Markov {
        Markov::new(parts.clone(), stream)
    }
}

/// A continuous-time chain of rates, checked.
#[derive(Clone, Debug)]
pub struct MarkovParts {
    rates: Vec<Rate>,
    chain: HoldingChain,
}

impl MarkovParts {
    /// The chain of a scenario, which is checked.
    pub fn new(config: &MarkovConfig) -> Result<MarkovParts, Fault> {
        check_rates("rates", &config.rates)?;
        let states = ("rates", config.rates.len());
        let (holding, jumps) = (&config.mean_holding, config.jumps.as_deref());
        let chain = HoldingChain::new(states, holding, jumps, config.start)?;
        Ok(MarkovParts { rates: config.rates.clone(), chain })
    }

    /// Long-run mean rate [b/s].
    pub fn mean_rate(&self) -> Rate {
        mean_of(&self.rates, self.chain.share())
    }
}

/// A path of a continuous-time chain.
#[derive(Clone, Debug)]
pub struct Markov {
    parts: Arc<MarkovParts>,
    stream: Stream,
    state: usize,
    until: Time,
}

impl Markov {
    /// The path that `stream` draws.
    pub fn new(parts: Arc<MarkovParts>, mut stream: Stream) -> Markov {
        let (state, until) = parts.chain.first(&mut stream);
        Markov { parts, stream, state, until }
    }
}

impl CapacityProcess for Markov {
    fn segment(&mut self, now: Time) -> CapacitySegment {
        while self.until <= now {
            (self.state, self.until) = self.parts.chain.next(self.state, self.until, &mut self.stream);
        }
        CapacitySegment { rate: self.parts.rates[self.state], until: self.until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Streams;

    fn row(values: &[f64]) -> Vec<Probability> {
        values.iter().map(|&value| Probability::new(value).unwrap()).collect()
    }

    fn rates(bps: &[u64]) -> Vec<Rate> {
        bps.iter().map(|&bps| Rate::from_bps(bps)).collect()
    }

    fn on_off() -> MarkovConfig {
        MarkovConfig {
            rates: rates(&[0, 100]),
            mean_holding: vec![Span::from_secs(1), Span::from_secs(3)],
            jumps: None,
            start: None,
        }
    }

    #[test]
    fn the_mean_weighs_states_with_visits_and_holding_times() {
        assert_eq!(MarkovParts::new(&on_off()).unwrap().mean_rate(), Rate::from_bps(75));
        let jumps = vec![row(&[0.0, 1.0, 0.0]), row(&[0.5, 0.0, 0.5]), row(&[0.0, 1.0, 0.0])];
        let config = MarkovConfig {
            rates: rates(&[100, 200, 400]),
            mean_holding: vec![Span::from_secs(2), Span::from_secs(1), Span::from_secs(4)],
            jumps: Some(jumps),
            start: Some(0),
        };
        // Visits 1 : 2 : 1, so times 2 : 2 : 4.
        assert_eq!(MarkovParts::new(&config).unwrap().mean_rate(), Rate::from_bps(275));
    }

    #[test]
    fn a_single_state_is_constant() {
        let config = MarkovConfig { rates: rates(&[7]), mean_holding: vec![Span::from_secs(1)], ..on_off() };
        let mut path =
            Markov::new(Arc::new(MarkovParts::new(&config).unwrap()), Streams::new(1, 0).stream("c"));
        let forever = CapacitySegment { rate: Rate::from_bps(7), until: Time::NEVER };
        assert_eq!(path.segment(Time::from_nanos(u64::MAX - 1)), forever);
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |change: fn(&mut MarkovConfig)| {
            let mut config = on_off();
            change(&mut config);
            NetError::from(MarkovParts::new(&config).unwrap_err()).to_string()
        };
        assert_eq!(refusal(|c| c.rates.clear()), "`rates` is empty, expected at least one rate");
        assert_eq!(
            refusal(|c| c.mean_holding[1] = Span::ZERO),
            "`mean_holding.1` is 0 s, expected a time above zero"
        );
        assert_eq!(refusal(|c| c.start = Some(2)), "`start` is 2, expected a state from 0 to 1");
        assert_eq!(
            refusal(|c| c.mean_holding.truncate(1)),
            "`mean_holding` is 1 values, expected 2, one per rate"
        );
        assert_eq!(
            refusal(|c| c.jumps = Some(vec![row(&[0.0, 1.0]), row(&[0.9, 0.0])])),
            "`jumps.1` is a row with sum 0.9, expected probabilities that sum to 1"
        );
        assert_eq!(
            refusal(|c| c.jumps = Some(vec![row(&[0.0, 1.0]), row(&[0.9, 0.1])])),
            "`jumps.1.1` is 0.1, expected 0: a jump leads to another state"
        );
        assert_eq!(
            refusal(|c| {
                c.rates = rates(&[1, 2, 3, 4]);
                c.mean_holding = vec![Span::from_secs(1); 4];
                c.jumps = Some(vec![
                    row(&[0.0, 1.0, 0.0, 0.0]),
                    row(&[1.0, 0.0, 0.0, 0.0]),
                    row(&[0.0, 0.0, 0.0, 1.0]),
                    row(&[0.0, 0.0, 1.0, 0.0]),
                ]);
            }),
            "`jumps` is a chain that falls apart, expected every state to be reachable from every other"
        );
    }
}
