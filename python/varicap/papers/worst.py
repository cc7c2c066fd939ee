"""The interval of a claim about several points at once, such as an ordering: that of its worst point.

A claim about all points holds if it holds for each, and fails if it fails for one.  The two are not judged alike:

- It *holds* if each point's own 95 % interval is within the bound.  All of them must pass, so that testing many makes
  the claim harder, and no allowance is due.  One end of our interval is therefore the worst of the points' ends.
- It *fails* if some point's interval is outside.  Of forty points on the bound one is outside by chance, so the other
  end is the worst end of intervals at 1 - 0.05/k, for k points (Bonferroni) [law2015, §9.7].

Together they cover the worst of the true means with 95 %.  A minimum taken run by run would fall as runs scatter,
whatever their means.
"""

from collections.abc import Callable, Iterable

from varicap.statistics import Array, Interval

_CHANCE = 0.05
"""Of a wrong verdict on a claim that lies on its bound."""


def least(points: Iterable[Array]) -> Interval:
    """The least of several points, each with a value for each of two runs or more.

    >>> import numpy as np
    >>> least([np.array([1.0, 3.0]), np.array([2.5, 2.5])]).mean
    2.0
    """
    return _worst(min, points)


def most(points: Iterable[Array]) -> Interval:
    """The greatest of several points, each with a value for each of two runs or more."""
    return _worst(max, points)


def farthest(ratios: Iterable[Array]) -> Interval:
    """The greatest distance from 1, on either side, of several ratios, each with a value for each run."""
    return most(apart for ratio in ratios for apart in (ratio - 1.0, 1.0 - ratio))


def _worst(of: Callable[[Iterable[float]], float], points: Iterable[Array]) -> Interval:
    points = list(points)
    alone = [Interval.of(point) for point in points]
    together = [Interval.of(point, 1 - _CHANCE / len(points)) for point in points]
    # What must hold for every point, and what one point can break.
    inner, outer = (alone, together) if of is min else (together, alone)
    low = [one.lo for one in inner if one.lo is not None]
    high = [one.hi for one in outer if one.hi is not None]
    if len(low) < len(points):
        raise ValueError("one run has no interval")
    return Interval(of(one.mean for one in alone), of(low), of(high), min(len(point) for point in points))
