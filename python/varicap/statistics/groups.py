"""Runs that fall into two groups, which a mean with an interval hides."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

_FEWEST = 8
"""Values, of which two or more are in each group: fewer say nothing of groups."""
_APART = 3.0
"""The gap over the wider group: of eight values from one uniform law, or a normal one, one set in a hundred or fewer
has such a gap, of ten one in five hundred."""


@dataclass(frozen=True)
class Groups:
    """How many values are in each of two groups, and around which means; the larger group first."""

    counts: tuple[int, int]
    means: tuple[float, float]


def groups(values: Sequence[float]) -> Groups | None:
    """The two groups that values fall into, if the gap between them is wide; most values fall into none.

    >>> groups([0.95, 0.94, 0.76, 0.96, 0.95, 0.77, 0.93, 0.75, 0.94, 0.95]).counts
    (7, 3)
    >>> groups([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]) is None
    True
    """
    order = sorted(value for value in values if isfinite(value))
    if len(order) < _FEWEST:
        return None
    gaps = [(after - before, place) for place, (before, after) in enumerate(pairwise(order), 1)]
    gap, place = max(gaps)
    low, high = order[:place], order[place:]
    widest = max(low[-1] - low[0], high[-1] - high[0])
    if min(len(low), len(high)) < 2 or gap <= _APART * widest or gap <= 0.02 * abs(order[-1]):
        return None
    both = sorted((low, high), key=len, reverse=True)
    return Groups((len(both[0]), len(both[1])), (sum(both[0]) / len(both[0]), sum(both[1]) / len(both[1])))
