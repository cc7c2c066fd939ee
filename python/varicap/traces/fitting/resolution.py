"""How finely a trace tells rates apart, in its slots.

A normal law about a single value has a likelihood without bound, so that a state needs a least variance: a share of the
square of the resolution, which is

- a packet, where whole ones are counted, and at most that;
- the least step between values that recur, where a slot carries one of a few rates;
- a share of the spread, where no two slots carry the same.
"""

import numpy as np
from numpy.typing import NDArray

from varicap.traces.trace import Array

LEAST_VARIANCE = 0.05
"""Of a state, over the square of the resolution: neighbours are 4.5 standard deviations apart."""
_RECURS = 10
"""Slots that carry one value, which is then a rate and no chance."""
_OF_SPREAD = 1 / 20
"""Of the standard deviation of all slots: a trace is not told apart more finely where nothing recurs."""
_ROUNDING = 1e-9
"""Of the largest value: differences of running sums are as exact as that, over a million slots."""
_ABOVE_ROUNDING = 50


def resolution(values: Array) -> float:
    """Least difference between the means of states [packets] that slots of these values tell apart."""
    grain = float(values.max()) * _ROUNDING
    if not grain > 0:
        return 1.0
    if np.array_equal(values, np.rint(values)):
        return 1.0
    _, levels, count = distinct(values)
    often = levels[count >= _RECURS]
    steps = [float(np.diff(often).min())] if len(often) > 1 else []
    # Of few slots the standard deviation may be rounding, too.
    spread = float(values.std()) * _OF_SPREAD
    return max(min([1.0, *([spread] if spread > grain else []), *steps]), _ABOVE_ROUNDING * grain)


def distinct(values: Array) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
    """The number of each value's level, the levels, and in how many slots each is; what rounding parts is one."""
    grain = float(values.max()) * _ROUNDING
    order = np.argsort(values, kind="stable")
    begins = np.concatenate([[True], np.diff(values[order]) > grain])
    place = np.empty(len(values), dtype=np.intp)
    place[order] = np.cumsum(begins) - 1
    count = np.bincount(place)
    return place, np.bincount(place, values) / count, count
