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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import aggregate, markov, together
from varicap.analyse.effective import SlottedChain
from varicap.analyse.estimators import Estimator

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
    estimator: Estimator
    levels: int


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
    estimator = Estimator(
        interval_slots=interval_slots * coarser,
        average=max(1, round(average / coarser)),
        least=max(1, round(least / coarser)),
        of_slot=of_slot,
    )
    memory = estimator.memory
    if _PATHS * (_SLOTS + memory) / estimator.interval_slots > _MOST_SAMPLES or memory > _SLOTS:
        raise ValueError(
            f"the estimator averages {estimator.average} samples of {estimator.interval_slots:.3g} round trips and "
            f"takes the least of {estimator.least}: the model's sample paths are too short for it"
        )
    found: AdvertisedChain = yield _estimated_all, _Wanted(chain=chain, estimator=estimator, levels=levels)
    return found


def _estimated_all(several: Sequence[_Wanted]) -> list[AdvertisedChain]:
    """The advertised rates of several links, whose capacities are drawn side by side, by the same random numbers."""
    found: dict[int, AdvertisedChain] = {}
    for memory in {one.estimator.memory for one in several}:
        those = [number for number, one in enumerate(several) if one.estimator.memory == memory]
        rng = np.random.default_rng(_SEED)
        drawn = paths_of([several[number].chain for number in those], memory + _SLOTS, rng)
        begins = rng.random(_PATHS)
        known: dict[tuple[Estimator, int], _Known] = {}
        for number, states in zip(those, drawn, strict=True):
            one = several[number]
            last = known.get((one.estimator, one.levels))
            known[one.estimator, one.levels] = _Known.of(one, np.ascontiguousarray(states), begins, last)
            found[number] = _aggregated(one.chain, known[one.estimator, one.levels].aggregate.counts)
    return [found[number] for number in range(len(several))]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Known:
    """What is found of a link on its sample paths, and helps with those of another."""

    rates: Array
    states: States
    capacity: Array
    """By slot and path, as the two that follow."""
    advertised: Array
    aggregate: aggregate.Aggregate

    @classmethod
    def of(cls, one: _Wanted, states: States, begins: Array, known: "_Known | None") -> "_Known":
        """The paths of these states, of which the known ones may be much like."""
        rates = one.chain.capacity
        if known is not None and np.array_equal(known.rates, rates):
            capacity = known.capacity.copy()
            others = np.flatnonzero(states != known.states)
            capacity.flat[others] = rates.take(states.flat[others])
        else:
            capacity = rates.take(states)
        before = None if known is None else (known.capacity, known.advertised)
        advertised = one.estimator.advertised(capacity, begins, before)
        # In the first slots the memory fills; in the last ones samples are missing.
        counted = slice(one.estimator.memory, -2)
        of_slots: dict[str, Any] = {"number": rates.size, "unit": float(rates.max()) * _ALIKE}
        found = None if known is None else known.aggregate
        if found is None or not found.corrected(states[counted], advertised[counted], **of_slots):
            found = aggregate.Aggregate(states[counted], advertised[counted], levels=one.levels, **of_slots)
        return cls(rates=rates, states=states, capacity=capacity, advertised=advertised, aggregate=found)


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
    table = _Table(reach, draws)
    for slot in range(len(draws) - 1):
        if slot % _SLOTS_AT_ONCE == 0:
            after = table.after(slice(slot, slot + _SLOTS_AT_ONCE))
            further = np.diff(after, axis=1)
        now, follows = states[slot], states[slot + 1]
        follows[:] = after[slot % _SLOTS_AT_ONCE, 0]
        # From one state to the next higher one what follows differs by a step.
        for state, steps in enumerate(further[slot % _SLOTS_AT_ONCE]):
            np.greater(now, state, out=passed.view(bool))
            np.multiply(passed, steps, out=step)
            np.add(follows, step, out=follows)
    return states


class _Table:
    """The state after each state of each chain, by draws of shape (slots, paths).

    A draw is compared with the chances of all chains to reach a state.  So these are sorted, and it is found once how
    many of them each draw has passed, which is a small number: in bytes comparisons take an eighth of the time.
    """

    def __init__(self, reach: Array, draws: Array) -> None:
        self._chains, self._size = reach.shape[:2]
        self._draws = draws.shape
        self._passed: list[tuple[int, NDArray[np.unsignedinteger[Any]], NDArray[np.unsignedinteger[Any]]]] = []
        """A state, how many chances each draw has passed, and how many it must have to pass that of each chain."""
        for state, number in np.ndindex(self._size, self._size - 1):
            chances, place = np.unique(reach[:, state, number], return_inverse=True)
            kind = np.min_scalar_type(chances.size)
            passed = (draws >= chances[-1]) * kind.type(chances.size)
            between = (draws >= chances[0]) & (passed == 0)
            passed[between] = np.searchsorted(chances, draws[between], side="right")
            self._passed.append((state, passed, (place + 1).astype(kind)))

    def after(self, slots: slice) -> NDArray[np.int8]:
        """In these slots, shape (slots, n, chains, paths)."""
        those, paths = range(self._draws[0])[slots], self._draws[1]
        found = np.zeros((len(those), self._size, self._chains, paths), dtype=np.int8)
        for state, passed, place in self._passed:
            found[:, state] += passed[slots, None, :] >= place[:, None]
        return found


def _aggregated(chain: SlottedChain, counts: aggregate.Counts) -> AdvertisedChain:
    """States of capacity and level, as often as each was found to follow each."""
    size, rates = counts.levels, len(chain.capacity)
    seen, mean, count = counts.seen, counts.mean, counts.seen.size
    capacity = np.repeat(np.arange(rates), size)
    chance = chain.transition[capacity]
    weight = counts.steps.reshape(count, rates, size).astype(np.float64)
    for state, after in np.argwhere((weight.sum(axis=2) == 0) & (chance > 0) & (seen[:, None] > 0)):
        # A step that no path took: the rate stays as near as it can.
        among = np.flatnonzero((capacity == after) & (seen > 0))
        weight[state, after, among[np.abs(mean[among] - mean[state]).argmin()] % size] = 1.0
    matrix = chance[:, :, None] * weight / np.maximum(weight.sum(axis=2, keepdims=True), 1)
    keep = np.flatnonzero(seen)
    kept = matrix.reshape(count, count)[np.ix_(keep, keep)]
    return AdvertisedChain(
        SlottedChain(chain.capacity[capacity[keep]], kept / kept.sum(axis=1, keepdims=True)), mean[keep]
    )
