"""Fig. 5: throughput against the initial capacity, with thresholds in bytes."""

from functools import partial
from itertools import pairwise

from matplotlib.figure import Figure

from varicap.papers.lrl.curves import C0, LOWS, OTHER_LOWS, by_c0
from varicap.papers.lrl.link import Measured, Values, interval, judged, under
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.worst import farthest, least, most
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_HIGHS = (2, 3, 9)  # [kB], above a low threshold of 1, where the curves have 5
_BELOW_KNEE = [c0 for c0 in C0 if 0 < c0 < 50]


def reproduce(run: Run) -> Outcome:
    """A curve for each low threshold."""
    measured = {low: by_c0(run, "bytes", low) for low in LOWS}
    ours = {low: measured_throughput(curve) for low, curve in measured.items()}
    others = {high: measured_throughput(by_c0(run, "bytes", 1, high)) for high in _HIGHS}
    excess = [
        at.link("reverse", "capacity_max_bps") / 1e3 - c0 for curve in measured.values() for c0, at in curve.items()
    ]
    readings = {f"low {low} kB, high {low + 4} kB": _rise(run, low) for low in OTHER_LOWS}
    values: Values = {
        **_of_rise(ours),
        "F5d": farthest([others[high][c0] / ours[1][c0] for high in (2, 3) for c0 in C0[1:]]),
        "F5d-high9000": farthest([others[9][c0] / ours[1][c0] for c0 in C0[1:]]),
        "F6e": most(excess),
    }
    rows = {f"low {low} kB, high {low + 4} kB": [interval(at) for at in ours[low].values()] for low in LOWS}
    rows |= {f"low 1 kB, high {high} kB": [interval(at) for at in curve.values()] for high, curve in others.items()}
    grid = Grid("Fig. 5 in numbers: throughput", "kb/s", "c0 [kb/s]", [f"{c0:g}" for c0 in C0], rows)
    return Outcome(judged(values), partial(draw, "Fig. 5: thresholds in bytes", rows), [grid], under(readings))


def _rise(run: Run, low: int) -> Values:
    return _of_rise({low: measured_throughput(by_c0(run, "bytes", low))})


def _of_rise(ours: dict[int, dict[float, Array]]) -> Values:
    """What is said of every curve, whatever its low threshold."""
    best = {low: max(curve.values(), key=lambda at: float(at.mean())) for low, curve in ours.items()}
    return {
        "F5a": least([curve[later] / curve[c0] for curve in ours.values() for c0, later in pairwise(C0[1:])]),
        "F5b": most([curve[0] / curve[50] for curve in ours.values()]),
        "F5b-low": most([curve[10] / curve[50] for curve in ours.values()]),
        "F5c-knee": least([curve[50] / curve[c0] for curve in ours.values() for c0 in C0[1:]]),
        "F5c-below": most([curve[c0] / best[low] for low, curve in ours.items() for c0 in _BELOW_KNEE]),
    }


def draw(title: str, rows: dict[str, list[Interval]]) -> Figure:
    """Draw throughput against c0."""
    lines = [Curve(name, C0, row, colour) for colour, (name, row) in enumerate(rows.items())]
    return curves(title, lines, Axis("initial capacity c0 [kb/s]"), Axis("throughput [kb/s]"))


def measured_throughput(curve: dict[float, Measured]) -> dict[float, Array]:
    """The throughput of each point [kb/s]."""
    return {c0: at.throughput for c0, at in curve.items()}
