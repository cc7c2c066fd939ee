"""A hidden Markov chain fitted to what a link carries in each slot, by expectation maximisation.

In slot t the chain is in state s(t), which nobody sees; what is carried is random about the state's mean:

    x(t) ~ normal(m_s, v_s)   or, of whole packets,   x(t) ~ Poisson(m_s)

The states of a link that varies are not separate, so their number is a choice: the one with the least

    BIC = -2 log L + k log T

of k parameters and T slots.  Source: [rabiner89, §III] for the algorithm, [schwarz78] for the criterion.  hmmlearn
iterates; the last step is done here, since it treats the trace as a cycle, as links do: with the step from the end to
the beginning every state is left as often as it is entered, so that the chain holds together and its long-run mean is
the trace's.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from varicap.errors import MachineLacksError
from varicap.traces.fitting.resolution import LEAST_VARIANCE, distinct, resolution
from varicap.traces.parameters import TraceError
from varicap.traces.trace import Array

Law = Literal["normal", "poisson"]

_LEAST_CARRIED, _LEAST_OF_ALL = 0.5, 1e-3
"""By a state that is no outage, in all of its slots [packets], and as a share of what all states carry."""
_LEAST_MEAN = 1e-3
"""Of a Poisson state [packets]: a law of mean 0 would make every other value impossible."""
_PRIOR = 0.2
"""Of the least variance, which hmmlearn adds to the sum of squares of each state."""
_POSSIBLE = 1e-12
"""Chance of a step that the chain does not have: a trace may have one, at the end of which it begins again."""
_ITERATIONS = 200
_GAIN = 1e-2
"""Of the log-likelihood, below which iterations end."""
_CLEARLY = 1.0
"""By how much a log-likelihood has to be greater to be that of another summit."""
_LEVELS = 200
"""Of the values that are clustered."""
SLOTS_PER_STATE = 30
"""A state for fewer slots than that would describe single events."""


@dataclass(frozen=True, eq=False)
class Hidden:
    """A hidden chain, its states in order of their means."""

    law: Law
    """What is carried in a slot, given the state."""
    mean: Array
    """Mean of each state [packets per slot], shape (n,)."""
    variance: Array
    """Variance of each state [packets²], shape (n,); the mean, for Poisson."""
    transition: Array
    """Probability of each next state, shape (n, n)."""
    share: Array
    """Long-run share of slots in each state, shape (n,)."""
    log_likelihood: float
    """Natural logarithm of the likelihood of the slots."""
    slots: int
    resolution: float = 1.0
    """Least difference of means that the slots tell apart [packets], `varicap.traces.fitting.resolution`."""

    @property
    def least_variance(self) -> float:
        """Of a state [packets²]: below it a normal law would describe one value, with a likelihood without bound."""
        return LEAST_VARIANCE * self.resolution**2

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.mean)

    @property
    def alike(self) -> list[int]:
        """States whose mean is nearer to the next one's than the slots tell apart."""
        return np.flatnonzero(np.diff(self.mean) < 0.999 * self.resolution).tolist() if self.law == "normal" else []

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        n = self.states
        return n * (n - 1) + n * (2 if self.law == "normal" else 1)

    @property
    def bic(self) -> float:
        """The Bayesian information criterion: the less, the better."""
        return self.parameters * math.log(self.slots) - 2 * self.log_likelihood

    def log_density(self, values: Array) -> Array:
        """Log-likelihood of each value in each state, shape (T, n)."""
        x, m = values[:, None], self.mean[None, :]
        if self.law == "poisson":
            m = np.maximum(m, _LEAST_MEAN)
            from scipy.special import gammaln  # slow to import

            return np.asarray(x * np.log(m) - m - gammaln(x + 1))
        v = self.variance[None, :]
        return np.asarray(-0.5 * (np.log(2 * np.pi * v) + (x - m) ** 2 / v))

    def score(self, values: Array) -> float:
        """Log-likelihood of other slots, begun anywhere."""
        return _forward(self, values)[-1]

    def without_memory(self) -> "Hidden":
        """The same shares of the same states, in any order."""
        n = self.states
        return replace(self, transition=np.tile(self.share, (n, 1)), log_likelihood=math.nan)


