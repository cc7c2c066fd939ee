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
        sums = self._rows @ weights
        if not ((np.abs(sums - 1) <= markov.ROW_SUM_ERROR).all() and (weights >= 0).all()):
            markov.validate(self._matrix(weights))
        possible = weights > 0
        key = possible.tobytes()
        split = self._splits.get(key)
        if split is None:
            members = markov.recurrent_class(self._matrix(weights))
            if len(self._splits) == _KEPT:
                self._splits.clear()
            split = self._splits[key] = _Split.of(self, possible, members)
        found = split.solved(weights)
        if found is not None:
            return found
        transition = self._matrix(weights)
        shares = markov.stationary(transition)
        return Found(shares=shares, residual=markov.residual(transition, shares))

    def _matrix(self, weights: Array) -> markov.Matrix:
        weight, share = self.weights
        return markov.matrix(self.level.size, self.source, self.target, share * weights[weight])

    @cached_property
    def weights(self) -> tuple[Index, Array]:
        """The number of each branch's weight, and its share of this weight."""
        every = self.source.size
        return (
            np.arange(every) if self.weight is None else self.weight,
            np.ones(every) if self.share is None else self.share,
        )

    @cached_property
    def _rows(self) -> "sp.csr_array":
        """The sums of the branches that leave each state, from the weights of a chain."""
        import scipy.sparse as sp

        weight, share = self.weights
        return sp.csr_array((share, (self.source, weight)), shape=(self.level.size, int(weight.max()) + 1))


@dataclass(frozen=True, kw_only=True)
class _Entries:
    """The entries of a sparse matrix that are sums of branches, columns ascending in rows."""

    of_weights: "sp.csr_array"
    """The entries from the weights of a chain, shape (entries, weights)."""
    column: NDArray[np.int32]
    row: NDArray[np.int32]
    """The first entry of each row."""

    @classmethod
    def of(cls, row: Index, column: Index, weight: Index, share: Array, shape: tuple[int, int]) -> "_Entries":
        """From the row, the column, the weight and its share of each branch; `shape` is states and weights."""
        import scipy.sparse as sp

        size, weights = shape
        entries, entry = np.unique(row * size + column, return_inverse=True)
        begin = np.searchsorted(entries, np.arange(size + 1) * size)
        return cls(
            of_weights=sp.csr_array((share, (entry, weight)), shape=(entries.size, weights)),
            column=(entries % size).astype(np.int32),
            row=begin.astype(np.int32),
        )


@dataclass(frozen=True, kw_only=True)
class _Split:
    """The branches between the states that recur, by whether they go down."""

    states: int
    order: Index
    """The states that recur, by level."""
    down: _Entries
    """By the state that is entered, since columns are solved for; as are those that stay or go up, the other way."""
    stays: _Entries
    """With the diagonal, whose weight is the last one."""

    @classmethod
    def of(cls, branches: Branches, possible: NDArray[np.bool_], members: Index) -> "_Split":
        """The split where only the branches of some weights are possible."""
        order = members[np.argsort(branches.level[members], kind="stable")]
        place = np.full(branches.level.size, -1)
        place[order] = np.arange(order.size)
        weight, share = branches.weights
        inside = possible[weight] & (place[branches.source] >= 0)
        falls = branches.level[branches.target] < branches.level[branches.source]
        down, stays = np.flatnonzero(inside & falls), np.flatnonzero(inside & ~falls)
        source, target = place[branches.source], place[branches.target]
        one = np.arange(order.size)
        shape = order.size, possible.size + 1
        return cls(
            states=branches.level.size,
            order=order,
            down=_Entries.of(target[down], source[down], weight[down], share[down], shape),
            stays=_Entries.of(
                np.append(source[stays], one),
                np.append(target[stays], one),
                np.append(weight[stays], np.full(one.size, possible.size)),
                np.append(share[stays], np.ones(one.size)),
                shape,
            ),
        )

    def solved(self, weights: Array) -> Found | None:
        """The long run, if the chain forgets its beginning after a few falls."""
        import scipy.sparse as sp
        from scipy.sparse.linalg import splu

        if not self.down.column.size:
            return None
        size = self.order.size
        signed = np.append(-weights, 1 + markov.SHIFT)
        down = sp.csr_array((self.down.of_weights @ -signed, self.down.column, self.down.row), shape=(size, size))
        minus = self.stays.of_weights @ signed
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
