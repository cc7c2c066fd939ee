"""High thresholds from 2 to 17 above a low one of 1, from 20 kb/s on: what Figs. 8 and 9 plot."""

from itertools import pairwise

import numpy as np

from varicap.papers.lrl.link import Measured, Series, Setting, Unit, interval, measure
from varicap.papers.run import Grid, Run
from varicap.papers.worst import least
from varicap.statistics import Array, Interval

HIGHS = (2, 4, 8, 12, 16, 17)
"""[kB or packets]"""


def sweep(run: Run, unit: Unit) -> dict[int, Measured]:
    """The results for each high threshold."""
    return {high: measure(run, Setting(1, high, 20, unit)) for high in HIGHS}


def first_openings(runs: dict[int, Measured]) -> Interval:
    """How much longer each threshold takes than the one before until capacity is allocated, at least [s]."""
    times = [runs[high].forward.opens_at(20.0) for high in HIGHS]
    return least([later - earlier for earlier, later in pairwise(times)])


def stay_after_fall(series: Series, c0: float) -> Array:
    """How long the capacity stays at `c0` after it first fell back to that [s], 0 if it never does, shape (runs,)."""
    above = series.capacity > c0 + 1e-6
    falls = np.cumsum(above[:, :-1] & ~above[:, 1:], axis=1)
    return np.asarray(((falls == 1) & ~above[:, 1:]).sum(axis=1) * 0.1)


def grid(title: str, runs: dict[int, Measured]) -> Grid:
    """Throughput, openings and closures."""
    rows = {
        "throughput [kb/s]": [interval(at.throughput) for at in runs.values()],
        "opens at [s]": [interval(at.forward.opens_at(20.0)) for at in runs.values()],
        "closures": [interval(at.forward.closures(20.0)) for at in runs.values()],
        "share of time at c0": [interval(_share(at)) for at in runs.values()],
    }
    return Grid(title, "", "high threshold", [str(high) for high in runs], rows)


def _share(measured: Measured) -> Array:
    return np.asarray((measured.forward.capacity < 20.0 + 1e-6).mean(axis=1))
