"""The RATCP model's chains in the long run: the states of many paths are found at once, and their chains solved.

`explored` follows the states of several paths wave by wave, `ratcp_chain.follow` taking those of all paths together.
Paths that differ in numbers alone mostly reach nearly the same states; a state that a chain does not reach leads to
one that all of them do, without being entered, so that `varicap.analyse.censored` takes them as one.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import censored, markov, together
from varicap.analyse.models import exploring, ratcp_chain
from varicap.analyse.models.ratcp_chain import AVOIDANCE, LOST, SLOTS, Path, Paths, States
from varicap.analyse.models.ratcp_slot import MOST_GROWTH, Array, Counts

Key: TypeAlias = tuple[Path, int | None]
"""A path, and the most states that its chain may have; by default `MAX_STATES`."""

MAX_STATES: Final = 400_000
"""More reachable states than this are refused: the solution would take minutes and gigabytes."""

_MOST_KEPT: Final = 4_000_000
"""Branches of the chains that are kept for other capacities, forty bytes each."""
_kept: "OrderedDict[Key, Chain]" = OrderedDict()
_FIRST: Final = 16
"""Paths that are followed at once before it is known how many states they have."""
_MORE: Final = 8
"""Times as many are followed at once afterwards, if they are not too many."""
_TOGETHER: Final = 100_000
"""States of several paths that are followed at once: there is little to gain beyond, and memory is needed for each."""
_UNLIKE: Final = 2
"""Chains are alike if all their states are at most so many times those of one."""
_PAIR: Final = 2
"""Chains, which are solved one by one: to find an order in all their states takes longer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """Reachable states, the slots that they may have, and the branches between them."""

    states: States
    capacities: int
    """States of the capacity, M."""
    slot: Counts
    """State that each slot is of, and the change of the capacity that it begins with, shape (2, slots)."""
    reward: Array
    """Mean reward of each slot [packets], shape (slots,)."""
    loss: Array
    """Probability that each slot loses a packet, shape (slots,)."""
    source: NDArray[np.intp]
    """State that each branch leaves, shape (branches,)."""
    target: NDArray[np.intp]
    """State that each branch enters."""
    chance: Array
    """Probability of each branch, given how the capacity changes."""
    steps: Counts
    """Changes of the capacity that a branch needs: indices into its flat chain, -1: none, shape (2, branches)."""

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.states.kind.size)

    def transition(self, capacity: Array) -> markov.Matrix:
        """The transition matrix for a capacity that changes by this matrix, shape (M, M)."""
        return markov.matrix(self.size, self.source, self.target, self.chances(capacity[None])[:, 0])

    def chances(self, capacities: Array) -> Array:
        """The probability of each branch for each of these capacities, shape (branches, capacities)."""
        flat = np.ones((capacities[0].size + 1, len(capacities)))  # the index -1 finds a 1
        flat[:-1] = capacities.reshape(len(capacities), -1).T
        return np.asarray(self.chance[:, None] * flat[self.steps[0]] * flat[self.steps[1]])

    @cached_property
    def branches(self) -> censored.Branches:
        """The chain's branches, for many capacities at once."""
        return censored.Branches(self.size, self.source, self.target)


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The chain in the long run."""

    packets_per_slot: float
    """Reward per slot [packets]."""
    loss_probability: float
    """Probability that a slot of congestion avoidance loses a packet [1]."""
    slow_start_failure: float
    """Probability that a slow start overflows the buffer [1]; 0 if there is none."""
    timeouts_per_slot: float
    """Timeouts per slot [1]."""
    cycle_slots: float
    """Mean slots between renewal epochs."""
    states: int
    """States that recur, the capacity's state in the next slot counted."""
    residual: float
    """Sum of ``|pi P - pi|`` [1]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Wanted:
    """A path, and how its capacity changes."""

    path: Path
    capacity: Array
    """Shape (M, M)."""
    most: int | None = None
    """States, beyond which it is refused.  Default: `MAX_STATES`."""


def solve_all(several: Sequence[Wanted]) -> list[Solution | ValueError]:
    """The long run of each, or why there is none.  Source: [ratcp, §III, eq. (1)].

    A large chain is solved, for all its capacities, as soon as it is found: many of them would not fit into memory.
    """
    found: dict[int, Solution | ValueError] = {}
    small: dict[int, dict[int, Chain]] = {}  # by states of the capacity: all that may be solved as one
    numbers: dict[Key, list[int]] = {}
    for number, one in enumerate(several):
        numbers.setdefault((one.path, one.most), []).append(number)
    for key, chain in explored(list(numbers)):
        those = numbers[key]
        if isinstance(chain, ValueError):
            found |= dict.fromkeys(those, chain)
        elif chain.size <= censored.MOST_STATES:
            small.setdefault(chain.capacities, {}).update(dict.fromkeys(those, chain))
        else:
            found |= zip(those, _large(chain, [several[number].capacity for number in those]), strict=True)
    for chains in small.values():
        capacities = [several[number].capacity for number in chains]
        solved = _stationary_all(list(chains.values()), capacities)
        for (number, chain), share in zip(chains.items(), solved, strict=True):
            found[number] = (
                share if isinstance(share, ValueError) else _long_run(chain, share, several[number].capacity)
            )
    return [found[number] for number in range(len(several))]


def _stationary_all(chains: Sequence[Chain], capacities: Sequence[Array]) -> Sequence[censored.Found | ValueError]:
    """The long run of each of several small chains: as one if they are alike, else of smaller and larger ones apart."""
    different = sorted({id(chain): chain for chain in chains}.values(), key=lambda chain: chain.size)
    if len(different) == 1:
        return chains[0].branches.stationary_all(chains[0].chances(np.array(capacities)))
    union = _Union.of(different) if len(different) > _PAIR else None
    if union is not None:
        return union.stationary_all(chains, capacities)
    smaller = {id(chain) for chain in different[: len(different) // 2]}
    found: dict[int, censored.Found | ValueError] = {}
    for is_smaller in (True, False):
        those = [number for number, chain in enumerate(chains) if (id(chain) in smaller) == is_smaller]
        solved = _stationary_all([chains[number] for number in those], [capacities[number] for number in those])
        found |= zip(those, solved, strict=True)
    return [found[number] for number in range(len(chains))]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Union:
    """All states of different chains, and all branches; a state that a chain does not reach leads to the root."""

    size: int
    """Number of states."""
    root: int
    """A state of all chains."""
    place: dict[int, NDArray[np.intp]]
    """Of each chain, by its identity, where its states are among all."""
    codes: Counts
    """The branches, as their source times the number of states plus their target."""

    @classmethod
    def of(cls, chains: Sequence[Chain]) -> "_Union | None":
        """None if the chains are not alike."""
        names = [column.name for column in fields(States) if column.name != "path"]
        columns = [np.concatenate([getattr(chain.states, name) for chain in chains]) for name in names]
        sizes = [int(column.max()) + 1 for column in columns]
        if prod(sizes) > np.iinfo(np.int64).max:
            return None
        keys = np.ravel_multi_index(columns, sizes)
        union, place = np.unique(keys, return_inverse=True)
        size, largest = union.size, max(chain.size for chain in chains)
        reached = np.bincount(place)
        common = np.flatnonzero(reached == len(chains))
        if size > min(censored.MOST_STATES, _UNLIKE * largest) or not common.size:
            return None
        root = int(common[0])
        ends = np.cumsum([chain.size for chain in chains])
        places = {id(chain): one for chain, one in zip(chains, np.split(place, ends[:-1]), strict=True)}
        leads = np.zeros((size, size), dtype=bool)
        leads[reached < len(chains), root] = True
        for chain in chains:
            leads[places[id(chain)][chain.source], places[id(chain)][chain.target]] = True
        return cls(size=size, root=root, place=places, codes=np.flatnonzero(leads))

    def stationary_all(self, chains: Sequence[Chain], capacities: Sequence[Array]) -> list[censored.Found | ValueError]:
        """The long run of each of these chains, by its own states."""
        chances = np.zeros((self.codes.size, len(chains)))
        number_of = np.zeros((self.size, self.size), dtype=np.intp)
        number_of.flat[self.codes] = np.arange(self.codes.size)
        for number, (chain, capacity) in enumerate(zip(chains, capacities, strict=True)):
            place = self.place[id(chain)]
            branch = number_of[place[chain.source], place[chain.target]]
            chances[:, number] = np.bincount(branch, chain.chances(capacity[None])[:, 0], minlength=self.codes.size)
            missing = np.ones(self.size, dtype=bool)
            missing[place] = False
            chances[number_of[missing, self.root], number] = 1
        branches = censored.Branches(self.size, *np.divmod(self.codes, self.size))
        return [
            one if isinstance(one, ValueError) else replace(one, shares=one.shares[self.place[id(chain)]])
            for chain, one in zip(chains, branches.stationary_all(chances), strict=True)
        ]


def _large(chain: Chain, capacities: list[Array]) -> Sequence[Solution | ValueError]:
    """The long run of a large chain on each of these capacities."""
    return together.each(lambda some: [_large_on(chain, capacity) for capacity in some], capacities)


def _large_on(chain: Chain, capacity: Array) -> Solution:
    transition = chain.transition(capacity)
    shares = markov.stationary(transition)
    return _long_run(chain, censored.Found(shares=shares, residual=markov.residual(transition, shares)), capacity)


def _long_run(chain: Chain, found: censored.Found, capacity: Array) -> Solution:
    share, kind = found.shares, chain.states.kind
    state, change = chain.slot
    weight = share[state] * capacity.flat[change]
    losses, avoids = weight * chain.loss, kind[state] == AVOIDANCE
    slots, avoiding = float(share @ SLOTS[kind]), float(share[kind == AVOIDANCE].sum())
    failures = float(losses[~avoids].sum())
    starts = float(share[kind == LOST].sum())  # each loss leads to one slow start
    return Solution(
        packets_per_slot=float(weight @ chain.reward) / slots,
        loss_probability=float(losses[avoids].sum()) / avoiding if avoiding else 0.0,
        slow_start_failure=failures / starts if starts else 0.0,
        timeouts_per_slot=starts / slots,
        cycle_slots=slots / (avoiding + failures),
        states=ratcp_chain.counted(chain.states[share > 0], capacity > 0),
        residual=found.residual,
    )


def explored(keys: Sequence[Key]) -> Iterator[tuple[Key, Chain | ValueError]]:
    """All states that can follow a full pipe in the first of each capacity's states, of different paths in any order.

    The last chains are remembered.
    """
    alike: dict[tuple[int, bool], list[Key]] = {}
    for key in keys:
        if key in _kept:
            _kept.move_to_end(key)
            yield key, _kept[key]
        else:
            alike.setdefault((len(key[0].service), bool(key[0].rate_window)), []).append(key)
    for those in alike.values():
        for found in _each_explored(those):
            _keep(found)
            yield from found.items()


def _keep(found: Mapping[Key, Chain | ValueError]) -> None:
    _kept.update((key, chain) for key, chain in found.items() if isinstance(chain, Chain))
    branches = sum(chain.chance.size for chain in _kept.values())
    while len(_kept) > 1 and branches > _MOST_KEPT:
        branches -= _kept.popitem(last=False)[1].chance.size


def _each_explored(keys: Sequence[Key]) -> Iterator[dict[Key, Chain | ValueError]]:
    """The chain of each path that `Paths` takes: of more and more at once, as long as they are not too many.

    How many states a chain has is known when all are found.  The paths after one are mostly like it.
    """
    at_once, left = _FIRST, keys
    while left:
        those = left[:at_once]
        chains: Sequence[Chain | ValueError]
        try:
            chains = _explored(those)
        except ValueError as error:
            at_once = 1
            if len(those) > 1:
                continue
            chains = [error]
        left = left[len(those) :]
        largest = max(chain.reward.size if isinstance(chain, Chain) else MAX_STATES for chain in chains)
        at_once = max(1, min(_MORE * at_once, _TOGETHER // largest))
        yield dict(zip(those, chains, strict=True))


def _explored(several: Sequence[Key]) -> list[Chain]:
    """The chains of these paths, all at once; raises ``ValueError`` if there are too many states."""
    paths = Paths(tuple(path for path, _ in several))
    code = _Code(paths)
    known = code.pack(ratcp_chain.first(paths))
    frontier = known
    waves: list[tuple[Any, Any, Any]] = []
    seen = 0  # states of the waves before
    while frontier.size:
        states = code.unpack(frontier)
        of, slots = ratcp_chain.met(paths, states)
        branches = ratcp_chain.follow(paths, slots)
        branch, steps, before = ratcp_chain.changes(paths, slots, branches)
        source = of[branches.source[branch]]
        target = code.pack(ratcp_chain.enter(paths, states.path[source], branches, branch, before))
        means = [
            np.bincount(branches.source, branches.chance * column, minlength=of.size)
            for column in (branches.reward, branches.lost)
        ]
        change = slots.states.before * len(paths.leads[0]) + slots.now
        waves.append((frontier, (seen + of, change, *means), (seen + source, target, branches.chance[branch], steps)))
        seen += frontier.size
        frontier = exploring.unseen(target, known)
        known = exploring.joined(known, frontier)
        _refuse(several, paths, code.unpack(known))
    order = np.concatenate([wave[0] for wave in waves])
    state, change, reward, loss = (np.concatenate(column) for column in zip(*(wave[1] for wave in waves), strict=True))
    source, target, chance, steps = (
        np.concatenate(column, axis=-1) for column in zip(*(wave[2] for wave in waves), strict=True)
    )
    rank = np.argsort(order)
    place = np.empty_like(rank)
    place[rank] = np.arange(rank.size)
    ways = place[source], np.searchsorted(known, target), chance, steps
    return list(_by_path(paths, code.unpack(known), (place[state], change, reward, loss), ways))


def _refuse(several: Sequence[Key], paths: Paths, states: States) -> None:
    """Raises ``ValueError`` where there are too many states, also of several paths that would fit one by one."""
    counts = np.bincount(states.path, paths.leads.sum(axis=2)[states.path, states.before], minlength=len(several))
    if len(several) > 1 and counts.sum() > _TOGETHER:
        raise ValueError(f"these paths have more than {_TOGETHER} states together")
    for number, (path, given) in enumerate(several):
        most = given or MAX_STATES
        if counts[number] > most and ratcp_chain.counted(states[states.path == number], paths.leads[number]) > most:
            raise ValueError(
                f"the model has more than {most} states: its size grows with the capacity-delay product "
                f"({path.slot:g} packets), the buffer ({path.room} packets) and the square of the number of states of "
                f"the capacity ({len(path.service)})"
            )


def _by_path(
    paths: Paths,
    states: States,
    slots: tuple[Counts, Counts, Array, Array],
    branches: tuple[NDArray[np.intp], NDArray[np.intp], Array, Counts],
) -> Iterator[Chain]:
    """The chain of each path, whose states follow each other among those of all."""
    (state, change, reward, loss), (source, target, chance, steps) = slots, branches
    ends = np.searchsorted(states.path, np.arange(len(paths.several) + 1))
    of_path = zip(
        _split(states.path[state], len(paths.several)), _split(states.path[source], len(paths.several)), strict=True
    )
    for (begin, end), (some, those) in zip(pairwise(ends.tolist()), of_path, strict=True):
        yield Chain(
            states=states[np.arange(begin, end)],
            capacities=len(paths.leads[0]),
            slot=np.stack([state[some] - begin, change[some]]),
            reward=reward[some],
            loss=loss[some],
            source=source[those] - begin,
            target=target[those] - begin,
            chance=chance[those],
            steps=steps[:, those],
        )


def _split(of: Counts, paths: int) -> list[NDArray[np.intp]]:
    """Where those of each path are, in their order."""
    return np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of, minlength=paths))[:-1])


class _Code:
    """States as single integers, so that sets of them are sorted arrays; those of a path follow each other."""

    def __init__(self, paths: Paths) -> None:
        self.paths = len(paths.several)
        most_rate = 0 if paths.rate_window is None else int(paths.rate_window.max())
        window = 2 * (int(paths.room.max()) + int(np.ceil(paths.slot.max())) + most_rate) + MOST_GROWTH
        states = paths.service.shape[1]
        self._radix = (self.paths, 3, int(paths.room.max()) + 1, window, window, window, states)
        if prod(self._radix) >= np.iinfo(np.int64).max:
            raise ValueError(
                "the capacity-delay product, the buffer or the states of the capacity are far too many for the model"
            )

    def pack(self, states: States) -> Counts:
        key = np.zeros(states.kind.shape, dtype=np.int64)
        for column, radix in zip(fields(states), self._radix, strict=True):
            digit = getattr(states, column.name)
            if not ((digit >= 0) & (digit < radix)).all():
                raise AssertionError(
                    f"the model reached {column.name} = {digit.min()}..{digit.max()} of 0..{radix - 1}"
                )
            key = key * radix + digit
        return key

    def path(self, key: Counts) -> Counts:
        """The path that each state is of, the first digit."""
        return key // prod(self._radix[1:])

    def unpack(self, key: Counts) -> States:
        columns = {}
        for column, radix in zip(reversed(fields(States)), reversed(self._radix), strict=True):
            key, columns[column.name] = np.divmod(key, radix)
        return States(**columns)
