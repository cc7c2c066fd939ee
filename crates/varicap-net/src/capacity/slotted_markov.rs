//! A Markov chain of rates in slots.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Fault, Part, require};
use varicap_units::{JsonSchema, Probability, Rate, Span, Stream, Time};

use super::{CapacityPart, CapacityProcess, CapacitySegment, Files, check_rates, mean_of};
use crate::chain::{Chain, check_states, cumulative, draw, falls_apart, stationary};
use crate::check::transition_matrix;
use crate::error::NetError;

/// Most slots that a slotted chain runs ahead to find its next change.
const SLOTS_AHEAD: u32 = 1000;

/// A Markov chain that may change only at multiples of `step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlottedMarkovConfig {
    /// The rate in each state.
    pub rates: Vec<Rate>,
    /// Length of a slot.
    pub step: Span,
    /// Probability of each next state after a slot (rows sum to 1).
    pub transitions: Vec<Vec<Probability>>,
    /// First state. Default: drawn from the stationary distribution.
    #[serde(default)]
    pub start: Option<usize>,
}

impl Part for SlottedMarkovConfig {
    fn check(&self) -> Checked {
        SlottedMarkovParts::new(self).map(|_| ())
    }

    fn draws(&self) -> bool {
        true
    }
}

impl CapacityPart for SlottedMarkovConfig {
    type Parts = Arc<SlottedMarkovParts>;
    type Path = SlottedMarkov;
    const IS_RANDOM: bool = true;

    fn read(&self, _: &mut Files<'_>) -> Result<Arc<SlottedMarkovParts>, NetError> {
        Ok(Arc::new(SlottedMarkovParts::new(self)?))
    }

    fn mean_rate(parts: &Arc<SlottedMarkovParts>) -> Rate {
        parts.mean_rate()
    }

    fn path(parts: &Arc<SlottedMarkovParts>, stream: Stream) -> SlottedMarkov {
        SlottedMarkov::new(parts.clone(), stream)
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
    /// The chain of a scenario, which is checked.
    pub fn new(config: &SlottedMarkovConfig) -> Result<SlottedMarkovParts, Fault> {
        let states = config.rates.len();
        check_rates("rates", &config.rates)?;
        check_states(("rates", states), config.start)?;
        require("step", config.step > Span::ZERO, config.step, "a time above zero")?;
        let rows = transition_matrix("transitions", states, &config.transitions, "rate")?;
        let share = stationary(&rows).ok_or_else(|| falls_apart("transitions"))?;
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
    use varicap_units::Streams;

    fn row(values: &[f64]) -> Vec<Probability> {
        values.iter().map(|&value| Probability::new(value).unwrap()).collect()
    }

    fn config() -> SlottedMarkovConfig {
        SlottedMarkovConfig {
            rates: [100, 500].map(Rate::from_bps).to_vec(),
            step: Span::from_millis(40),
            transitions: vec![row(&[0.9, 0.1]), row(&[0.3, 0.7])],
            start: Some(0),
        }
    }

    #[test]
    fn a_slotted_chain_changes_only_at_multiples_of_its_step() {
        let parts = Arc::new(SlottedMarkovParts::new(&config()).unwrap());
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
    fn a_rate_beyond_all_links_is_refused() {
        let rates = vec![Rate::from_bps(100), Rate::from_bps(varicap_units::part::FASTEST.as_bps() + 1)];
        assert_eq!(SlottedMarkovConfig { rates, ..config() }.check().unwrap_err().key, "rates.1");
    }
}
