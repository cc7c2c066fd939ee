"""Effective capacity: the constant rate that a link whose capacity varies can carry.

A link serves C_i in slot i, and a constant gamma arrives per slot.  The backlog exceeds x with a probability below
exp(-delta x), for large x, as long as gamma stays below

    Gamma(delta) = -1/delta  lim 1/n  log E exp(-delta (C_1 + … + C_n))

For a finite Markov chain with transition matrix P and capacity c_j in state j the limit is the spectral radius of a
tilted matrix, Gamma(delta) = -1/delta log rho(P diag(exp(-delta c))).  It falls from the mean capacity (delta -> 0)
to the least mean over a cycle of states (delta -> infinity), the least capacity if the chain can stay in its state.

A capacity that may change at any time serves r_j per second in state j and has a generator Q.  Then
Gamma(delta) = -1/delta lambda(Q - diag(delta r)) with the largest real eigenvalue lambda, which is what the slotted
chain tends to as its slots become short.

For samples, the mean over N sliding blocks of M samples takes the place of the expectation:

    Gamma = -1/(M delta)  log 1/N  sum_j exp(-delta sum_i C_ij)   ->   min_j 1/M sum_i C_ij      (delta -> infinity)

and this minimum is what EFFCAP feeds back.  Source: [abr, §IV, eqs. (23) to (28)].
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from varicap.analyse import markov

Array = NDArray[np.float64]

# Below this tilt, relative to the spread of the capacities, rounding errors exceed the effect of the tilt.
_LEAST_TILT = 1e-12
# From this tilt on, rounding errors of the least cycle's cost exceed what the tilt leaves above its capacity.
_MOST_TILT = 1e12
# Times the fastest change, from which on states are eliminated: their share in the Perron vector is lost in rounding.
_FAR = 1e2
_ROUNDING = 1e-9
_TURNS = 8


@dataclass(frozen=True, eq=False)
class SlottedChain:
    """A capacity that may change at the ends of slots only.  Raises ``ValueError`` if it is not one."""

    capacity: Array
    """Capacity by state, in any unit per slot, shape (n,)."""
    transition: Array
    """Probabilities of the state in the next slot, shape (n, n); one recurrent class."""

    def __post_init__(self) -> None:
        capacity = np.atleast_1d(np.asarray(self.capacity, dtype=float))
        transition = markov.validate(np.asarray(self.transition, dtype=float))
        if capacity.shape != transition.shape[:1]:
            raise ValueError(f"{capacity.size} capacities for {transition.shape[0]} states")
        if not (np.isfinite(capacity) & (capacity >= 0)).all():
            raise ValueError("a capacity is a finite number, 0 or more")
        object.__setattr__(self, "capacity", capacity)
        object.__setattr__(self, "transition", transition)

    @classmethod
    def symmetric(
        cls,
        mean_slots: float,
        *,
        high: float = 1.0,
        low: float = 0.5,
        law: Literal["reciprocal", "exponential"] = "reciprocal",
    ) -> Self:
        """Two states with the same mean holding time, as in [abr, §V].

        A state is left at the end of a slot with probability 1 / mean_slots, whose mean holding time is exactly
        that (one slot: the two states alternate), or with 1 - exp(-1 / mean_slots), a holding time cut into slots.

        >>> SlottedChain.symmetric(4.0).transition.tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        """
        if not 0 < mean_slots < math.inf or (law == "reciprocal" and mean_slots < 1):
            least = "1 or more" if law == "reciprocal" else "positive"
            raise ValueError(f"a mean holding time is {least} [slots], not {mean_slots!r}")
        change = 1 / mean_slots if law == "reciprocal" else -math.expm1(-1 / mean_slots)
        return cls(np.array([high, low]), np.array([[1 - change, change], [change, 1 - change]]))

    @cached_property
    def share(self) -> Array:
        """Long-run share of slots in each state, shape (n,)."""
        return markov.stationary(self.transition)

    @cached_property
    def mean(self) -> float:
        """Mean capacity per slot."""
        return float(self.share @ self.capacity)

    @property
    def least(self) -> float:
        """What the link is certain to carry per slot in the long run: the least mean over a cycle of states.

        Source: [karp78].
        """
        keep = markov.recurrent_class(markov.validate(self.transition))
        return _least_cycle(np.where(self.transition[np.ix_(keep, keep)] > 0, self.capacity[keep][:, None], np.inf))


@dataclass(frozen=True, eq=False)
class ContinuousChain:
    """A capacity that may change at any time.  Raises ``ValueError`` if it is not one."""

    capacity: Array
    """Capacity by state, in any unit per second, shape (n,)."""
    generator: Array
    """Rates of change from state to state [1/s], rows that sum to 0, shape (n, n); one recurrent class."""

    def __post_init__(self) -> None:
        capacity = np.atleast_1d(np.asarray(self.capacity, dtype=float))
        generator = np.atleast_2d(np.asarray(self.generator, dtype=float))
        if generator.shape != (capacity.size, capacity.size):
            raise ValueError(f"{capacity.size} capacities for a generator of shape {generator.shape}")
        if not (np.isfinite(capacity) & (capacity >= 0)).all():
            raise ValueError("a capacity is a finite number, 0 or more")
        changes = generator - np.diag(generator.diagonal())
        largest = max(float(np.abs(generator).max()), 1e-300)
        if not np.isfinite(generator).all() or (changes < 0).any():
            raise ValueError("a rate of change is a finite number, 0 or more")
        if (np.abs(generator.sum(axis=1)) > _ROUNDING * largest).any():
            raise ValueError("the rows of a generator sum to 0")
        object.__setattr__(self, "capacity", capacity)
        object.__setattr__(self, "generator", generator)

    @classmethod
    def holding(cls, capacity: ArrayLike, mean_holding_s: ArrayLike, jumps: ArrayLike | None = None) -> Self:
        """States that last so long on average, and then change by `jumps`, by default to each other alike.

        >>> ContinuousChain.holding([2.0, 1.0], [0.5, 0.25]).generator.tolist()
        [[-2.0, 2.0], [4.0, -4.0]]
        """
        mean = np.atleast_1d(np.asarray(mean_holding_s, dtype=float))
        if mean.size == 0 or not (mean > 0).all():
            raise ValueError("there is a state or more, and a mean holding time is longer than 0 s")
        one: Array = np.eye(mean.size)
        to = (1 - one) / max(mean.size - 1, 1) if jumps is None else np.asarray(jumps, dtype=float)
        if to.shape != one.shape:
            raise ValueError(f"jumps of shape {to.shape} for {mean.size} mean holding times: they are a square of them")
        for state, row in enumerate(to):
            if row[state] != 0 or not (row >= 0).all() or (mean.size > 1 and abs(row.sum() - 1) > _ROUNDING):
                raise ValueError(
                    f"row {state} of the jumps is {row.tolist()}: probabilities of the next state, 0 of the state "
                    "itself, that sum to 1"
                )
        return cls(np.asarray(capacity, dtype=float), (to - np.diag(to.sum(axis=1))) / mean[:, None])

    @property
    def share(self) -> Array:
        """Long-run share of time in each state, shape (n,)."""
        fastest = max(float(-self.generator.diagonal().min()), 1e-300)
        return markov.stationary(np.eye(self.capacity.size) + self.generator / fastest)

    @property
    def mean(self) -> float:
        """Mean capacity per second."""
        return float(self.share @ self.capacity)

    @property
    def least(self) -> float:
        """What the link is certain to carry per second: any state may last for any time."""
        return float(self.capacity[self.share > 0].min())


Chain: TypeAlias = SlottedChain | ContinuousChain


def effective_capacity(chain: Chain, delta: float) -> float:
    """Largest constant arrivals, per slot or per second, for which the backlog decays like exp(-delta x).

    Assumptions: a large buffer; one recurrent class.  Falls in `delta`; ``math.inf`` is allowed.

    Parameters
    ----------
    chain
        The capacity of the link.
    delta
        Decay of the backlog's distribution [1 / unit of the capacity]: -log(loss probability) / buffer.

    Source: [abr, §IV, eq. (23)]; the spectral radius as in [deveciana94].

    Examples
    --------
    >>> chain = SlottedChain.symmetric(5.0)
    >>> [round(effective_capacity(chain, delta), 3) for delta in (0.0, 1.0, 10.0, math.inf)]
    [0.75, 0.646, 0.522, 0.5]
    """
    if math.isnan(delta) or delta < 0:
        raise ValueError(f"delta is 0 or more, not {delta!r}")
    if isinstance(chain, ContinuousChain):
        return _at_any_time(chain, delta)
    keep = markov.recurrent_class(markov.validate(chain.transition))
    capacity, transition = chain.capacity[keep], chain.transition[np.ix_(keep, keep)]
    mean = chain.mean
    tilt = delta * float(np.ptp(capacity))
    if tilt < _LEAST_TILT:
        return mean
    if tilt > _MOST_TILT:
        return chain.least
    if tilt < 1:
        found = _by_perron_vector(capacity, transition, delta, mean)
    else:
        found = _by_cycles(capacity, transition, delta)
    return float(np.clip(found, chain.least, mean))


def _at_any_time(chain: ContinuousChain, delta: float) -> float:
    """Effective capacity of a continuous chain.

    From pi Q = 0 follows lambda = -delta pi R v / pi v with its Perron vector v: a mean of capacities, so that nothing
    cancels, however small delta is.
    """
    share, least = chain.share, chain.least
    keep = np.flatnonzero(share)
    generator, above = chain.generator[np.ix_(keep, keep)], np.maximum(chain.capacity[keep] - least, 0.0)
    tilt = delta * float(above.max())
    fastest = float(-generator.diagonal().min())
    if tilt == 0 or fastest == 0:
        return chain.mean
    if math.isinf(delta):
        return least
    if tilt > _FAR * fastest:
        return min(chain.mean, least + _by_elimination(generator, above, delta))
    # Both are rates per second; as shares of the larger one they are of order 1 at most.
    scale = max(tilt, fastest)
    values, vectors = np.linalg.eig(generator / scale - np.diag(above * (delta / scale)))
    weight = np.abs(vectors[:, values.real.argmax()]) * share[keep]
    return min(chain.mean, least + float(weight @ above / weight.sum()))


def _by_elimination(generator: Array, above: Array, delta: float) -> float:
    """-lambda / delta of Q - diag(delta above) for a large delta, without the states where the backlog soon falls.

    lambda is an eigenvalue, too, of the Schur complement Q_nn - delta R_n + Q_nf (lambda + delta R_f - Q_ff)^-1 Q_fn of
    the far states f in the near ones n, where it hardly matters: each turn leaves a ten-thousandth of the error.
    """
    far = above > _FAR * float(-generator.diagonal().min()) / delta
    near, rate = ~far, 0.0
    kept = generator[np.ix_(near, near)] - np.diag(delta * above[near])
    for _ in range(_TURNS):
        away = np.diag(rate / delta + above[far]) - generator[np.ix_(far, far)] / delta
        back = np.linalg.solve(away, generator[np.ix_(far, near)] / delta)
        rate = float(np.linalg.eigvals(kept + generator[np.ix_(near, far)] @ back).real.max())
    return -rate / delta


def _by_perron_vector(capacity: Array, transition: Array, delta: float, mean: float) -> float:
    """Effective capacity for small tilts, without cancellation where it is close to the mean."""
    exponents = -delta * (capacity - mean)
    values, vectors = np.linalg.eig(transition * np.exp(exponents)[None, :])
    # The tilted matrix is P D.  From pi P = pi follows rho = pi D v / pi v with its Perron vector v.
    perron = np.abs(vectors[:, np.abs(values).argmax()]) * markov.stationary(transition)
    return mean - math.log1p(float(perron @ np.expm1(exponents) / perron.sum())) / delta


def _by_cycles(capacity: Array, transition: Array, delta: float) -> float:
    """Effective capacity for large tilts, whose matrix has entries of very different size, or beyond any exponent.

    With the logarithms of the entries as costs of steps, the least mean cost of a cycle is what the spectral radius
    tends to.  Taking it from each step, and the differences of the cheapest ways from state to state, changes the
    radius by a known factor and leaves a matrix of entries at most 1, with a cycle of ones: a radius of 1 to n.
    """
    least = float(capacity.min())
    with np.errstate(divide="ignore"):
        cost = delta * (capacity - least)[None, :] - np.log(transition)
    cycle = _least_cycle(cost)
    price = np.zeros(capacity.size)
    for _ in range(capacity.size):
        price = np.minimum(price, (price[:, None] + (cost - cycle)).min(axis=0))
    scaled = np.exp(-(cost - cycle + price[:, None] - price[None, :]))
    radius = float(np.abs(np.linalg.eigvals(scaled)).max())
    return least + (cycle - math.log(radius)) / delta


def _least_cycle(cost: Array) -> float:
    """The least mean cost of a cycle of steps, of shape (n, n), infinite where there is no step; one class.

    Source: [karp78], by cheapest walks: the least over j of the largest over k of (D_n(j) - D_k(j)) / (n - k).
    """
    n = len(cost)
    walk = np.full((n + 1, n), np.inf)
    walk[0, 0] = 0.0
    for length in range(1, n + 1):
        walk[length] = (walk[length - 1][:, None] + cost).min(axis=0)
    ends = np.flatnonzero(np.isfinite(walk[n]))
    shorter, lengths = walk[:n, ends], (n - np.arange(n))[:, None]
    means = np.where(
        np.isfinite(shorter), (walk[n, ends] - np.where(np.isfinite(shorter), shorter, 0)) / lengths, -np.inf
    )
    return float(means.max(axis=0).min())


def decay_of(chain: Chain, rate: float) -> float:
    """The smallest delta whose effective capacity is this rate: the inverse of `effective_capacity`.

    0 from the mean capacity on, infinite at the least capacity; ``ValueError`` below it, which no delta gives.

    >>> chain = SlottedChain.symmetric(5.0)
    >>> round(effective_capacity(chain, decay_of(chain, 0.6)), 12)
    0.6
    """
    least, mean = chain.least, chain.mean
    if rate < least or math.isnan(rate):
        raise ValueError(f"no delta has an effective capacity of {rate:g}: the least capacity is {least:g}")
    if rate >= mean:
        return 0.0
    spread, most = float(np.ptp(chain.capacity)), _MOST_TILT
    if isinstance(chain, ContinuousChain):
        fastest = float(-chain.generator.diagonal().min())
        # What a tilt leaves above the least capacity is less than fastest / delta.
        spread, most = spread / fastest, 2 * spread / max(rate - least, math.ulp(least))
    low, high = math.log(_LEAST_TILT / spread), math.log(most / spread)
    if rate == least or effective_capacity(chain, math.exp(high) * (1 - 1e-12)) >= rate:
        return math.inf
    from scipy.optimize import brentq  # slow to import

    root = brentq(lambda log: effective_capacity(chain, math.exp(log)) - rate, low, high, xtol=1e-14, rtol=1e-14)
    return math.exp(root)


def estimate(samples: ArrayLike, *, average: int, least: int, delta: float = math.inf) -> Array:
    """Effective capacity from samples, after each of them; by default EFFCAP, shape (n,).

    A link that measures its capacity every s and feeds this back is TCP/ABR with EFFCAP(M, N).  Until there are M
    samples, their mean is fed back; then all blocks so far count, at most N, which takes M + N - 1 samples.

    Parameters
    ----------
    samples
        Capacity in each measurement interval, in any unit, shape (n,).
    average
        Samples of a block, M.
    least
        Sliding blocks over which the minimum is taken, each one sample later, N.
    delta
        Decay [1 / unit of a sample]; infinite for the minimum, eq. (28), 0 for the mean.

    Source: [abr, §IV-A, eqs. (25) and (28)].

    Examples
    --------
    >>> estimate([2, 2, 1, 1, 2, 2, 2], average=2, least=3).tolist()
    [2.0, 2.0, 1.5, 1.0, 1.0, 1.0, 1.5]
    >>> estimate([2, 2, 1, 1, 2, 2, 2], average=2, least=3, delta=0.0).round(3).tolist()
    [2.0, 2.0, 1.75, 1.5, 1.333, 1.5, 1.833]
    """
    values = np.asarray(samples, dtype=float)
    _at_least_one("average", average)
    _at_least_one("least", least)
    if math.isnan(delta) or delta < 0:
        raise ValueError(f"delta is 0 or more, not {delta!r}")
    if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("samples are a list of finite capacities, 0 or more")
    total = np.concatenate([[0.0], np.cumsum(values)])
    early = total[1 : min(average, values.size + 1)] / np.arange(1, min(average, values.size + 1))
    means = (total[average:] - total[:-average]) / average
    if means.size == 0:
        return early
    windows = sliding_window_view(np.concatenate([np.full(least - 1, np.inf), means]), least)
    if math.isinf(delta):
        return np.concatenate([early, windows.min(axis=1)])
    there = np.minimum(np.arange(1, means.size + 1), least)
    tilt = delta * average
    if tilt * float(np.ptp(values)) < _LEAST_TILT:
        sums = np.where(np.isfinite(windows), windows, 0.0).sum(axis=1)
        return np.concatenate([early, sums / there])
    from scipy.special import logsumexp  # slow to import

    return np.concatenate([early, (np.log(there) - logsumexp(-tilt * windows, axis=1)) / tilt])


def _at_least_one(name: str, value: int) -> None:
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ValueError(f"{name} is a whole number of samples, 1 or more, not {value!r}")
