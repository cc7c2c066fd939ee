"""Fig. 4: deeper token buckets, with one-way and two-way traffic."""

from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import LINKS, ONE_WAY, TWO_WAY, interval, measure, queues, senders
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array

_DEPTHS = (50, 100, 200, 400, 800)
"""[ms]"""
_LARGE = (400, 800)
"""What the paper calls very large [ms]."""
_NEXT = 200
"""The largest of the others [ms]."""
_UNIFORM = queues('{ ered = { spacing = "uniform" } }')


def reproduce(run: Run) -> Outcome:
    """Compliant throughput of the 4 Mb/s flow for each depth; two-way also with RED's other law of spacing."""
    one_way = {depth: _compliant(run, depth, ONE_WAY) for depth in _DEPTHS}
    two_way = {depth: _compliant(run, depth, TWO_WAY) for depth in _DEPTHS}
    spaced = run.pick(_DEPTHS, (100, 400))
    uniform = {depth: _compliant(run, depth, TWO_WAY, _UNIFORM) for depth in spaced}
    gains = [one_way[after] - one_way[before] for before, after in pairwise(_DEPTHS[:4])]
    values = {f"F4a-{depth}": interval(one / 4) for depth, one in one_way.items()}
    values |= {
        "F4a-deeper": least(gains),
        "F4b": most(two_way.values()),
        "F4b-large": most(two_way[depth] - two_way[_NEXT] for depth in _LARGE),
        "F4b-marked": interval(_marked(run, TWO_WAY) - _marked(run, ONE_WAY)),
        "F4b-spacing": most(uniform.values()),
    }
    shown = {"one-way": one_way, "two-way": two_way, "two-way, drops spaced uniformly": uniform}
    rows = {name: [interval(shown[name][depth]) for depth in _DEPTHS] for name in ("one-way", "two-way")}
    columns = [str(depth) for depth in _DEPTHS]
    grid = Grid("Fig. 4: compliant throughput of the 4 Mb/s flow", "Mb/s", "depth [ms]", columns, rows)
    of_claims = {key: Value(sim=value) for key, value in values.items()}
    return Outcome(of_claims, partial(_draw, shown), [grid])


def _compliant(run: Run, depth: int, flows: tuple[str, ...], changes: dict[str, str] | None = None) -> Array:
    return measure(run, senders("plain", bucket=f"{depth} ms") | (changes or {}), flows).compliant("r4")


def _marked(run: Run, flows: tuple[str, ...]) -> Array:
    """Marked packets that are lost with a bucket of 400 ms, at any link, in each run."""
    found = measure(run, senders("plain", bucket="400 ms"), flows)
    return np.asarray(sum((found.link(link, "dropped_reserved_packets") for link in LINKS), np.zeros(())))


def _draw(shown: dict[str, dict[int, Array]]) -> Figure:
    lines = [
        Curve(name, list(by_depth), [interval(one) for one in by_depth.values()], colour)
        for colour, (name, by_depth) in enumerate(shown.items())
    ]
    title = "Fig. 4: compliant throughput of the 4 Mb/s flow"
    return curves(title, lines, Axis("depth of the token bucket [ms]", "log"), Axis("compliant throughput [Mb/s]"))
