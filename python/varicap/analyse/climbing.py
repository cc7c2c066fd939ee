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

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov
from varicap.analyse.censored import Found

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_LEFT = 1e-14  # total variation to the limit that the iteration may leave
_ROUNDING = 1e-10  # total variation by which the rounding of probabilities may move the distribution
_ITERATIONS = 200  # fifteen are usual
_KEPT = 8  # of the ways in which branches may be possible or not


@dataclass(frozen=True, eq=False)
class Branches:
    """Where chains lead, by branches that may repeat, and the levels of their states."""

    level: NDArray[np.int64]
    """Level of each state, shape (n,)."""
    source: Index
    """State that each branch leaves, shape (branches,)."""
    target: Index
    """State that each branch enters."""
    _splits: dict[bytes, "_Split"] = field(default_factory=dict, init=False)
    """By which branches are possible."""

    def stationary(self, chances: Array) -> Found:
        """The long run of a chain; `chances` has the probability of each branch, shape (branches,).

        A chain that never falls, or hardly ever, or that is slow from fall to fall, too, is solved as
        `markov.stationary` does, with its errors.
        """
        sums = np.bincount(self.source, chances, minlength=self.level.size)
        if not ((np.abs(sums - 1) <= markov.ROW_SUM_ERROR).all() and (chances >= 0).all()):
            markov.validate(self._matrix(chances))
        possible = chances > 0
        key = possible.tobytes()
        split = self._splits.get(key)
        if split is None:
            members = markov.recurrent_class(self._matrix(chances))
            if len(self._splits) == _KEPT:
                self._splits.clear()
            split = self._splits[key] = _Split.of(self, possible, members)
        found = split.solved(chances)
        if found is not None:
            return found
        transition = self._matrix(chances)
        shares = markov.stationary(transition)
        return Found(shares=shares, residual=markov.residual(transition, shares))

    def _matrix(self, chances: Array) -> markov.Matrix:
        return markov.matrix(self.level.size, self.source, self.target, chances)


@dataclass(frozen=True, kw_only=True)
class _Entries:
    """Where the sums of branches stand in a sparse matrix, columns ascending in rows."""

    branch: Index
    """The branches that there are."""
    entry: Index
    """The entry that each adds to."""
    column: NDArray[np.int32]
    row: NDArray[np.int32]
    """The first entry of each row."""

    @classmethod
    def of(cls, branch: Index, row: Index, column: Index, size: int) -> "_Entries":
        entries, entry = np.unique(row * size + column, return_inverse=True)
        begin = np.searchsorted(entries, np.arange(size + 1) * size)
        return cls(branch=branch, entry=entry, column=(entries % size).astype(np.int32), row=begin.astype(np.int32))

    def sums(self, values: Array) -> Array:
        return np.asarray(np.bincount(self.entry, values[self.branch], minlength=self.column.size), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class _Split:
    """The branches between the states that recur, by whether they go down."""

    states: int
    order: Index
    """The states that recur, by level."""
    down: _Entries
    """By the state that is entered, since columns are solved for; as are those that stay or go up, the other way."""
    stays: _Entries
    """With the diagonal, an entry of which is a last branch."""

    @classmethod
    def of(cls, branches: Branches, possible: NDArray[np.bool_], members: Index) -> "_Split":
        order = members[np.argsort(branches.level[members], kind="stable")]
        place = np.full(branches.level.size, -1)
        place[order] = np.arange(order.size)
        inside = possible & (place[branches.source] >= 0)
        falls = branches.level[branches.target] < branches.level[branches.source]
        down, stays = np.flatnonzero(inside & falls), np.flatnonzero(inside & ~falls)
        source, target = place[branches.source], place[branches.target]
        one = np.arange(order.size)
        return cls(
            states=branches.level.size,
            order=order,
            down=_Entries.of(down, target[down], source[down], order.size),
            stays=_Entries.of(
                np.append(stays, np.full(order.size, possible.size)),
                np.append(source[stays], one),
                np.append(target[stays], one),
                order.size,
            ),
        )

    def solved(self, chances: Array) -> Found | None:
        """The long run, if the chain forgets its beginning after a few falls."""
        import scipy.sparse as sp
        from scipy.sparse.linalg import splu

        if not self.down.branch.size:
            return None
        size = self.order.size
        down = sp.csr_array((self.down.sums(chances), self.down.column, self.down.row), shape=(size, size))
        minus = self.stays.sums(np.append(-chances, 1 + markov.SHIFT))
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


def _iterated(step: Callable[[Array], Array], states: int) -> Array | None:
    """The distribution that a step leaves as it is, up to `_LEFT`; none if it takes too many."""
    shares = np.full(states, 1 / states)
    before = 0.0
    for _ in range(_ITERATIONS):
        after = step(shares)
        after /= after.sum()
        change = float(np.abs(after - shares).sum())
        shares = after
        if change == 0 or (change < before and change**2 / (before - change) < _LEFT):
            return shares
        before = change
    return None
