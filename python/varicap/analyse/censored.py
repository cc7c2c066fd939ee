"""Stationary distributions of many chains that have the same branches, with probabilities of their own.

The points of a sweep often share a chain: the same states, the same branches between them, other probabilities.  GTH
elimination (`varicap.analyse.markov`) censors states one by one; through state k, of which ``s = sum_j p_kj`` leaves,

    p_ij += p_ik p_kj / s        for all i before k, and all j after it.

Most states have few neighbours.  The order in which they are censored, those with the fewest ways through them first
[markowitz57], and what comes to be adjacent follow from the branches alone: they are found once, and each step is then
done for all chains at a time.  Where what is left is dense, `markov.gth` goes on.  Nothing is subtracted, so small
probabilities keep their relative accuracy.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov, together

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

MOST_STATES = 800
"""With more of them a matrix of which state leads to which, and the search for an order in it, take too long."""

_FEW = 3  # chains, for fewer of which it takes longer to find an order than to eliminate whole matrices
_DENSE = 4  # what is left is dense where the fewest ways through a state are one in so many of all there could be
_ENTRIES = 2**20  # probabilities that are held at a time: more would not stay in a cache


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The long run of a chain."""

    shares: Array
    """The stationary distribution, shape (n,)."""
    residual: float
    """Sum of ``|pi P - pi|`` [1]."""


