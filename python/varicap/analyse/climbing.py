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

Source: a regular splitting [stewart94], here by levels.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov

if TYPE_CHECKING:
    import scipy.sparse as sp

Array = NDArray[np.float64]

_LEFT = 1e-14  # total variation to the limit that the iteration may leave
_ROUNDING = 1e-10  # total variation by which the rounding of probabilities may move the distribution
_ITERATIONS = 200  # fifteen are usual


def stationary(transition: "sp.csr_array", level: NDArray[np.int64]) -> Array:
    """The stationary distribution, shape (n,); `level` is that of each state.

    A chain that never falls, or hardly ever, or that is slow from fall to fall, too, is solved as `markov.stationary`
    does, with its errors.
    """
    import scipy.sparse as sp
    from scipy.sparse.linalg import splu

    members = markov.recurrent_class(markov.validate(transition))
    order = members[np.argsort(level[members], kind="stable")]
    place = np.full(len(level), -1)
    place[order] = np.arange(order.size)
    every = sp.coo_array(transition)
    source, target = (place[end] for end in every.coords)
    inside = np.flatnonzero(source >= 0)
    source, target, chance = source[inside], target[inside], every.data[inside]
    falls = level[order][target] < level[order][source]
    found = None
    if falls.any():
        one = np.arange(order.size)
        # Backwards, as columns are solved for.
        down = sp.csr_array((chance[falls], (target[falls], source[falls])), shape=(one.size, one.size))
        stays = sp.csc_array(
            (
                np.concatenate([np.full(one.size, 1 + markov.SHIFT), -chance[~falls]]),
                (np.concatenate([one, target[~falls]]), np.concatenate([one, source[~falls]])),
            ),
            shape=down.shape,
        )
        factors = splu(stays, permc_spec="NATURAL", diag_pivot_thresh=0.0)
        until_a_fall = float(factors.solve(np.ones(one.size), trans="T").max())
        if until_a_fall * np.finfo(float).eps < _ROUNDING:
            found = _iterated(lambda x: factors.solve(down @ x + markov.SHIFT * x), one.size)
    if found is None:
        return markov.stationary(transition)
    shares = np.zeros(len(level))
    shares[order] = found
    return shares if markov.residual(transition, shares) < markov.RESIDUAL else markov.stationary(transition)


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
