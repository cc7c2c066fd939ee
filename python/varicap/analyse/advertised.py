"""A capacity and the rate that its link advertises, together as one Markov chain from slot to slot.

A sender that follows explicit rates sees in a slot what the link advertised in the slot before.  Where the link
advertises its capacity as it is, the chain is that of the capacity.  An estimator remembers more: INSTCAP its last
interval, EFFCAP the M + N - 1 samples of its sliding averages.  Their chain has as many states as there are histories,
so it is aggregated: a state is that of the capacity and one of a few levels of the advertised rate, and

    P((c, f) -> (c', f')) = P(c -> c') K(f' | c, f, c')

with the capacity's own P, and K counted on sample paths of the capacity, which pass through the estimator itself.  The
capacity of the aggregate is exact in law; the advertised rate is right in its long-run shares, and forgets more than an
estimator does.  Source of the estimators: [abr, §IV].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov
from varicap.analyse.effective import SlottedChain

Array = NDArray[np.float64]

_PATHS, _SLOTS = 64, 1500
_SEED = 21
_FINEST = 1 / 16
"""Of a slot: samples that are taken more often are taken as one."""
_ALIKE = 1e-9
"""Of the largest capacity, by which rates may differ that are one."""
_MOST_SAMPLES = 4_000_000
"""Samples on all paths, beyond which an estimator remembers too much for a model that answers at once."""


@dataclass(frozen=True, eq=False)
class AdvertisedChain:
    """States of a link, each with what it carries and what it advertises."""

    capacity: SlottedChain
    """Capacity by state, in any unit per slot, and the changes from one slot to the next."""
    advertised: Array
    """The rate advertised in a slot, which the sender knows in the next one; in the same unit, shape (n,)."""

    def __post_init__(self) -> None:
        if self.advertised.shape != self.capacity.capacity.shape:
            raise ValueError(f"{self.advertised.size} advertised rates for {self.capacity.capacity.size} states")


def exact(chain: SlottedChain) -> AdvertisedChain:
    """The capacity is advertised as it is."""
    return AdvertisedChain(chain, chain.capacity)


def estimated(
    chain: SlottedChain,
    *,
    interval_slots: float,
    average: int = 1,
    least: int = 1,
    levels: int = 8,
    of_slot: Literal["mean", "least"] = "mean",
) -> AdvertisedChain:
    """The least of the last N averages of M samples: EFFCAP, and with M = N = 1 INSTCAP.

    Parameters
    ----------
    chain
        The capacity.
    interval_slots
        Length of the interval of a sample [slots].
    average, least
        M and N.
    levels
        Most levels of the advertised rate; more describe it better, and make more states.

    of_slot
        What stands for the rates that are advertised in a slot: their mean, which is what a source sends at that
        rate, or the least, which is what remains of a window that each rate clips.

    Raises
    ------
    ValueError
        The estimator's memory is too long for the sample paths.

    Examples
    --------
    >>> link = estimated(SlottedChain.symmetric(10.0), interval_slots=0.25, average=4, least=28)
    >>> share = markov.stationary(link.capacity.transition)
    >>> round(float(share @ link.capacity.capacity), 6), float(share @ link.advertised) < 0.7
    (0.75, True)
    """
    coarser = max(1, int(_FINEST / interval_slots))
    interval_slots *= coarser
    average, least = max(1, round(average / coarser)), max(1, round(least / coarser))
    memory = math.ceil((average + least) * interval_slots) + 2
    if _PATHS * (_SLOTS + memory) / interval_slots > _MOST_SAMPLES or memory > _SLOTS:
        raise ValueError(
            f"the estimator averages {average} samples of {interval_slots:.3g} round trips and takes the least of "
            f"{least}: the model's sample paths are too short for it"
        )
    rng = np.random.default_rng(_SEED)
    states = paths(chain, memory + _SLOTS, rng)
    advertised = _advertise(chain.capacity[states], interval_slots, average, least, of_slot, rng)
    # In the first slots the memory fills; in the last ones samples are missing.
    counted = slice(memory, -2)
    return _aggregate(chain, states[:, counted], advertised[:, counted], levels)


def paths(chain: SlottedChain, slots: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """States of independent stationary paths, shape (paths, slots)."""
    return paths_of([chain], slots, rng)[0]


def paths_of(chains: Sequence[SlottedChain], slots: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """The same of several chains by the same random numbers: of each what it would have alone."""
    first, draws = rng.random(_PATHS), rng.random((slots, _PATHS, 1))
    found: dict[int, NDArray[np.intp]] = {}
    for size in {len(one.transition) for one in chains}:
        those = [number for number, one in enumerate(chains) if len(one.transition) == size]
        reach = np.cumsum([chains[number].transition for number in those], axis=2)
        shares = np.array([markov.stationary(chains[number].transition) for number in those])
        # As `Generator.choice` draws from a distribution.
        begin = np.cumsum(shares, axis=1)
        now = (first >= (begin / begin[:, -1:])[:, :, None]).sum(axis=1)
        states = np.empty((slots, len(those), _PATHS), dtype=np.intp)
        which = np.arange(len(those))[:, None]
        for slot in range(slots):
            states[slot] = now
            now = np.minimum((draws[slot] >= reach[which, now]).sum(axis=2), size - 1)
        found |= zip(those, np.moveaxis(states, 0, 2), strict=True)
    return [found[number] for number in range(len(chains))]


def _advertise(
    capacity: Array, interval: float, average: int, least: int, of_slot: str, rng: np.random.Generator
) -> Array:
    """Mean or least advertised rate in each slot, of shape (paths, slots); intervals begin anywhere in a slot."""
    paths, slots = capacity.shape
    total = np.concatenate([np.zeros((paths, 1)), np.cumsum(capacity, axis=1)], axis=1)
    samples = int((slots - 1) / interval)
    ends = rng.random((paths, 1)) * interval + np.arange(samples + 1) * interval
    work = np.diff(_between(total, ends), axis=1) / interval
    averages = _sliding_mean(work, average)
    said = _sliding_least(averages, least)
    # A rate holds from the end of its interval to the end of the next.
    edges = np.clip((np.arange(slots + 1) - ends[:, 1:2]) / interval, 0, samples)
    if of_slot == "least":
        first, last = np.minimum(np.floor([edges[:, :-1], edges[:, 1:]]).astype(np.intp), samples - 1)
        met, counts = np.empty(last.shape), last - first + 1
        for count in map(int, np.unique(counts)):
            met = np.where(counts == count, np.take_along_axis(_sliding_least(said, count), last, axis=1), met)
        return met
    spoken = np.concatenate([np.zeros((paths, 1)), np.cumsum(said, axis=1)], axis=1)
    return np.asarray(np.diff(_between(spoken, edges), axis=1) * interval)


def _between(total: Array, at: Array) -> Array:
    """A function given at whole numbers, along the last axis, linear in between."""
    low = np.clip(np.floor(at).astype(np.intp), 0, total.shape[1] - 2)
    here, there = np.take_along_axis(total, low, axis=1), np.take_along_axis(total, low + 1, axis=1)
    return here + (at - low) * (there - here)


def _sliding_mean(values: Array, count: int) -> Array:
    total = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)
    ends = np.arange(1, values.shape[1] + 1)
    begins = np.maximum(ends - count, 0)
    return np.asarray((total[:, ends] - total[:, begins]) / (ends - begins))


def _sliding_least(values: Array, count: int) -> Array:
    """The least of the last `count` values, by windows that double."""
    found, width = values.copy(), 1
    while width < count:
        step = min(width, count - width)
        found[:, step:] = np.minimum(found[:, step:], found[:, :-step])
        width += step
    return found


def _aggregate(chain: SlottedChain, states: NDArray[np.intp], advertised: Array, levels: int) -> AdvertisedChain:
    """States of capacity and level, and how often each follows each."""
    unit = float(chain.capacity.max()) * _ALIKE
    advertised = np.round(advertised / unit) * unit
    edges = np.unique(np.quantile(advertised, np.linspace(0, 1, levels + 1)[1:-1]))
    level = np.searchsorted(edges, advertised, side="left")
    size = len(edges) + 1
    key = states * size + level
    count = len(chain.capacity) * size
    seen = np.bincount(key.ravel(), minlength=count)
    mean = np.bincount(key.ravel(), advertised.ravel(), minlength=count) / np.maximum(seen, 1)
    steps = np.bincount((key[:, :-1] * count + key[:, 1:]).ravel(), minlength=count * count).reshape(count, count)
    capacity = np.repeat(np.arange(len(chain.capacity)), size)
    matrix = np.zeros((count, count))
    for state in np.flatnonzero(seen):
        for after in np.flatnonzero(chain.transition[capacity[state]]):
            among = np.flatnonzero((capacity == after) & (seen > 0))
            weight = steps[state, among].astype(np.float64)
            if not weight.any():  # a step that no path took: the rate stays as near as it can
                weight[np.abs(mean[among] - mean[state]).argmin()] = 1.0
            matrix[state, among] = chain.transition[capacity[state], after] * weight / weight.sum()
    keep = np.flatnonzero(seen)
    kept = matrix[np.ix_(keep, keep)]
    return AdvertisedChain(
        SlottedChain(chain.capacity[capacity[keep]], kept / kept.sum(axis=1, keepdims=True)), mean[keep]
    )