@dataclass(frozen=True, eq=False)
class Branches:
    """Where chains lead, by branches that may repeat; each state has one or more."""

    states: int
    source: Index
    """State that each branch leaves, shape (branches,)."""
    target: Index
    """State that each branch enters."""

    def __post_init__(self) -> None:
        if self.states > MOST_STATES:
            raise ValueError(f"{self.states} states are too many to be censored together: at most {MOST_STATES}")
        if np.unique(self.source).size != self.states:
            raise ValueError("a state has no branch")

    def stationary_all(self, chances: Array) -> list[Found | ValueError]:
        """The long run of each chain, or why it has none, as `markov.stationary_all` says it.

        Parameters
        ----------
        chances
            The probability of each branch in each chain, shape (branches, chains).

        Examples
        --------
        >>> on_off = Branches(2, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
        >>> chances = np.array([[0.9, 0.5], [0.1, 0.5], [0.3, 0.5], [0.7, 0.5]])
        >>> [one.shares.round(12).tolist() for one in on_off.stationary_all(chances)]
        [[0.75, 0.25], [0.5, 0.5]]
        """
        if chances.shape[1] < _FEW:
            return self._one_by_one(chances)
        entries = _summed(chances[self._order], self._first)
        found: dict[int, Found | ValueError] = {}
        found.update(self._mistakes(entries))
        members: dict[int, Mask] = {}
        alike: dict[bytes, list[int]] = {}
        for number, positive in enumerate(np.ascontiguousarray((entries > 0).T)):
            if number not in found:
                alike.setdefault(positive.tobytes(), []).append(number)
        for pattern, those in alike.items():
            try:
                members |= dict.fromkeys(those, self._members(np.frombuffer(pattern, dtype=bool)))
            except ValueError as error:
                found |= dict.fromkeys(those, error)
        while members:
            # The state that is left must recur in all of them.
            root = int(np.sum(list(members.values()), axis=0).argmax())
            those = [number for number, inside in members.items() if inside[root]]
            solve = partial(self._solved, entries, members, root)
            found |= zip(those, together.each(solve, those), strict=True)
            members = {number: inside for number, inside in members.items() if number not in found}
        return [found[number] for number in range(chances.shape[1])]

    def _one_by_one(self, chances: Array) -> list[Found | ValueError]:
        matrices = [markov.matrix(self.states, self.source, self.target, column) for column in chances.T]
        return [
            share if isinstance(share, ValueError) else Found(shares=share, residual=markov.residual(matrix, share))
            for matrix, share in zip(matrices, markov.stationary_all(matrices), strict=True)
        ]

    def _mistakes(self, entries: Array) -> Iterator[tuple[int, ValueError]]:
        """The chains whose probabilities are none."""
        sums = _summed(entries, self._row)
        valid = np.isfinite(entries).all(axis=0) & (entries >= 0).all(axis=0)
        valid &= (np.abs(sums - 1) <= markov.ROW_SUM_ERROR).all(axis=0)
        for number in np.flatnonzero(~valid).tolist():
            matrix = np.zeros((self.states, self.states))
            matrix[self._leaves, self._enters] = entries[:, number]
            try:
                markov.validate(matrix)
            except ValueError as error:
                yield number, error

    def _members(self, positive: Mask) -> Mask:
        """The states of the recurrent class, as a mask."""
        leads = np.zeros((self.states, self.states), dtype=bool)
        leads[self._leaves[positive], self._enters[positive]] = True
        inside = np.zeros(self.states, dtype=bool)
        inside[markov.recurrent_class_of(leads)] = True
        return inside

    def _solved(self, entries: Array, members: Mapping[int, Mask], root: int, numbers: Sequence[int]) -> list[Found]:
        """The long run of the chains of these numbers, by the states that recur in each, of which the root is one."""
        if list(numbers) != list(range(entries.shape[1])):
            entries = entries[:, numbers]
        inside = np.stack([members[number] for number in numbers], axis=1)
        used = (inside[self._leaves] & (entries > 0)).any(axis=1)
        leads = np.zeros((self.states, self.states), dtype=bool)
        leads[self._leaves[used], self._enters[used]] = True
        plan = _planned(self.states, np.packbits(leads).tobytes(), np.packbits(inside.any(axis=1)).tobytes(), root)
        kept = np.flatnonzero(used & (self._leaves != self._enters))
        at = plan.place[self._leaves[kept], self._enters[kept]]
        at_once = max(1, _ENTRIES // plan.size)
        found: list[Found] = []
        for first in range(0, inside.shape[1], at_once):
            some, recurs = entries[:, first : first + at_once], inside[:, first : first + at_once]
            values = np.zeros((plan.size, some.shape[1]))
            values[at] = some[kept] * recurs[self._leaves[kept]]
            shares = _censor(plan, values, recurs)
            flow = some * shares[self._leaves]
            arriving = np.zeros_like(shares)
            arriving[self._entered] = np.add.reduceat(flow[self._by_target], self._column, axis=0)
            residuals = np.abs(arriving - shares).sum(axis=0).tolist()
            found += (Found(shares=share, residual=one) for share, one in zip(shares.T, residuals, strict=True))
        return found

    @cached_property
    def _order(self) -> Index:
        return np.lexsort((self.target, self.source))

    @cached_property
    def _first(self) -> Index:
        """The first of the branches, in that order, that lead from one state to another."""
        source, target = self.source[self._order], self.target[self._order]
        return np.flatnonzero(np.append(True, (np.diff(source) != 0) | (np.diff(target) != 0)))

    @cached_property
    def _leaves(self) -> Index:
        return self.source[self._order][self._first]

    @cached_property
    def _enters(self) -> Index:
        return self.target[self._order][self._first]

    @cached_property
    def _row(self) -> Index:
        """The first of the entries of each state."""
        return np.searchsorted(self._leaves, np.arange(self.states))

    @cached_property
    def _by_target(self) -> Index:
        return np.argsort(self._enters, kind="stable")

    @cached_property
    def _entered(self) -> Index:
        """The states that anything leads to."""
        return np.unique(self._enters)

    @cached_property
    def _column(self) -> Index:
        return np.searchsorted(self._enters[self._by_target], self._entered)


def _summed(rows: Array, first: Index) -> Array:
    """The sums of the rows from each of the first ones to the next; along this axis `np.add.reduceat` takes longer."""
    counts = np.diff(first, append=len(rows))
    found = rows[first]
    for nth in range(1, int(counts.max())):
        those = np.flatnonzero(counts > nth)
        found[those] += rows[first[those] + nth]
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Step:
    """A state that is censored: places of probabilities among all."""

    state: int
    before: Index
    """The states that lead to it."""
    into: Index
    """The probabilities of these branches."""
    out: Index
    """The probabilities of the branches that leave it."""
    through: Index
    """The probabilities that the ways through it add to, for each of the states before and each branch that leaves."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Plan:
    """In which order states are censored, and which probabilities that concerns."""

    place: NDArray[np.int64]
    """Where the probability of going from one state to another stands, shape (n, n)."""
    size: int
    """Number of places.  The last but one is of branches that there are not, the last one of what is not used."""
    steps: tuple[_Step, ...]
    left: Index
    """The states that are left, the root first."""


@lru_cache(maxsize=16)
def _planned(states: int, leads: bytes, recurrent: bytes, root: int) -> _Plan:
    """The plan for packed masks; from point to point of a sweep it is often the same."""
    bits = np.unpackbits(np.frombuffer(leads, np.uint8), count=states**2).astype(bool)
    recurs = np.unpackbits(np.frombuffer(recurrent, np.uint8), count=states)
    return _plan(bits.reshape(states, states), np.flatnonzero(recurs), root)


def _plan(leads: Mask, recurrent: Index, root: int) -> _Plan:
    np.fill_diagonal(leads, False)
    adjacent = leads.copy()  # which become adjacent at any time
    order, left = _ordered(leads, recurrent, root)
    for _, before, after in order:
        adjacent[before[:, None], after] = True
    np.fill_diagonal(adjacent, False)
    count = int(np.count_nonzero(adjacent))
    place = np.full(leads.shape, count)
    place[adjacent] = np.arange(count)
    to = place.copy()
    np.fill_diagonal(to, count + 1)
    return _Plan(
        place=place,
        size=count + 2,
        steps=tuple(
            _Step(
                state=state,
                before=before,
                into=place[before, state],
                out=place[state, after],
                through=to[before[:, None], after].ravel(),
            )
            for state, before, after in order
        ),
        left=np.append(root, left),
    )


def _ordered(leads: Mask, recurrent: Index, root: int) -> tuple[list[tuple[int, Index, Index]], Index]:
    """The states that are censored, in order, with those that then lead to each and those that it leads to.

    Also the states that are left besides the root, where they are so few that all lead to all.
    """
    into, out = ([set[int]() for _ in leads] for _ in range(2))
    for source, target in np.argwhere(leads).tolist():
        out[source].add(target)
        into[target].add(source)
    ways = np.full(len(leads), np.iinfo(np.int64).max)
    free = set(map(int, recurrent)) - {root}
    for state in free:
        ways[state] = len(into[state]) * len(out[state])
    order: list[tuple[int, Index, Index]] = []
    for left in range(recurrent.size, 1, -1):
        state = int(ways.argmin())
        if ways[state] * _DENSE > left**2:
            break
        free.remove(state)
        ways[state] = np.iinfo(np.int64).max
        before, after = into[state], out[state]
        order.append((state, _ascending(before), _ascending(after)))
        for one in before:
            out[one] |= after
            out[one] -= {one, state}
        for one in after:
            into[one] |= before
            into[one] -= {one, state}
        for one in (before | after) & free:
            ways[one] = len(into[one]) * len(out[one])
    return order, _ascending(free)


def _ascending(states: set[int]) -> Index:
    return np.array(sorted(states), dtype=np.intp)


def _censor(plan: _Plan, values: Array, recurs: Mask) -> Array:
    """The stationary distributions, shape (n, chains); states that do not recur in a chain have no branches there."""
    for step in plan.steps:
        out = values[step.out]
        leaving = out.sum(axis=0)
        if not (leaving > 0).all():
            if not (leaving[recurs[step.state]] > 0).all():
                raise ValueError(f"the probabilities of leaving state {step.state} have vanished")
            leaving[leaving == 0] = 1
        into = values[step.into] / leaving
        values[step.into] = into
        values[step.through] += (into[:, None, :] * out).reshape(-1, leaving.size)
    left = values[plan.place[np.ix_(plan.left, plan.left)]]
    # What does not recur, and is never entered, goes to the root for the sake of `gth`.
    left[1:, 0] += ~recurs[plan.left[1:]]
    shares = np.zeros(recurs.shape)
    shares[plan.left] = markov.gth(np.moveaxis(left, 2, 0)).T if plan.left.size > 1 else 1.0
    for step in reversed(plan.steps):
        shares[step.state] = (shares[step.before] * values[step.into]).sum(axis=0)
    return np.asarray(shares / shares.sum(axis=0))
