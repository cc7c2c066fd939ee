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
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov, together
from varicap.analyse.effective import SlottedChain

Array = NDArray[np.float64]
Index = NDArray[np.intp]
States: TypeAlias = NDArray[np.signedinteger[Any]]

_PATHS, _SLOTS = 64, 1500
_SEED = 21
_SLOTS_AT_ONCE = 64  # for which the states after each are found, before the paths take one of them
_FEW = 5  # states, after each of which another draw is looked up faster than after the one that a path is in
_FINEST = 1 / 16
"""Of a slot: samples that are taken more often are taken as one."""
_ALIKE = 1e-9
"""Of the largest capacity, by which rates may differ that are one."""
_ENTRIES = 2**15  # samples that are handled at a time, so that they stay in a cache
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


def paths_of(chains: Sequence[SlottedChain], slots: int, rng: np.random.Generator) -> list[States]:
    """States of independent stationary paths of chains, shape (slots, paths) of each.

    All are drawn by the same random numbers: of each chain what it would have alone.
    """
    first, draws = rng.random(_PATHS), rng.random((slots, _PATHS))
    found: dict[int, States] = {}
    for size in {len(one.transition) for one in chains}:
        those = [number for number, one in enumerate(chains) if len(one.transition) == size]
        reach = np.cumsum([chains[number].transition for number in those], axis=2)
        shares = markov.stationary_all([chains[number].transition for number in those])
        if mistake := next((share for share in shares if isinstance(share, ValueError)), None):
            raise mistake
        # As `Generator.choice` draws from a distribution.
        begin = np.cumsum(np.array(shares), axis=1)
        now = (first >= (begin / begin[:, -1:])[:, :, None]).sum(axis=1)
        states = (_by_table if size <= _FEW else _by_row)(reach, now, draws)
        found |= zip(those, np.moveaxis(states, 1, 0), strict=True)
    return [found[number] for number in range(len(chains))]


def _by_row(reach: Array, now: Index, draws: Array) -> States:
    """The states of each slot, shape (slots, chains, paths), from those of the first on."""
    states = np.empty((len(draws), *now.shape), dtype=np.int32)
    which, last = np.arange(len(reach))[:, None], reach.shape[1] - 1
    for slot, draw in enumerate(draws):
        states[slot] = now
        now = np.minimum((draw[:, None] >= reach[which, now]).sum(axis=2), last)
    return states


def _by_table(reach: Array, now: Index, draws: Array) -> States:
    """The same for few states, in bytes: what follows each of them is found for many slots at once."""
    states = np.empty((len(draws), *now.shape), dtype=np.int8)
    states[0] = now
    passed, step = np.empty((2, *now.shape), dtype=np.int8)
    for slot in range(len(draws) - 1):
        if slot % _SLOTS_AT_ONCE == 0:
            after = _after(reach, draws[slot : slot + _SLOTS_AT_ONCE])
            further = np.diff(after, axis=1)
        now, follows = states[slot], states[slot + 1]
        follows[:] = after[slot % _SLOTS_AT_ONCE, 0]
        # From one state to the next higher one what follows differs by a step.
        for state, steps in enumerate(further[slot % _SLOTS_AT_ONCE]):
            np.greater(now, state, out=passed.view(bool))
            np.multiply(passed, steps, out=step)
            np.add(follows, step, out=follows)
    return states


def _after(reach: Array, draws: Array) -> NDArray[np.int8]:
    """The state after each state of each chain in these slots, shape (slots, n, chains, paths)."""
    found = np.zeros((len(draws), reach.shape[1], len(reach), _PATHS), dtype=np.int8)
    for state in range(reach.shape[1] - 1):
        found += draws[:, None, None, :] >= np.swapaxes(reach, 0, 1)[None, :, :, state, None]
    return found


