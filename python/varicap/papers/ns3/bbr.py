"""Example tcp-bbr-example: the window of a flow of BBR, version 1, and how often it is small."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.ns3.series import Series
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_PROBE_RTT = 3.0
"""State of BBR in which it measures the least round-trip time."""


def reproduce(run: Run) -> Outcome:
    """Time from one phase of PROBE_RTT to the next, and the least window."""
    series = Series.of(run.simulate("bbr", {}, seeds=run.pick(10, 6)), "cwnd_bytes", "bbr1_state")
    windows = series.windows()
    values = {
        "B-interval": Value(sim=Interval.of(_intervals(series))),
        "B-window": Value(sim=Interval.of(np.nanmin(windows[:, series.time_s > 1.0], axis=1))),
    }
    rows = {"median of the window": [Interval.of(np.nanmedian(windows, axis=1))]}
    grid = Grid("Window", "segments", "flow", ["BBR"], rows)
    return Outcome(values, partial(_draw, series), [grid])


def _intervals(series: Series) -> Array:
    """Mean time from the beginning of a phase to that of the next in each replication [s]."""
    means = []
    for states in series.columns["bbr1_state"]:
        probes = states == _PROBE_RTT
        begins = series.time_s[1:][probes[1:] & ~probes[:-1]]
        means.append(float(np.diff(begins).mean()))
    return np.array(means)


def _draw(series: Series) -> Figure:
    line = Curve("BBR", list(series.time_s), list(series.windows()[0]), 0, "model")
    return curves("BBR over 10 Mb/s and 40 ms", [line], Axis("time [s]"), Axis("cwnd [segments]"))
