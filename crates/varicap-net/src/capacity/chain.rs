//! Finite Markov chains: stationary distribution, and drawing of states.

use varicap_units::Stream;

/// A stochastic matrix, ready for drawing the next state.
#[derive(Clone, Debug)]
pub(super) struct Chain {
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

/// Sums from the left.
pub(super) fn cumulative(weights: &[f64]) -> Vec<f64> {
    let sums = weights.iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    sums.collect()
}

/// Draws an index in proportion to the weights whose sums are given.
pub(super) fn draw(cumulative: &[f64], stream: &mut Stream) -> usize {
    let total = cumulative.last().copied().unwrap_or_default();
    let level = stream.uniform() * total;
    // An index without weight has the sum of the one before it, and is never the first above the level.
    cumulative.partition_point(|&sum| sum <= level).min(cumulative.len().saturating_sub(1))
}

/// Solves pi P = pi, sum(pi) = 1 for a stochastic matrix; `None` if not every state is reachable from every other.
/// By elimination without subtractions, which loses no accuracy. Source: Grassmann, Taksar and Heyman,
/// Operations Research 33 (1985).
pub(super) fn stationary(rows: &[Vec<f64>]) -> Option<Vec<f64>> {
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
pub(super) fn normalised(mut weights: Vec<f64>) -> Vec<f64> {
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
