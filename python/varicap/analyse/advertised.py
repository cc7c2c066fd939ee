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

from varicap.analyse import markov, together
from varicap.analyse.effective import SlottedChain

Array = NDArray[np.float64]

_PATHS, _SLOTS = 64, 1500
_SEED = 21
_SLOTS_AT_ONCE = 64  # for which the states after each are found, before the paths take one of them
_FEW = 5  # states, after each of which another draw is looked up faster than after the one that a path is in
_FINEST = 1 / 16
"""Of a slot: samples that are taken more often are taken as one."""
_ALIKE = 1e-9
"""Of the largest capacity, by which rates may differ that are one."""
_ENTRIES = 2**16  # samples that are handled at a time, so that they stay in a cache
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
    return together.alone(
        estimating(chain, interval_slots=interval_slots, average=average, least=least, levels=levels, of_slot=of_slot)
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Wanted:
    """A chain, an estimator, and how well to describe it."""

    chain: SlottedChain
    interval_slots: float
    average: int
    least: int
    levels: int
    of_slot: Literal["mean", "least"]

    @property
    def memory(self) -> int:
        """Slots that the estimator remembers."""
        return math.ceil((self.average + self.least) * self.interval_slots) + 2


def estimating(
    chain: SlottedChain,
    *,
    interval_slots: float,
    average: int = 1,
    least: int = 1,
    levels: int = 8,
    of_slot: Literal["mean", "least"] = "mean",
) -> together.Computation[AdvertisedChain]:
    """`estimated` as a computation, many of which `together.run` solves at once."""
    coarser = max(1, int(_FINEST / interval_slots))
    wanted = _Wanted(
        chain=chain,
        interval_slots=interval_slots * coarser,
        average=max(1, round(average / coarser)),
        least=max(1, round(least / coarser)),
        levels=levels,
        of_slot=of_slot,
    )
    if _PATHS * (_SLOTS + wanted.memory) / wanted.interval_slots > _MOST_SAMPLES or wanted.memory > _SLOTS:
        raise ValueError(
            f"the estimator averages {wanted.average} samples of {wanted.interval_slots:.3g} round trips and takes the "
            f"least of {wanted.least}: the model's sample paths are too short for it"
        )
    found: AdvertisedChain = yield _estimated_all, wanted
    return found


def _estimated_all(several: Sequence[_Wanted]) -> list[AdvertisedChain]:
    """The advertised rates of several links, whose capacities are drawn side by side, by the same random numbers."""
    found: dict[int, AdvertisedChain] = {}
    for memory in {one.memory for one in several}:
        those = [number for number, one in enumerate(several) if one.memory == memory]
        rng = np.random.default_rng(_SEED)
        drawn = paths_of([several[number].chain for number in those], memory + _SLOTS, rng)
        begins = rng.random((_PATHS, 1))
        # In the first slots the memory fills; in the last ones samples are missing.
        counted = slice(memory, -2)
        for number, rows in zip(those, drawn, strict=True):
            one, states = several[number], np.ascontiguousarray(rows.T)
            advertised = _advertise(
                one.chain.capacity[states], one.interval_slots, one.average, one.least, one.of_slot, begins
            )
            found[number] = _aggregate(one.chain, states[:, counted], advertised[:, counted], one.levels)
    return [found[number] for number in range(len(several))]


def paths_of(chains: Sequence[SlottedChain], slots: int, rng: np.random.Generator) -> list[NDArray[np.int32]]:
    """States of independent stationary paths of chains, shape (slots, paths) of each.

    All are drawn by the same random numbers: of each chain what it would have alone.
    """
    first, draws = rng.random(_PATHS), rng.random((slots, _PATHS))
    found: dict[int, NDArray[np.int32]] = {}
    for size in {len(one.transition) for one in chains}:
        those = [number for number, one in enumerate(chains) if len(one.transition) == size]
        reach = np.cumsum([chains[number].transition for number in those], axis=2)
        shares = np.array([markov.stationary(chains[number].transition) for number in those])
        # As `Generator.choice` draws from a distribution.
        begin = np.cumsum(shares, axis=1)
        now = (first >= (begin / begin[:, -1:])[:, :, None]).sum(axis=1)
        states = (_by_table if size <= _FEW else _by_row)(reach, now, draws)
        found |= zip(those, np.moveaxis(states, 1, 0), strict=True)
    return [found[number] for number in range(len(chains))]


def _by_row(reach: Array, now: NDArray[np.intp], draws: Array) -> NDArray[np.int32]:
    """The states of each slot, shape (slots, chains, paths), from those of the first on."""
    states = np.empty((len(draws), *now.shape), dtype=np.int32)
    which, last = np.arange(len(reach))[:, None], reach.shape[1] - 1
    for slot, draw in enumerate(draws):
        states[slot] = now
        now = np.minimum((draw[:, None] >= reach[which, now]).sum(axis=2), last)
    return states


def _by_table(reach: Array, now: NDArray[np.intp], draws: Array) -> NDArray[np.int32]:
    """The same for few states: what follows each of them is found for many slots at once, and then looked up."""
    states = np.empty((len(draws), *now.shape), dtype=np.int32)
    place = np.arange(now.size).reshape(now.shape)
    for slot in range(len(draws)):
        states[slot] = now
        if slot % _SLOTS_AT_ONCE == 0:
            after = _after(reach, draws[slot : slot + _SLOTS_AT_ONCE])
        now = after[slot % _SLOTS_AT_ONCE].take(now * now.size + place)
    return states


def _after(reach: Array, draws: Array) -> NDArray[np.intp]:
    """The state after each state of each chain in these slots, shape (slots, n, chains, paths)."""
    last = reach.shape[1] - 1
    passed = [draws[:, None, None, :] >= np.swapaxes(reach, 0, 1)[None, :, :, state, None] for state in range(last)]
    return np.sum(passed, axis=0, dtype=np.intp) if passed else np.zeros((len(draws), 1, len(reach), _PATHS), np.intp)


def _advertise(capacity: Array, interval: float, average: int, least: int, of_slot: str, begins: Array) -> Array:
    """Mean or least advertised rate in each slot, of shape (paths, slots).

    The intervals of a path begin anywhere in a slot: `begins` has a share of an interval for each, shape (paths, 1).
    """
    some = max(1, int(_ENTRIES * interval / capacity.shape[1]))  # as many paths as stay in a cache
    return np.concatenate(
        [
            _advertise_on(
                capacity[first : first + some], interval, average, least, of_slot, begins[first : first + some]
            )
            for first in range(0, len(capacity), some)
        ]
    )


def _advertise_on(capacity: Array, interval: float, average: int, least: int, of_slot: str, begins: Array) -> Array:
    paths, slots = capacity.shape
    total = np.concatenate([np.zeros((paths, 1)), np.cumsum(capacity, axis=1)], axis=1)
    samples = int((slots - 1) / interval)
    ends = begins * interval + np.arange(samples + 1) * interval
    averages = _sliding_mean(np.diff(_between(total, ends), axis=1) / interval, average)
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
    total = np.cumsum(values, axis=1)
    found = total.copy()
    found[:, count:] -= total[:, :-count]
    return found / np.minimum(np.arange(1, values.shape[1] + 1), count)


def _sliding_least(values: Array, count: int) -> Array:
    """The least of the last `count` values: the end of one block of as many, and the beginning of the next [herk92]."""
    paths, size = values.shape
    count = min(count, size)
    blocks = np.full((paths, -(-size // count) * count), np.inf)
    blocks[:, :size] = values
    cut = blocks.reshape(paths, -1, count)
    begins = np.minimum.accumulate(cut, axis=2).reshape(paths, -1)[:, :size]
    ends = np.minimum.accumulate(cut[:, :, ::-1], axis=2)[:, :, ::-1].reshape(paths, -1)
    begins[:, count - 1 :] = np.minimum(begins[:, count - 1 :], ends[:, : size - count + 1])
    return begins


def _aggregate(chain: SlottedChain, states: NDArray[np.int32], advertised: Array, levels: int) -> AdvertisedChain:
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
