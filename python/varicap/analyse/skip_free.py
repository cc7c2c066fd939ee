"""Stationary distributions of finite chains on levels that go down one level at a time: skip-free to the left.

A state is a level m = 0..M and a phase s = 0..S-1.  From level m the chain goes to level m + k with the matrix of
phases A_m(k), k = -1, 0, 1, …  Let G_m hold the phases in which it first reaches level m - 1 from m.  Going down from
the highest level,

    H_m(k) = A_m(k) + H_m(k+1) G_{m+k+1},    G_m = (I - H_m(0))^-1 A_m(-1)

where H_m(k) holds the phases in which the chain, after a step from m to m + k or above, first reaches m + k.  Observed
at level 0 alone the chain has the transitions H_0(0); going up from there,

    x_m = (sum_{j<m} x_j H_j(m - j)) (I - H_m(0))^-1

Nothing but I - H is a difference, so small probabilities keep their relative accuracy.  Source: [neuts81],
[ramaswami88] for the upward pass; here for finitely many levels, each with its own matrices.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov

Array = NDArray[np.float64]
Steps: TypeAlias = Mapping[int, Array]
"""Matrices of phases by the change of level, each of shape (…, S, S); levels below are reached by -1 alone."""

_LARGE = 1e200  # unnormalised probabilities are scaled back from here


def stationary(levels: Sequence[Steps]) -> Array:
    """The stationary distribution, shape (…, M + 1, S): one for each matrix along the leading dimensions.

    Parameters
    ----------
    levels
        Where each level m = 0..M leads: ``levels[m][k]`` to level m + k.  The same object may stand for many levels.

    Raises
    ------
    ValueError
        A level leads below zero or above the last, or down by more than one level.

    Examples
    --------
    >>> up, down, both = np.array([[0.25]]), np.array([[0.5]]), np.array([[0.25]])
    >>> walk = [{0: 1 - up, 1: up}, {-1: down, 0: both, 1: up}, {-1: down, 0: 1 - down}]
    >>> stationary(walk).ravel().round(12).tolist()
    [0.571428571429, 0.285714285714, 0.142857142857]
    """
    _check(levels)
    shape = next(iter(levels[0].values())).shape
    one: Array = np.eye(shape[-1])
    first_passage: list[Array] = [np.zeros(shape)] * len(levels)
    landing: list[Array] = [np.zeros(0)] * len(levels)
    for m in reversed(range(len(levels))):
        landing[m] = _landing(levels[m], first_passage[m + 1 : m + 1 + max(levels[m])], shape)
        if m:
            leaving = one - landing[m][..., 0, :, :]
            first_passage[m] = np.asarray(np.linalg.solve(leaving, levels[m][-1]), dtype=float)
    found = np.zeros((*shape[:-2], len(levels), shape[-1]))  # what reaches a level from below, then the level itself
    found[..., 0, :] = _of_each(landing[0][..., 0, :, :])
    for m in range(len(levels)):
        if m:
            staying = np.swapaxes(one - landing[m][..., 0, :, :], -1, -2)
            found[..., m, :] = np.linalg.solve(staying, found[..., m, :, None])[..., 0]
        up = landing[m][..., 1:, :, :]
        found[..., m + 1 : m + 1 + up.shape[-3], :] += (found[..., m, None, None, :] @ up)[..., 0, :]
        if found[..., m, :].max() > _LARGE:
            found /= found[..., : m + 1, :].max(axis=(-1, -2), keepdims=True)
    return np.asarray(found / found.sum(axis=(-1, -2), keepdims=True))


def _landing(steps: Steps, passage_above: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """H(0), H(1), …, stacked before the phases: where a level k above is first reached after a step to it or beyond."""
    highest = max(0, *steps)
    found = np.zeros((*shape[:-2], highest + 1, *shape[-2:]))
    beyond = np.zeros(shape)
    for k in reversed(range(highest + 1)):
        landed = beyond + steps[k] if k in steps else beyond
        found[..., k, :, :] = landed
        beyond = landed @ passage_above[k - 1] if k else beyond
    return found


def _of_each(transition: Array) -> Array:
    """The stationary distribution of each of these small chains."""
    flat = transition.reshape(-1, *transition.shape[-2:])
    found = [markov.stationary(one / one.sum(axis=1, keepdims=True)) for one in flat]
    return np.reshape(found, transition.shape[:-1])


def _check(levels: Sequence[Steps]) -> None:
    if not levels or not all(levels):
        raise ValueError("a chain has one level or more, and each leads somewhere")
    for m, steps in enumerate(levels):
        lowest, highest = min(steps), max(steps)
        if lowest < -1 or m + lowest < 0 or m + highest >= len(levels):
            raise ValueError(
                f"level {m} of {len(levels)} leads to the levels {m + lowest} to {m + highest}: it may go down by one, "
                "and not out of the chain"
            )
