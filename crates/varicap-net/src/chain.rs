//! Finite Markov chains: stationary distribution, drawing of states, states that are held for a while.

use varicap_units::part::{Checked, Fault, require};
use varicap_units::{Probability, Span, Stream, Time};

use crate::check::{same_length, singular, transition_matrix};

/// A state is never held for no time, however short its holding time was drawn.
const SHORTEST: Span = Span::from_nanos(1);

/// A stochastic matrix, ready for drawing the next state.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// Row-wise sums from the left.
    cumulative: Vec<Vec<f64>>,
}

impl Chain {
    pub fn new(rows: &[Vec<f64>]) -> Chain {
        Chain { cumulative: rows.iter().map(|row| cumulative(row)).collect() }
    }

    /// The state after `state`.
    pub fn next(&self, state: usize, stream: &mut Stream) -> usize {
        draw(&self.cumulative[state], stream)
    }
}

/// A chain in continuous time: states that are held for exponential times, and jumps between them; checked.
#[derive(Clone, Debug)]
pub(crate) struct HoldingChain {
    mean_holding: Vec<Span>,
    embedded: Chain,
    /// Long-run share of time in each state.
    share: Vec<f64>,
    start: Option<usize>,
}

impl HoldingChain {
    /// The chain of a table in which `list` has a value for each of the `states`.
    pub fn new(
        (list, states): (&str, usize),
        mean_holding: &[Span],
        jumps: Option<&[Vec<Probability>]>,
        start: Option<usize>,
    ) -> Result<HoldingChain, Fault> {
        check_states((list, states), start)?;
        let one = singular(list);
        same_length("mean_holding", mean_holding.len(), states, one)?;
        if let Some(index) = mean_holding.iter().position(|&mean| mean == Span::ZERO) {
            return Err(Fault::new(format!("mean_holding.{index}"), Span::ZERO, "a time above zero"));
        }
        let jumps = match jumps {
            // A single state has nowhere to jump to.
            _ if states == 1 => vec![vec![1.0]],
            None => every_other_alike(states),
            Some(rows) => {
                if let Some(index) = (0..states)
                    .find(|&i| rows.get(i).and_then(|row| row.get(i)).is_some_and(|p| p.get() > 0.0))
                {
                    let key = format!("jumps.{index}.{index}");
                    return Err(Fault::new(key, rows[index][index], "0: a jump leads to another state"));
                }
                transition_matrix("jumps", states, rows, one)?
            }
        };
        let visits = stationary(&jumps).ok_or_else(|| falls_apart("jumps"))?;
        let times = mean_holding.iter().map(|mean| mean.as_secs_f64());
        let share = normalised(visits.iter().zip(times).map(|(visits, time)| visits * time).collect());
        Ok(HoldingChain { mean_holding: mean_holding.to_vec(), embedded: Chain::new(&jumps), share, start })
    }

    /// Long-run share of time in each state.
    pub fn share(&self) -> &[f64] {
        &self.share
    }

    /// How long each state is held in the mean.
    pub fn mean_holding(&self) -> &[Span] {
        &self.mean_holding
    }

    /// The first state, and until when it is held.
    pub fn first(&self, stream: &mut Stream) -> (usize, Time) {
        let state = self.start.unwrap_or_else(|| draw(&cumulative(&self.share), stream));
        (state, self.held_from(state, Time::ZERO, stream))
    }

    /// The state after `state`, which ends at `at`, and until when it is held.
    pub fn next(&self, state: usize, at: Time, stream: &mut Stream) -> (usize, Time) {
        let state = self.embedded.next(state, stream);
        (state, self.held_from(state, at, stream))
    }

    /// Until when a state that begins at `at` is held; a single state is held indefinitely.
    fn held_from(&self, state: usize, at: Time, stream: &mut Stream) -> Time {
        if self.mean_holding.len() == 1 {
            return Time::NEVER;
        }
        at + stream.exponential_span(self.mean_holding[state]).max(SHORTEST)
    }
}

/// Checks that a chain has states, and its first one among them.
pub(crate) fn check_states((list, states): (&str, usize), start: Option<usize>) -> Checked {
    require(list, states > 0, "empty", format!("at least one {}", singular(list)))?;
    let start = start.unwrap_or_default();
    require("start", start < states, start, format!("a state from 0 to {}", states - 1))
}