def fit_again(values: Array, known: Hidden) -> Hidden:
    """Fit a chain to a path of the `known` one, from which iterations begin."""
    if known.states == 1:
        return _only(values, known.law, known.resolution)
    return _as_cycle(_iterated(values, known), values)


def fit_hidden(values: Array, states: int, law: Law) -> Hidden:
    """Fit a chain of so many states to what was carried in each slot, shape (T,); deterministic.

    `values` are packets; whole ones for ``poisson``.  There are fewer states where a normal law has fewer values.
    Raises `TraceError` if there are too few slots.
    """
    slots = len(values)
    if slots < SLOTS_PER_STATE * states:
        raise TraceError(f"{slots} slots are too few for {states} states: {SLOTS_PER_STATE} each, or a shorter slot")
    finest = resolution(values)
    if law == "normal":
        # A state without a value of its own would be another one's copy.
        states = min(states, len(distinct(values)[1]))
    if states == 1:
        return _only(values, law, finest)
    found = _as_cycle(_iterated(values, _at_quantiles(values, states, law, finest)), values)
    clusters = _at_clusters(values, states, law, finest)
    if clusters is None:
        return found
    # An iteration ends on the nearest summit.
    other = _as_cycle(_iterated(values, clusters), values)
    return other if other.log_likelihood > found.log_likelihood + _CLEARLY else found


def _only(values: Array, law: Law, finest: float) -> Hidden:
    """A single state."""
    mean = np.array([values.mean()])
    variance = np.array([max(float(values.var()), LEAST_VARIANCE * finest**2)]) if law == "normal" else mean
    only = Hidden(law, mean, variance, np.ones((1, 1)), np.ones(1), math.nan, len(values), finest)
    return replace(only, log_likelihood=only.score(values))


def chosen(values: Array, laws: Sequence[Law], counts: Sequence[int]) -> tuple[Hidden, list[Hidden]]:
    """The chain with the least BIC, and all that were tried: in each law until two more states in a row are worse."""
    tried: list[Hidden] = []
    for law in laws:
        worse, least = 0, math.inf
        for states in counts:
            found = fit_hidden(values, states, law)
            tried.append(found)
            worse, least = (0, found.bic) if found.bic < least else (worse + 1, least)
            if worse == 2:
                break
    return min(tried, key=lambda each: each.bic), tried


def _at_quantiles(values: Array, states: int, law: Law, finest: float) -> Hidden:
    """States at quantiles of what was carried, each kept for ten slots."""
    levels = np.quantile(values, (np.arange(states) + 0.5) / states)
    # States that begin equal stay equal.
    mean = np.maximum(levels + 1e-3 * finest * np.arange(states), _LEAST_MEAN if law == "poisson" else 0.0)
    least = LEAST_VARIANCE * finest**2
    variance = np.full(states, max(float(values.var()) / states**2, least)) if law == "normal" else mean
    leave = 0.1 / max(states - 1, 1)
    transition = np.full((states, states), leave)
    np.fill_diagonal(transition, 1 - leave * (states - 1))
    return Hidden(law, mean, variance, transition, np.full(states, 1 / states), math.nan, len(values), finest)


