"""How often Reno falls into a loop of timeouts: the burst of RWND + 1 after each timeout overflows the queue again."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.fig07 import AVERAGE
from varicap.papers.minrate.fig09 import coarse
from varicap.papers.minrate.network import Measured, measure, senders
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report import style
from varicap.statistics import Array, Interval

_RECOVERIES = ("reno", "newreno", "sack")
_SETTINGS = (
    "Fig. 7, best round trip",
    "Fig. 7, average round trip",
    "Fig. 9, 20 ms in 80 kB",
    "Fig. 9, 20 ms in 160 kB",
)
_MET = 0.95
"""The share of a reservation from which on the compliant throughput meets it."""


def reproduce(run: Run) -> Outcome:
    """In how many runs the 4 Mb/s flow misses its reservation, for each recovery and setting."""
    recoveries = run.pick(_RECOVERIES, ("reno", "sack"))
    found = {name: {recovery: _run(run, name, recovery) for recovery in recoveries} for name in _SETTINGS}
    missed = {name: {key: _share(one.compliant("r4") / 4) for key, one in row.items()} for name, row in found.items()}
    values = {
        "FR-reno": missed["Fig. 7, average round trip"]["reno"],
        "FR-small": missed["Fig. 9, 20 ms in 80 kB"]["reno"],
    }
    columns = [f"{recovery}: {what}" for recovery in recoveries for what in ("missed", "timeouts / min")]
    rows = {
        name: [value for key in recoveries for value in (missed[name][key], _timeouts(row[key]))]
        for name, row in found.items()
    }
    grid = Grid("Runs in which the 4 Mb/s flow misses its reservation by 5 % and more", "", "recovery", columns, rows)
    scatter = {name: {key: one.compliant("r4") / 4 for key, one in row.items()} for name, row in found.items()}
    return Outcome({key: Value(sim=value) for key, value in values.items()}, partial(_draw, scatter), [grid])


def _run(run: Run, name: str, recovery: str) -> Measured:
    seeds = run.pick(20, 3)
    if name.startswith("Fig. 9"):
        return coarse(run, 160 if "160" in name else 80, 20, recovery=recovery, seeds=seeds)
    window = AVERAGE if "average" in name else "rate-adaptive-window"
    return measure(run, senders("windowed", window=window, recovery=recovery), seeds=seeds)


def _share(ratios: Array) -> Interval:
    return Interval.share(ratios < _MET)


def _timeouts(found: Measured) -> Interval:
    return Interval.of(found.timeouts("r4") * 60 / float(found.result.summary["measured_s"]))


def _draw(scatter: dict[str, dict[str, Array]]) -> Figure:
    figure = Figure(figsize=(7.0, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    style.plain(axes)
    for colour, recovery in enumerate(next(iter(scatter.values()))):
        for place, row in enumerate(scatter.values()):
            runs = row[recovery]
            at = place + 0.22 * (colour - 1) + np.linspace(-0.08, 0.08, runs.size)
            name = recovery if place == 0 else None
            axes.plot(at, np.sort(runs), ".", color=style.colour(colour), markersize=4, label=name)
    axes.set_xticks(range(len(scatter)), [name.replace(", ", "\n") for name in scatter])
    axes.set_xlim(-0.5, len(scatter) - 0.5)
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("compliant throughput / reservation", fontsize=9)
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    figure.suptitle("The 4 Mb/s flow in each of many runs", fontsize=10)
    return figure
