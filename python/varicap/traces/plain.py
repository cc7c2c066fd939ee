"""Traces that a line of text can describe: a constant rate, steps, a Markov chain."""

from collections.abc import Sequence

import numpy as np

from varicap.traces.parameters import TraceError, steps_of
from varicap.traces.randomness import Source, exponential, uniform
from varicap.traces.trace import Array, Rates

_MOST_PIECES = 10_000_000


def generate_constant(rate_bps: float, duration_s: float) -> Rates:
    """A constant rate for `duration_s`.

    >>> generate_constant(12e6, 10.0).rate_bps
    array([12000000.])
    """
    steps_of(duration_s, duration_s)
    return Rates(np.zeros(1), _checked([rate_bps]), duration_s)


def generate_steps(rates_bps: Sequence[float], hold_s: Sequence[float], duration_s: float) -> Rates:
    """Rates in turn, each for its time, repeated; a single time applies to all rates.

    >>> generate_steps([10e6, 2e6], [5.0], 15.0).time_s
    array([ 0.,  5., 10.])
    """
    rates, holds = _checked(rates_bps), _holds(hold_s, len(rates_bps))
    rounds = int(np.ceil(duration_s / holds.sum()))
    steps_of(duration_s, float(holds.min()))
    begins = np.concatenate([[0.0], np.cumsum(np.tile(holds, rounds))[:-1]])
    inside = begins < duration_s - 1e-9
    return Rates(begins[inside], np.tile(rates, rounds)[inside], duration_s)


def generate_markov(rates_bps: Sequence[float], mean_holding_s: Sequence[float], duration_s: float, seed: int) -> Rates:
    """A continuous-time Markov chain of rates: exponential times, then one of the other rates with equal probability.

    It begins in its stationary distribution.  The same chain in a scenario (``capacity = { markov = … }``) has another
    path under every seed; a trace is one path, the same in every run.

    >>> generate_markov([8e6, 2e6], [1.0], 100.0, seed=1).rate_bps[:2].tolist() in ([8e6, 2e6], [2e6, 8e6])
    True
    """
    rates, holds = _checked(rates_bps), _holds(mean_holding_s, len(rates_bps))
    steps_of(duration_s, float(holds.min()) / 10)
    source = Source(seed)
    # All transitions are equally likely, so each state is visited equally often; its weight is how long it lasts.
    state = int(np.searchsorted(np.cumsum(holds) / holds.sum(), uniform(source, 1)[0]))
    begins, states, now_s = [], [], 0.0
    while now_s < duration_s:
        begins.append(now_s)
        states.append(min(state, len(rates) - 1))
        now_s += max(float(exponential(source, 1)[0]) * float(holds[states[-1]]), 1e-9)
        if len(rates) > 1:
            other = min(int(np.ceil(float(uniform(source, 1)[0]) * (len(rates) - 1))), len(rates) - 1)
            state = (states[-1] + other) % len(rates)
    return Rates(np.array(begins), rates[states], duration_s)


def _checked(rates_bps: Sequence[float]) -> Array:
    rates = np.array(rates_bps, np.float64)
    if len(rates) == 0 or not (np.isfinite(rates) & (rates >= 0)).all():
        raise TraceError(f"rates are finite and not negative, one or more, not {list(rates_bps)}")
    return rates


def _holds(given: Sequence[float], count: int) -> Array:
    holds = np.array(given if len(given) != 1 else [*given] * count, np.float64)
    if len(holds) != count:
        raise TraceError(f"{len(given)} times for {count} rates: give one for all, or one for each")
    if not (np.isfinite(holds) & (holds > 0)).all():
        raise TraceError(f"a rate holds for a time above 0 s, not {list(given)}")
    return holds