def _at_clusters(values: Array, states: int, law: Law, finest: float) -> Hidden | None:
    """States at the clusters of what was carried, with the steps between these; None where it has fewer values.

    Quantiles give rare states to common rates: two that are close together but seldom, and one that is frequent, begin
    as one and as two.  Clusters part the sorted values where the sum of squares about their means is least.
    """
    place, seen, _ = distinct(values)
    if len(seen) > _LEVELS:
        least, most = float(values.min()), float(values.max())
        level = np.rint((values - least) * ((_LEVELS - 1) / (most - least))).astype(np.intp)
        seen, place = np.unique(level, return_inverse=True)
    if len(seen) < states:
        return None
    ends = _least_squares([np.bincount(place, each) for each in (np.ones_like(values), values, values**2)], states)
    cluster = np.searchsorted(ends, place, side="right")
    count = np.bincount(cluster, minlength=states).astype(np.float64)
    mean = np.maximum(np.bincount(cluster, values, states) / count, _LEAST_MEAN if law == "poisson" else 0.0)
    spread = np.bincount(cluster, (values - mean[cluster]) ** 2, states) / count
    variance = np.maximum(spread, LEAST_VARIANCE * finest**2) if law == "normal" else mean
    steps = np.full((states, states), 1 / states)
    np.add.at(steps, (cluster, np.roll(cluster, -1)), 1.0)
    transition = steps / steps.sum(axis=1, keepdims=True)
    return Hidden(law, mean, variance, transition, count / len(values), math.nan, len(values), finest)


def _least_squares(powers: Sequence[NDArray[Any]], parts: int) -> NDArray[np.intp]:
    """Where to end each part but the last of sorted levels, by dynamic programming.

    `powers` are the number of values of each level, their sum and the sum of their squares.
    """
    sums = [np.concatenate([[0.0], np.cumsum(each)]) for each in powers]
    w, x, xx = (each[None, :] - each[:, None] for each in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = np.where(w > 0, xx - x**2 / w, np.inf)  # of the levels from the row to before the column
    best, begins = cost[0], []
    for _ in range(parts - 1):
        reached = best[:, None] + cost
        begins.append(reached.argmin(axis=0))
        best = reached.min(axis=0)
    ends, at = [], len(powers[0])
    for begin in reversed(begins):
        at = int(begin[at])
        ends.append(at)
    return np.array(ends[::-1])


def _iterated(values: Array, first: Hidden) -> Hidden:
    """Expectation maximisation from there on, until it gains nothing.

    By scaled probabilities [rabiner89, §V-A], or, where these leave the range of numbers, by their logarithms, which
    take three times as long.  Raises `TraceError` where these leave it, too.
    """
    for arithmetic in ("scaling", "log"):
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                found = _climbed(values, first, arithmetic)
        except ValueError:  # hmmlearn's: a value is impossible in every state
            continue
        if all(np.isfinite(each).all() for each in (found.mean, found.variance, found.transition, found.share)):
            return found
    raise TraceError(f"no chain of {first.states} states could be fitted: its iteration leaves the range of numbers")


def _climbed(values: Array, first: Hidden, arithmetic: str) -> Hidden:
    states, law = first.states, first.law
    if law == "normal":
        # About their mean and by their spread: hmmlearn's variances are differences of large sums.
        centre, unit = float(values.mean()), float(values.std())
        model = _model(states, law, arithmetic, first.least_variance / unit**2)
        model.startprob_, model.transmat_ = first.share, first.transition
        model.means_, model.covars_ = (first.mean[:, None] - centre) / unit, first.variance[:, None] / unit**2
        model.fit((values[:, None] - centre) / unit)
        mean = np.maximum(model.means_.ravel() * unit + centre, 0.0)
        variance = np.maximum(model.covars_.reshape(states) * unit**2, first.least_variance)
    else:
        model = _model(states, law, arithmetic)
        model.startprob_, model.transmat_ = first.share, first.transition
        model.lambdas_ = np.maximum(first.mean, _LEAST_MEAN)[:, None]
        model.fit(np.rint(values).astype(np.int64)[:, None])
        mean = variance = np.maximum(model.lambdas_.ravel(), _LEAST_MEAN)
    return replace(first, mean=mean, variance=variance, transition=model.transmat_, share=model.startprob_)


def _model(states: int, law: Law, arithmetic: str, least_variance: float = 0.0) -> Any:
    """hmmlearn's, whose first values are given."""
    try:
        from hmmlearn import hmm
    except ImportError:
        raise MachineLacksError("fitting needs hmmlearn: install varicap[fit]") from None
    _no_warnings()
    options = {"n_iter": _ITERATIONS, "tol": _GAIN, "init_params": "", "implementation": arithmetic}
    if law == "poisson":
        return _counted(hmm.PoissonHMM)(states, params="stl", **options)
    return _bounded(hmm.GaussianHMM)(
        states, "diag", params="stmc", min_covar=least_variance, covars_prior=_PRIOR * least_variance, **options
    )


def _bounded(model: Any) -> Any:
    """A model of hmmlearn whose variances stay above `min_covar` in each iteration, and not only at first."""

    def maximise(self: Any, stats: Any) -> None:
        model._do_mstep(self, stats)
        self._covars_ = np.fmax(self._covars_, self.min_covar)

    return type("Bounded", (model,), {"_do_mstep": maximise})


def _counted(model: Any) -> Any:
    """A model of hmmlearn that computes what each count is worth once: slots have few that differ."""

    def of_each(law: Callable[[Any, Any], Array]) -> Callable[[Any, Any], Array]:
        def likelihood(self: Any, counts: Any) -> Array:
            most = int(counts.max())
            if most >= len(counts):
                return law(self, counts)
            of_count: Array = law(self, np.arange(most + 1)[:, None])[counts[:, 0]]
            return of_count

        return likelihood

    names = ("_compute_likelihood", "_compute_log_likelihood")
    return type("Counted", (model,), {name: of_each(getattr(model, name)) for name in names})


def _no_warnings() -> None:
    """That the likelihood falls in its last digits, or a state is empty, is no news to a user."""
    import logging

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)


