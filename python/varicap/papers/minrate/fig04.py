"""Fig. 4: deeper token buckets, with one-way and two-way traffic."""

from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import ONE_WAY, TWO_WAY, interval, measure, queues, senders
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_DEPTHS = (50, 100, 200, 400, 800)
"""[ms]"""
_UNIFORM = queues('{ ered = { spacing = "uniform" } }')


def reproduce(run: Run) -> Outcome:
    """Compliant throughput of the 4 Mb/s flow for each depth; two-way also with RED's other law of spacing."""
    one_way = {depth: _compliant(run, depth, ONE_WAY) for depth in _DEPTHS}
    two_way = {depth: _compliant(run, depth, TWO_WAY) for depth in _DEPTHS}
    spaced = run.pick(_DEPTHS, (100, 400))
    uniform = {depth: _compliant(run, depth, TWO_WAY, _UNIFORM) for depth in spaced}
    gains = [one_way[after].mean() - one_way[before].mean() for before, after in pairwise(_DEPTHS[:4])]
    values = {
        "F4a-50": interval(one_way[50] / 4),
        "F4a-deeper": Interval(float(min(gains))),
        "F4a-400": interval(one_way[400] / 4),
        "F4a-800": interval(one_way[800] / 4),
        "F4b": interval(_best(two_way)),
        "F4b-spacing": interval(_best(uniform)),
    }
    shown = {"one-way": one_way, "two-way": two_way, "two-way, drops spaced uniformly": uniform}
    rows = {name: [interval(shown[name][depth]) for depth in _DEPTHS] for name in ("one-way", "two-way")}
    columns = [str(depth) for depth in _DEPTHS]
    grid = Grid("Fig. 4: compliant throughput of the 4 Mb/s flow", "Mb/s", "depth [ms]", columns, rows)
    return Outcome({key: Value(sim=value) for key, value in values.items()}, partial(_draw, shown), [grid])


def _compliant(run: Run, depth: int, flows: tuple[str, ...], changes: dict[str, str] | None = None) -> Array:
    return measure(run, senders("plain", bucket=f"{depth} ms") | (changes or {}), flows).compliant("r4")


def _best(by_depth: dict[int, Array]) -> Array:
    """The depth with the largest mean, in each run."""
    return max(by_depth.values(), key=np.mean)


def _draw(shown: dict[str, dict[int, Array]]) -> Figure:
    lines = [
        Curve(name, list(by_depth), [interval(one) for one in by_depth.values()], colour)
        for colour, (name, by_depth) in enumerate(shown.items())
    ]
    title = "Fig. 4: compliant throughput of the 4 Mb/s flow"
    return curves(title, lines, Axis("depth of the token bucket [ms]", "log"), Axis("compliant throughput [Mb/s]"))
