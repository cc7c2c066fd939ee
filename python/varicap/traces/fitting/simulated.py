"""Intervals of what was fitted: paths of the fitted chain are fitted again (the parametric bootstrap)."""

import numpy as np

from varicap.traces.fitting.hidden import Hidden, fit_again
from varicap.traces.randomness import Source, normal, uniform
from varicap.traces.trace import Array


def intervals(chain: Hidden, paths: int, seed: int) -> tuple[Array, Array]:
    """95 % intervals of the means [packets per slot] and the mean holding times [slots], each of shape (n, 2).

    Paths whose fit has found fewer states say nothing about single ones and are left out.
    """
    source = Source(seed)
    means, holdings = [], []
    for _ in range(paths):
        again = fit_again(path(chain, source), chain)
        if again.states == chain.states:
            means.append(again.mean)
            holdings.append(1 / np.maximum(1 - np.diag(again.transition), 1e-12))
    if len(means) < 2:
        unknown = np.tile([-np.inf, np.inf], (chain.states, 1))
        return unknown, unknown
    return (
        np.percentile(means, [2.5, 97.5], axis=0).T,
        np.percentile(holdings, [2.5, 97.5], axis=0).T,
    )


def path(chain: Hidden, source: Source) -> Array:
    """What the fitted chain might have carried in as many slots, shape (T,)."""
    cumulative = np.cumsum(chain.transition, axis=1)
    draws = uniform(source, chain.slots)
    visited = np.empty(chain.slots, dtype=np.intp)
    state = int(np.searchsorted(np.cumsum(chain.share), float(draws[0])))
    for slot in range(chain.slots):
        visited[slot] = state = min(state, chain.states - 1)
        state = int(np.searchsorted(cumulative[state], float(draws[slot])))
    mean = chain.mean[visited]
    noise = normal(source, chain.slots)
    if chain.law == "normal":
        return np.asarray(np.maximum(mean + noise * np.sqrt(chain.variance[visited]), 0.0))
    return np.random.Generator(source).poisson(mean).astype(np.float64)
