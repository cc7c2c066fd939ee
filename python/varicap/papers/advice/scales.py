"""What advice gains against the time scale of the capacity, by control and by the kind of advice."""

from collections.abc import Iterable
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.advice.ways import CONTROLS, SCALES_S, WAYS, varying
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report import style
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_COLUMNS = {"goodput_of_capacity": "flows", "sojourn_p95_ms": "links", "loss_ratio": "links"}
_TITLES = {
    "goodput_of_capacity": ("Goodput over the capacity", "1"),
    "sojourn_p95_ms": ("95th percentile of the time at the link", "ms"),
    "loss_ratio": ("Lost packets", "1"),
}
_SLOWEST_S = 67.0

Measured = dict[tuple[str, str, float], dict[str, Array]]


def reproduce(run: Run) -> Outcome:
    """Goodput, delay and losses over time scales, and whether advice takes the place of a congestion control."""
    scales = run.pick(SCALES_S, (0.1, 10.0))
    measured: Measured = {}
    for control in CONTROLS:
        for way in WAYS:
            # RATCP has to be told.
            if control == "ratcp" and way == "none":
                continue
            for scale in scales:
                measured[control, way, scale] = measure(run, way, control, scale)
    values = {name: Value(sim=worst) for name, worst in judged(measured, scales).items()}
    grids = [
        Grid(
            f"{_TITLES[column][0]}: {control}",
            _TITLES[column][1],
            "mean time at a rate [s]",
            [f"{scale:g}" for scale in scales],
            {
                way: [Interval.of(measured[control, way, scale][column]) for scale in scales]
                for way in WAYS
                if (control, way, scales[0]) in measured
            },
        )
        for control in CONTROLS
        for column in _COLUMNS
    ]
    return Outcome(values, partial(_draw, measured, scales), grids)


def measure(run: Run, way: str, control: str, scale: float) -> dict[str, Array]:
    """Goodput, delay and losses, by column, a value for each run."""
    result = varying(run, way, control, scale)
    names = {"flows": "a", "links": "forward"}
    return {column: samples(getattr(result, table), names[table], column) for column, table in _COLUMNS.items()}


def judged(measured: Measured, scales: Iterable[float]) -> dict[str, Interval]:
    """Whether advice takes the place of a congestion control, by claim, over the time scales below the period."""
    fast = [scale for scale in scales if scale < _SLOWEST_S]

    def goodput(control: str, way: str, scale: float) -> Array:
        return measured[control, way, scale]["goodput_of_capacity"]

    def delay(way: str, scale: float) -> Array:
        return measured["cubic", way, scale]["sojourn_p95_ms"]

    return {
        # Who has nothing but advice, and who has a congestion control as well.
        "S3.1-substitute": least(goodput("cubic", "none", each) - goodput("ratcp", "SCONE", each) for each in fast),
        "S3.1-quicker": least(goodput("ratcp", "exact", each) - goodput("ratcp", "SCONE", each) for each in fast),
        "S3.1-complementary": least(ratio(delay("none", each), delay("SCONE", each)) for each in fast),
    }


def _draw(measured: Measured, scales: tuple[float, ...]) -> Figure:
    """Goodput and delay against the time scale over the time from one advice to the next (25 s)."""
    figure = Figure(figsize=(11.0, 6.0), dpi=120, layout="constrained")
    panels = figure.subplots(2, len(CONTROLS), sharex=True)
    for place, control in enumerate(CONTROLS):
        for row, column in enumerate(("goodput_of_capacity", "sojourn_p95_ms")):
            axes = panels[row, place]
            for number, way in enumerate(WAYS):
                if (control, way, scales[0]) not in measured:
                    continue
                found = [Interval.of(measured[control, way, scale][column]) for scale in scales]
                errors = np.array([[one.mean - (one.lo or 0.0), (one.hi or 0.0) - one.mean] for one in found]).T
                axes.errorbar(
                    [25.0 / scale for scale in scales],
                    [one.mean for one in found],
                    np.maximum(errors, 0.0),
                    fmt="o-",
                    markersize=3,
                    capsize=2,
                    linewidth=0.9,
                    color=style.colour(number),
                    label=way,
                )
            axes.set_xscale("log")
            style.plain(axes)
            axes.set_title(control, fontsize=9)
            axes.set_ylabel(f"{_TITLES[column][0].lower()} [{_TITLES[column][1]}]", fontsize=8)
            if row == 1:
                axes.set_yscale("log")
                axes.set_xlabel("25 s / mean time at a rate", fontsize=8)
    lines, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), fontsize=8, frameon=False)
    return figure
