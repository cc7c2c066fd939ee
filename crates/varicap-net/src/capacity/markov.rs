//! Markov chains of rates, in continuous time and in slots.

use std::sync::Arc;

use varicap_units::{Rate, Span, Stream, Time};

use super::{CapacityProcess, CapacitySegment, mean_of};
use crate::chain::{Chain, HoldingChain, check_states, cumulative, draw, falls_apart, stationary};
use crate::check::transition_matrix;
use crate::{MarkovConfig, NetError, SlottedMarkovConfig};

/// Most slots that a slotted chain runs ahead to find its next change.
const SLOTS_AHEAD: u32 = 1000;

/// A continuous-time chain of rates, checked.
#[derive(Clone, Debug)]
pub struct MarkovParts {
    rates: Vec<Rate>,
    chain: HoldingChain,
}

impl MarkovParts {
    /// Checks the chain of a scenario.
    pub fn new(config: &MarkovConfig) -> Result<MarkovParts, NetError> {
        let states = ("rates", config.rates.len());
        let (holding, jumps) = (&config.mean_holding, config.jumps.as_deref());
        let chain = HoldingChain::new("capacity.markov", states, holding, jumps, config.start)?;
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

/// A chain of rates that may change only at the boundaries of slots, checked.
#[derive(Clone, Debug)]
pub struct SlottedMarkovParts {
    rates: Vec<Rate>,
    step: Span,
    transitions: Chain,
    share: Vec<f64>,
    start: Option<usize>,
}

impl SlottedMarkovParts {
    /// Checks the chain of a scenario.
    pub fn new(config: &SlottedMarkovConfig) -> Result<SlottedMarkovParts, NetError> {
        let states = config.rates.len();
        check_states("capacity.slotted-markov", ("rates", states), config.start)?;
        if config.step == Span::ZERO {
            return Err(NetError::value("capacity.slotted-markov.step", config.step, "a time above zero"));
        }
        let key = "capacity.slotted-markov.transitions";
        let rows = transition_matrix(key, states, &config.transitions, "rate")?;
        let share = stationary(&rows).ok_or_else(|| falls_apart(key))?;
        Ok(SlottedMarkovParts {
            rates: config.rates.clone(),
            step: config.step,
            transitions: Chain::new(&rows),
            share,
            start: config.start,
        })
    }

    /// Long-run mean rate [b/s].
    pub fn mean_rate(&self) -> Rate {
        mean_of(&self.rates, &self.share)
    }
}

/// A path of a slotted chain.
#[derive(Clone, Debug)]
pub struct SlottedMarkov {
    parts: Arc<SlottedMarkovParts>,
    stream: Stream,
    state: usize,
    /// The state after `until`.
    next: usize,
    until: Time,
}

impl SlottedMarkov {
    /// The path that `stream` draws.
    pub fn new(parts: Arc<SlottedMarkovParts>, mut stream: Stream) -> SlottedMarkov {
        let state = parts.start.unwrap_or_else(|| draw(&cumulative(&parts.share), &mut stream));
        let mut path = SlottedMarkov { parts, stream, state, next: state, until: Time::ZERO };
        path.run_ahead();
        path
    }

    /// Runs to the next slot in which the state changes, so that slots that change nothing cost nothing.
    fn run_ahead(&mut self) {
        for _ in 0..SLOTS_AHEAD {
            self.until += self.parts.step;
            self.next = self.parts.transitions.next(self.state, &mut self.stream);
            if self.next != self.state {
                return;
            }
        }
    }
}

impl CapacityProcess for SlottedMarkov {
    fn segment(&mut self, now: Time) -> CapacitySegment {
        if self.parts.rates.len() == 1 {
            return CapacitySegment { rate: self.parts.rates[0], until: Time::NEVER };
        }
        while self.until <= now {
            self.state = self.next;
            self.run_ahead();
        }
        CapacitySegment { rate: self.parts.rates[self.state], until: self.until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::{Probability, Streams};

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
    fn a_slotted_chain_changes_only_at_multiples_of_its_step() {
        let config = SlottedMarkovConfig {
            rates: rates(&[100, 500]),
            step: Span::from_millis(40),
            transitions: vec![row(&[0.9, 0.1]), row(&[0.3, 0.7])],
            start: Some(0),
        };
        let parts = Arc::new(SlottedMarkovParts::new(&config).unwrap());
        assert_eq!(parts.mean_rate(), Rate::from_bps(200));
        let mut path = SlottedMarkov::new(parts, Streams::new(1, 0).stream("c"));
        let mut now = Time::ZERO;
        for _ in 0..100 {
            let segment = path.segment(now);
            assert_eq!(path.segment(now), segment);
            assert!(segment.until > now && segment.until.as_nanos().is_multiple_of(40_000_000));
            now = segment.until;
        }
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
            MarkovParts::new(&config).unwrap_err().to_string()
        };
        assert_eq!(
            refusal(|c| c.rates.clear()),
            "`capacity.markov.rates` is empty, expected at least one rate"
        );
        assert_eq!(
            refusal(|c| c.mean_holding[1] = Span::ZERO),
            "`capacity.markov.mean_holding[1]` is 0 s, expected a time above zero"
        );
        assert_eq!(
            refusal(|c| c.start = Some(2)),
            "`capacity.markov.start` is 2, expected a state from 0 to 1"
        );
        assert_eq!(
            refusal(|c| c.mean_holding.truncate(1)),
            "`capacity.markov.mean_holding` is 1 values, expected 2, one per rate"
        );
        assert_eq!(
            refusal(|c| c.jumps = Some(vec![row(&[0.0, 1.0]), row(&[0.9, 0.0])])),
            "`capacity.markov.jumps[1]` is a row with sum 0.9, expected probabilities that sum to 1"
        );
        assert_eq!(
            refusal(|c| c.jumps = Some(vec![row(&[0.0, 1.0]), row(&[0.9, 0.1])])),
            "`capacity.markov.jumps[1][1]` is 0.1, expected 0: a jump leads to another state"
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
            "`capacity.markov.jumps` is a chain that falls apart, expected every state to be reachable from every other"
        );
    }
}
