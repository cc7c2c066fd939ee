"""The interval of a claim about several points at once, such as an ordering: that of its worst point.

A claim about all points holds if it holds for each, and fails if it fails for one.  So the ends of the interval are the
least (greatest) ends over the points: the whole of it is within a bound exactly if each point's interval is, and it is
outside as soon as one point's is.  A minimum taken run by run would fall as runs scatter, whatever their means.
"""

from collections.abc import Callable, Iterable

from varicap.statistics import Array, Interval


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
    found = [Interval.of(point) for point in points]
    low, high = ([end for end in ends if end is not None] for ends in ((i.lo for i in found), (i.hi for i in found)))
    if len(low) < len(found):
        raise ValueError("one run has no interval")
    return Interval(of(one.mean for one in found), of(low), of(high), found[0].samples)
