"""Fig. 9: coarser timers with deeper buckets, in buffers of 80 and 160 kB."""

from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import Measured, interval, measure, queues, senders
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

INTERVALS = (20, 50, 100, 200, 400, 600, 800)
"""[ms]"""
_BUFFERS = (80, 160)
"""[packets]"""
_SHARE = 0.97
"""Of its reservation: what a flow has at least that gets it."""


def coarse(run: Run, buffer: int, timer: int, *, recovery: str = "reno", seeds: int | None = None) -> Measured:
    """A timer of this interval [ms], and a bucket 30 ms deeper."""
    changes = senders("windowed", bucket=f"{timer + 30} ms", timer=f"{timer} ms", recovery=recovery)
    return measure(run, changes | queues(f'{{ ered = {{ limit = "{buffer} packets" }} }}'), seeds=seeds)


def reproduce(run: Run) -> Outcome:
    """Throughput of the 4 Mb/s flow for each interval and buffer."""
    intervals = run.pick(INTERVALS, (20, 200, 400, 800))
    found = {buffer: {timer: coarse(run, buffer, timer) for timer in intervals} for buffer in _BUFFERS}
    total = {buffer: {timer: one.throughput("r4") for timer, one in row.items()} for buffer, row in found.items()}
    small, large = total[80], total[160]
    values = {
        "F9a": interval(ratio(small[800], small[20])),
        "F9a-falls": most(small[after] - small[before] for before, after in pairwise(intervals)),
        "F9b": interval(_reach(large) - _reach(small)),
        "F9b-more": least(large[timer] - small[timer] for timer in intervals),
    }
    rows = {f"{buffer} kB": [interval(one.timeouts("r4")) for one in row.values()] for buffer, row in found.items()}
    grid = Grid("Fig. 9: timeouts of the 4 Mb/s flow", "", "interval [ms]", [str(one) for one in intervals], rows)
    curves_of = {f"{buffer} kB": [interval(one) for one in row.values()] for buffer, row in total.items()}
    of_claims = {key: Value(sim=value) for key, value in values.items()}
    points = dict.fromkeys(("F9a-falls", "F9b-more"), f"timers of {', '.join(map(str, intervals))} ms")
    return Outcome(of_claims, partial(_draw, intervals, curves_of), [grid], points=points)


def _reach(total: dict[int, Array]) -> Array:
    """The longest interval up to which the flow gets its share at each [ms], in each run; 0 if none."""
    met = np.logical_and.accumulate([one >= _SHARE * 4 for one in total.values()], axis=0)
    return np.asarray(np.where(met, np.array(list(total))[:, None], 0).max(axis=0), dtype=np.float64)


def _draw(intervals: tuple[int, ...], rows: dict[str, list[Interval]]) -> Figure:
    lines = [Curve(f"buffers of {name}", intervals, row, colour) for colour, (name, row) in enumerate(rows.items())]
    lines.append(Curve("reservation", intervals, [4.0] * len(intervals), 6, "model"))
    title = "Fig. 9: throughput of the 4 Mb/s flow, bucket of the interval and 30 ms"
    return curves(title, lines, Axis("interval of the timer [ms]", "log"), Axis("throughput [Mb/s]"))