def _advertise(capacity: Array, interval: float, average: int, least: int, of_slot: str, begins: Array) -> Array:
    """Mean or least advertised rate in each slot, of shape (paths, slots), from where the memory has filled.

    The intervals of a path begin anywhere in a slot: `begins` has a share of an interval for each, shape (paths, 1).
    A capacity that has not changed for as long as the estimator remembers is what is advertised, so that samples are
    taken in the stretches after changes only.
    """
    total = np.cumsum(capacity, axis=1) - capacity
    samples = int((capacity.shape[1] - 1) / interval)
    found = capacity.copy()
    stretches = _stretches(capacity, math.ceil((average + least + 1) * interval) + 2)
    some = (np.cumsum(stretches[2] - stretches[1]) / max(1.0, _ENTRIES * interval)).astype(np.intp)
    for these in np.split(np.arange(some.size), np.flatnonzero(np.diff(some)) + 1):
        path, first, last = (column[these] for column in stretches)
        # A rate has the number of its interval, and holds from the end of it to the end of the next: its `edge`.
        begun = begins[path, 0] * interval
        of_edge, slot = _ranges(first, last + 1)
        edge = np.clip((slot - (begun + interval)[of_edge]) / interval, 0, samples)
        number = np.minimum(edge.astype(np.intp), samples - 1)
        final = np.flatnonzero(np.diff(of_edge, append=-1))
        # Averages before the first one of a stretch are those of the capacity that there was for long.
        before = np.maximum(number[np.append(0, final[:-1] + 1)] - average, -1)
        counts = number[final] + 1 - before
        start = np.cumsum(counts) - counts
        ends = (np.arange(counts.sum()) + np.repeat(before + 1 - start, counts)) * interval
        ends += np.repeat(begun, counts)
        carried = _carried(capacity, total, np.repeat(path, counts), ends)
        averages = np.empty_like(carried)
        averages[average:] = carried[average:] - carried[:-average]
        averages[average:] *= 1 / (average * interval)
        averages[start[:, None] + np.arange(average)] = capacity[path, np.maximum(first - 1, 0)][:, None]
        said = _sliding_least(averages, least)
        here = (start - before)[of_edge] + number
        met = _least_met(said, here) if of_slot == "least" else _mean_met(said, here, edge - number) * interval
        inside = np.flatnonzero(np.diff(of_edge) == 0)
        found[path[of_edge[inside]], slot[inside]] = met[inside]
    return found


def _stretches(capacity: Array, reach: int) -> tuple[Index, Index, Index]:
    """Slots up to `reach` after a change, or after a path's first one: path, first slot, and the slot after the last.

    Before a stretch nothing has changed for as long, or it is the first one of its path.
    """
    slots = capacity.shape[1]
    changed = np.ones(capacity.shape, dtype=bool)
    changed[:, 1:] = capacity[:, 1:] != capacity[:, :-1]
    begin = np.flatnonzero(changed)
    path = begin // slots
    end = np.minimum(begin + reach, (path + 1) * slots)
    is_new = begin % slots == 0
    is_new[1:] |= begin[1:] > end[:-1]
    new = np.flatnonzero(is_new)
    return path[new], begin[new] % slots, end[np.append(new[1:], begin.size) - 1] - path[new] * slots


def _ranges(first: Index, last: Index) -> tuple[Index, Index]:
    """The whole numbers from each first to before each last: which of these they are of, and they themselves."""
    counts = last - first
    of = np.repeat(np.arange(counts.size), counts)
    return of, np.arange(of.size) + (last - np.cumsum(counts))[of]


def _carried(capacity: Array, total: Array, path: Index, at: Array) -> Array:
    """What these paths have carried at some instants [slots]; `total` at the beginnings of slots."""
    slots = capacity.shape[1]
    low = np.minimum(at.astype(np.intp), slots - 1)
    at = at - low
    low += path * slots
    at *= capacity.take(low)
    at += total.take(low)
    return at


def _mean_met(said: Array, here: Index, share: Array) -> Array:
    """From each edge to the next the sum of the rates that hold: at an edge, one of which a share has passed."""
    whole = np.add.reduceat(said, here)
    whole[:-1][here[1:] == here[:-1]] = 0
    passed = share * said[here]
    return np.append(whole[:-1] - np.diff(-passed), 0)


def _least_met(said: Array, here: Index) -> Array:
    """From each edge to the next the least of the rates that hold at any time."""
    last = np.append(here[1:], here[-1:])
    met, counts = np.empty(here.size), last - here + 1
    for count in np.unique(counts[counts > 0]).tolist():
        met = np.where(counts == count, _sliding_least(said, count)[last], met)
    return met


def _sliding_least(values: Array, count: int) -> Array:
    """The least of the last `count` values, along the last axis: of 2, 4, 8, … of them, each from those before."""
    found, width = values, 1
    while width < min(count, values.shape[-1]):
        step = min(width, count - width)
        wider = np.empty_like(found)
        wider[..., :step] = found[..., :step]
        np.minimum(found[..., step:], found[..., :-step], out=wider[..., step:])
        found, width = wider, width + step
    return found


def _aggregate(chain: SlottedChain, states: States, advertised: Array, levels: int) -> AdvertisedChain:
    """States of capacity and level, and how often each follows each."""
    unit = float(chain.capacity.max()) * _ALIKE
    advertised = np.round(advertised / unit) * unit
    edges = np.unique(np.quantile(advertised, np.linspace(0, 1, levels + 1)[1:-1]))
    level = np.sum([advertised > edge for edge in edges], axis=0, dtype=np.int32)
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
