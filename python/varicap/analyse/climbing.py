"""Stationary distributions of large chains on levels that seldom go down.

A window grows from slot to slot, and falls at a loss.  Sorted by level, the branches that do not go down make an almost
triangular matrix ``U``, which is factorised in no time and hardly fills up; ``L = P - U`` are the falls, and

    pi (I - U) = pi L        gives        x <- x (L + s I) ((1 + s) I - U)^-1,    then scaled to sum 1,

the shift s of `varicap.analyse.markov` keeping the factors regular where falls are rare.  That is the chain from fall
to fall, which forgets its beginning after a few of them, however slow the chain itself is.  If the last changes in
total variation were c and d < c, what is left is ``d^2 / (c - d)`` where they go on to shrink by that ratio: the
iteration ends when this is small, and its result must satisfy ``pi P = pi``.

Neither shows the rounding of probabilities, which moves the distribution by their epsilon times the slots until a fall:
``((1 + s) I - U)^-1 1``.  Where falls are too rare for that, `varicap.analyse.markov` has its own limits.

Where the entries of both matrices stand follows from the branches, which many chains have in common.

Source: a regular splitting [stewart94], here by levels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov, together
from varicap.analyse.censored import Found

if TYPE_CHECKING:
    import scipy.sparse as sp

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_LEFT = 1e-14  # total variation to the limit that the iteration may leave
_ROUNDING = 1e-10  # total variation by which the rounding of probabilities may move the distribution
_ITERATIONS = 200  # ten are usual
_LEAP = 3  # iterations after which the rest of them is foreseen
_KEPT = 8  # of the ways in which branches may be possible or not


@dataclass(frozen=True, eq=False)
class Branches:
    """Where chains lead, by branches that may repeat, and the levels of their states.

    The probability of a branch is `share` times one of the weights of a chain, by default of a weight of its own.
    """

    level: NDArray[np.int64]
    """Level of each state, shape (n,)."""
    source: Index
    """State that each branch leaves, shape (branches,)."""
    target: Index
    """State that each branch enters."""
    weight: Index | None = None
    """The number of each branch's weight."""
    share: Array | None = None
    """Its share of this weight."""
    _splits: dict[bytes, "_Split"] = field(default_factory=dict, init=False)
    """By which weights are positive."""

    def stationary(self, weights: Array) -> Found:
        """The long run of a chain with these weights.

        A chain that never falls, or hardly ever, or that is slow from fall to fall, too, is solved as
        `markov.stationary` does, with its errors.
        """
        (found,) = self.stationary_all(weights[:, None])
        if isinstance(found, ValueError):
            raise found
        return found

    def stationary_all(self, weights: Array) -> Sequence[Found | ValueError]:
        """The same for several chains, the weights of each in a column, or the error in its place."""
        return together.each(lambda several: [self._stationary(one) for one in several], list(weights.T.copy()))

    def _stationary(self, weights: Array) -> Found:
        chances = self._entries.chances(weights)
        sums = np.bincount(self._entries.source, chances, minlength=self.level.size)
        if not ((np.abs(sums - 1) <= markov.ROW_SUM_ERROR).all() and (chances >= 0).all()):
            markov.validate(self._matrix(weights))
        possible = weights > 0
        key = possible.tobytes()
        split = self._splits.get(key)
        if split is None:
            if len(self._splits) == _KEPT:
                self._splits.clear()
            split = self._splits[key] = _Split.of(self.level, self._entries, chances > 0)
        found = split.solved(chances)
        if found is not None:
            return found
        transition = self._matrix(weights)
        shares = markov.stationary(transition)
        return Found(shares=shares, residual=markov.residual(transition, shares))

    def _matrix(self, weights: Array) -> markov.Matrix:
        weight, share = self._weights
        return markov.matrix(self.level.size, self.source, self.target, share * weights[weight])

    @cached_property
    def _weights(self) -> tuple[Index, Array]:
        """The number of each branch's weight, and its share of this weight."""
        every = self.source.size
        return (
            np.arange(every) if self.weight is None else self.weight,
            np.ones(every) if self.share is None else self.share,
        )

    @cached_property
    def _entries(self) -> "_Entries":
        return _Entries.of(self.level.size, self.source, self.target, *self._weights)


