"""Fig. 5: throughput against the initial capacity, with thresholds in bytes."""

from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.lrl.curves import C0, LOWS, by_c0
from varicap.papers.lrl.link import Measured, interval
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_PAPERS = (1, 2)  # low thresholds of the claims; 4 is shown in addition


def reproduce(run: Run) -> Outcome:
    """A curve for each low threshold."""
    measured = {low: by_c0(run, "bytes", low) for low in LOWS}
    ours = {low: {c0: at.throughput for c0, at in curve.items()} for low, curve in measured.items()}
    others = {high: {c0: at.throughput for c0, at in by_c0(run, "bytes", 1, high).items()} for high in (2, 3, 9)}
    growth = [ours[low][later] / ours[low][c0] for low in _PAPERS for c0, later in pairwise(C0[1:8])]
    best = {low: np.max([value.mean() for value in ours[low].values()]) for low in _PAPERS}
    excess = [
        at.link("reverse", "capacity_max_bps") / 1e3 - c0 for curve in measured.values() for c0, at in curve.items()
    ]
    values = {
        "F5a": least(growth),
        "F5b": most([ours[low][0] / ours[low][50] for low in LOWS]),
        "F5b-low": most([ours[low][10] / ours[low][50] for low in _PAPERS]),
        "F5c-knee": least([ours[low][50] / best[low] for low in _PAPERS]),
        "F5c-below": most([ours[low][30] / ours[low][50] for low in _PAPERS]),
        "F5d": most([_deviation(others[high], ours[1]) for high in (2, 3)]),
        "F5d-high9000": _deviation(others[9], ours[1]),
        "F6e": most(excess),
        "F6f": measured[1][100].link("reverse", "utilisation"),
    }
    rows = {f"low {low} kB, high {low + 4} kB": [interval(at) for at in ours[low].values()] for low in LOWS}
    rows |= {f"low 1 kB, high {high} kB": [interval(at) for at in curve.values()] for high, curve in others.items()}
    grid = Grid("Fig. 5 in numbers: throughput", "kb/s", "c0 [kb/s]", [f"{c0:g}" for c0 in C0], rows)
    of_claims = {key: Value(sim=interval(value)) for key, value in values.items()}
    return Outcome(of_claims, partial(draw, "Fig. 5: thresholds in bytes", rows), [grid])


def least(rows: list[Array]) -> Array:
    """Of several ratios, the one whose mean over the runs is least."""
    return min(rows, key=lambda row: float(row.mean()))


def most(rows: list[Array]) -> Array:
    """Of several ratios, the one whose mean over the runs is greatest."""
    return max(rows, key=lambda row: float(row.mean()))


def _deviation(curve: dict[float, Array], other: dict[float, Array]) -> Array:
    """The maximum distance of two curves, relative to the second."""
    return most([np.abs(curve[c0].mean() / other[c0].mean() - 1.0)[None] for c0 in (10.0, 20.0, 30.0, 50.0, 100.0)])


def draw(title: str, rows: dict[str, list[Interval]]) -> Figure:
    """Draw throughput against c0."""
    lines = [Curve(name, C0, row, colour) for colour, (name, row) in enumerate(rows.items())]
    return curves(title, lines, Axis("initial capacity c0 [kb/s]"), Axis("throughput [kb/s]"))


def measured_throughput(curve: dict[float, Measured]) -> dict[float, Array]:
    """The throughput of each point [kb/s]."""
    return {c0: at.throughput for c0, at in curve.items()}