fn every_other_alike(states: usize) -> Vec<Vec<f64>> {
    let alike = 1.0 / (states - 1) as f64;
    (0..states).map(|from| (0..states).map(|to| if from == to { 0.0 } else { alike }).collect()).collect()
}

/// Not every state of the chain at `key` is reachable from every other.
pub(crate) fn falls_apart(key: &str) -> Fault {
    Fault::new(key, "a chain that falls apart", "every state to be reachable from every other")
}

/// Sums from the left.
pub(crate) fn cumulative(weights: &[f64]) -> Vec<f64> {
    let sums = weights.iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    sums.collect()
}

/// Draws an index in proportion to the weights whose sums are given.
pub(crate) fn draw(cumulative: &[f64], stream: &mut Stream) -> usize {
    let total = cumulative.last().copied().unwrap_or_default();
    let level = stream.uniform() * total;
    // An index without weight has the sum of the one before it, and is never the first above the level.
    cumulative.partition_point(|&sum| sum <= level).min(cumulative.len().saturating_sub(1))
}

/// Solves pi P = pi, sum(pi) = 1 for a stochastic matrix; `None` if not every state is reachable from every other.
/// By elimination without subtractions, which loses no accuracy. Source: Grassmann, Taksar and Heyman,
/// Operations Research 33 (1985).
pub(crate) fn stationary(rows: &[Vec<f64>]) -> Option<Vec<f64>> {
    let states = rows.len();
    if !is_irreducible(rows) {
        return None;
    }
    let mut matrix = rows.to_vec();
    for last in (1..states).rev() {
        let (kept, eliminated) = matrix.split_at_mut(last);
        let eliminated = &eliminated[0][..last];
        let leaving: f64 = eliminated.iter().sum();
        for row in kept {
            row[last] /= leaving;
            let ratio = row[last];
            for (entry, onward) in row.iter_mut().zip(eliminated) {
                *entry += ratio * onward;
            }
        }
    }
    let mut weights = vec![1.0; states];
    for state in 1..states {
        weights[state] = (0..state).map(|from| weights[from] * matrix[from][state]).sum();
    }
    Some(normalised(weights))
}

/// `weights` scaled to sum 1.
pub(crate) fn normalised(mut weights: Vec<f64>) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= total;
    }
    weights
}

/// Whether every state reaches every other: the first reaches all, and all reach the first.
fn is_irreducible(rows: &[Vec<f64>]) -> bool {
    let reaches_all = |linked: &dyn Fn(usize, usize) -> bool| {
        let mut seen = vec![false; rows.len()];
        let mut open = vec![0];
        seen[0] = true;
        while let Some(state) = open.pop() {
            for (next, seen) in seen.iter_mut().enumerate() {
                if !*seen && linked(state, next) {
                    *seen = true;
                    open.push(next);
                }
            }
        }
        seen.into_iter().all(|seen| seen)
    };
    reaches_all(&|from, to| rows[from][to] > 0.0) && reaches_all(&|to, from| rows[from][to] > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stationary_of_two_states_is_the_closed_form() {
        let (away, back) = (0.3, 0.01);
        let pi = stationary(&[vec![1.0 - away, away], vec![back, 1.0 - back]]).unwrap();
        // Two rounding errors of a double.
        assert!((pi[0] - back / (away + back)).abs() < 1e-15 && (pi[0] + pi[1] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn stationary_solves_the_balance_of_a_periodic_chain() {
        let rows = [vec![0.0, 1.0, 0.0], vec![0.5, 0.0, 0.5], vec![0.0, 1.0, 0.0]];
        assert_eq!(stationary(&rows).unwrap(), [0.25, 0.5, 0.25]);
    }

    #[test]
    fn a_chain_that_falls_apart_has_no_stationary_distribution() {
        assert_eq!(stationary(&[vec![1.0, 0.0], vec![0.0, 1.0]]), None);
        assert_eq!(stationary(&[vec![0.5, 0.5], vec![0.0, 1.0]]), None);
    }

    #[test]
    fn an_index_without_weight_is_never_drawn() {
        let mut stream = varicap_units::Streams::new(1, 0).stream("t");
        let sums = cumulative(&[0.0, 0.5, 0.0, 0.5, 0.0]);
        assert!((0..1000).all(|_| matches!(draw(&sums, &mut stream), 1 | 3)));
    }
}