@dataclass(frozen=True, kw_only=True)
class _Entries:
    """The entries of a transition matrix, sums of branches; those on the diagonal may have none."""

    source: Index
    """The state that each leaves, ascending, shape (entries,)."""
    target: Index
    """The state that each enters, ascending for those of a state."""
    of_weights: "sp.csr_array"
    """Shape (entries, weights)."""

    @classmethod
    def of(cls, states: int, source: Index, target: Index, weight: Index, share: Array) -> "_Entries":
        """Of branches between so many states."""
        import scipy.sparse as sp

        code = np.concatenate([source * states + target, np.arange(states) * (states + 1)])
        entries, entry = np.unique(code, return_inverse=True)
        shape = entries.size, int(weight.max()) + 1
        of_weights = sp.csr_array((share, (entry[: source.size], weight)), shape=shape)
        return cls(source=entries // states, target=entries % states, of_weights=of_weights)

    def chances(self, weights: Array) -> Array:
        """The probabilities in a chain with these weights."""
        return np.asarray(self.of_weights @ weights)


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """Entries in a compressed matrix."""

    entry: Index
    """Their numbers, by row and column."""
    column: NDArray[np.int32]
    row: NDArray[np.int32]
    """The first of each row."""

    @classmethod
    def of(cls, entry: Index, row: Index, column: Index, size: int) -> "_Placed":
        """Entries of which each has a row and a column."""
        order = np.argsort(row * size + column)
        begin = np.searchsorted(row[order], np.arange(size + 1))
        return cls(entry=entry[order], column=column[order].astype(np.int32), row=begin.astype(np.int32))


@dataclass(frozen=True, kw_only=True)
class _Split:
    """The entries between the states that recur, by whether they go down."""

    states: int
    order: Index
    """The states that recur, by level."""
    down: _Placed
    """By the state that is entered, since columns are solved for; as are those that stay or go up, the other way."""
    stays: _Placed
    """With the diagonal."""
    diagonal: Index
    """Where it stands among these."""

    @classmethod
    def of(cls, level: NDArray[np.int64], entries: _Entries, possible: NDArray[np.bool_]) -> "_Split":
        """The split where only some entries are possible."""
        from scipy.sparse.csgraph import connected_components

        source, target = entries.source, entries.target
        members = markov.recurrent_class(_pattern(source[possible], target[possible], level.size))
        recurs = np.zeros(level.size, dtype=bool)
        recurs[members] = True
        inside = (possible | (source == target)) & recurs[source]
        falls = level[target] < level[source]
        down, stays = np.flatnonzero(inside & falls), np.flatnonzero(inside & ~falls)
        # Those that lead to each other stay together, before what they lead to alone (SciPy numbers it first): factors
        # hardly fill up.
        _, part = connected_components(
            _pattern(source[stays], target[stays], level.size), directed=True, connection="strong"
        )
        ways = np.bincount(source[stays], minlength=level.size)
        order = members[np.lexsort((ways[members], -part[members], level[members]))]
        place = np.full(level.size, -1)
        place[order] = np.arange(order.size)
        at_source, at_target = place[source], place[target]
        placed = _Placed.of(stays, at_source[stays], at_target[stays], order.size)
        return cls(
            states=level.size,
            order=order,
            down=_Placed.of(down, at_target[down], at_source[down], order.size),
            stays=placed,
            diagonal=np.flatnonzero(source[placed.entry] == target[placed.entry]),
        )

    def solved(self, chances: Array) -> Found | None:
        """The long run, if the chain forgets its beginning after a few falls; `chances` are those of all entries."""
        import scipy.sparse as sp
        from scipy.sparse.linalg import splu

        if not self.down.entry.size:
            return None
        size = self.order.size
        down = sp.csr_array((chances[self.down.entry], self.down.column, self.down.row), shape=(size, size))
        minus = -chances[self.stays.entry]
        minus[self.diagonal] += 1 + markov.SHIFT
        stays = sp.csc_array((minus, self.stays.column, self.stays.row), shape=(size, size))
        stays.has_canonical_format = True
        factors = splu(stays, permc_spec="NATURAL", diag_pivot_thresh=0.0)
        until_a_fall = float(factors.solve(np.ones(size), trans="T").max())
        if not until_a_fall * np.finfo(float).eps < _ROUNDING:
            return None
        found = _iterated(lambda x: factors.solve(down @ x + markov.SHIFT * x), size)
        if found is None:
            return None
        residual = float(np.abs(down @ found + markov.SHIFT * found - stays @ found).sum())
        if not residual < markov.RESIDUAL:
            return None
        shares = np.zeros(self.states)
        shares[self.order] = found
        return Found(shares=shares, residual=residual)


def _pattern(source: Index, target: Index, states: int) -> "sp.csr_array":
    """A sparse matrix with ones where states lead to others, sources ascending."""
    import scipy.sparse as sp

    begin = np.searchsorted(source, np.arange(states + 1)).astype(np.int32)
    return sp.csr_array((np.ones(target.size), target.astype(np.int32), begin), shape=(states, states))


def _iterated(step: Callable[[Array], Array], states: int) -> Array | None:
    """The distribution that a step leaves as it is, up to `_LEFT`; none if it takes too many.

    Changes soon shrink by one ratio.  What they will sum up to is then taken at once, and the rest shrinks faster.
    Source: [aitken26].
    """
    shares, last = np.full(states, 1 / states), np.zeros(states)
    before, ratio = 0.0, 1.0
    for number in range(1, _ITERATIONS + 1):
        after = step(shares)
        after /= after.sum()
        moved = after - shares
        change = float(np.abs(moved).sum())
        shares = after
        if before > 0:
            ratio = change / before
        if change == 0 or (ratio < 1 and change * ratio / (1 - ratio) < _LEFT):
            return shares
        before = change
        if number % _LEAP == 0:
            of_last = float(moved @ last / (last @ last))
            if 0 < of_last < 1:
                shares = np.maximum(shares + moved * (of_last / (1 - of_last)), 0.0)
                before = 0.0
        last = moved
    return None