def _as_cycle(found: Hidden, values: Array) -> Hidden:
    """The last step of the maximisation, with the step from the end of the trace to its beginning."""
    before, after, scale, density = _passes(found, values)
    state = before * after
    state /= state.sum(axis=1, keepdims=True)
    onward = density[1:] * after[1:] / scale[1:, None]
    steps = (found.transition + _POSSIBLE) * (before[:-1].T @ onward) + np.outer(state[-1], state[0])
    keep = np.flatnonzero(state.sum(axis=0) > 0.5)  # a state for less than half a slot is none
    keep = keep[np.argsort(found.mean[keep], kind="stable")]
    state, steps = state[:, keep], steps[np.ix_(keep, keep)]
    times = state.sum(axis=0)
    carried = values @ state
    # Less than half a packet in all of its slots is none: the state is an outage.
    whole = np.where(carried < min(_LEAST_CARRIED, _LEAST_OF_ALL * carried.sum()), 0.0, carried)
    mean = whole * (carried.sum() / whole.sum()) / times
    spread = np.maximum((((values[:, None] - mean) ** 2) * state).sum(axis=0) / times, found.least_variance)
    variance = spread if found.law == "normal" else mean
    transition = steps / steps.sum(axis=1, keepdims=True)
    share = times / times.sum()
    final = replace(found, mean=mean, variance=variance, transition=transition, share=share)
    return replace(final, log_likelihood=_forward(final, values)[-1])


def _passes(chain: Hidden, values: Array) -> tuple[Array, Array, Array, Array]:
    """Forward and backward variables, scaled; the scales; densities.  [rabiner89, §V-A]."""
    before, scale, density, _ = _forward(chain, values)
    after, scales = np.ones_like(density), scale.tolist()
    later, step = after[-1], (chain.transition + _POSSIBLE).dot
    for slot in range(len(density) - 1, 0, -1):
        after[slot - 1] = later = step(density[slot] * later) / scales[slot]
    return before, after, scale, density


def _forward(chain: Hidden, values: Array) -> tuple[Array, Array, Array, float]:
    """Forward variables, scaled; the scales; densities; log-likelihood.  [rabiner89, §V-A]."""
    log = chain.log_density(values)
    most = log.max(axis=1)
    density = np.exp(log - most[:, None])
    before, scale = np.empty_like(density), np.empty(len(density))
    now, transition, total = chain.share, chain.transition + _POSSIBLE, np.add.reduce
    for slot, of_state in enumerate(density):
        now = (now.dot(transition) if slot else now) * of_state
        scale[slot] = every = max(total(now), 1e-300)
        before[slot] = now = now / every
    return before, scale, density, float(np.log(scale).sum() + most.sum())
