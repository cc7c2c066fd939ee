"""What advice gains against the time scale of the capacity, by control and by the kind of advice."""

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
                result = varying(run, way, control, scale)
                names = {"flows": "a", "links": "forward"}
                measured[control, way, scale] = {
                    column: samples(getattr(result, table), names[table], column) for column, table in _COLUMNS.items()
                }
    fast = [scale for scale in scales if scale < _SLOWEST_S]

    def delay(control: str, way: str, scale: float) -> Array:
        return measured[control, way, scale]["sojourn_p95_ms"]

    values = {
        # Who has nothing but advice, and who has a congestion control as well.
        "S3.1-substitute": Value(
            sim=least(
                measured["cubic", "none", scale]["goodput_of_capacity"]
                - measured["ratcp", "SCONE", scale]["goodput_of_capacity"]
                for scale in fast
            )
        ),
        "S3.1-quicker": Value(
            sim=least(
                measured["ratcp", "exact", scale]["goodput_of_capacity"]
                - measured["ratcp", "SCONE", scale]["goodput_of_capacity"]
                for scale in fast
            )
        ),
        "S3.1-complementary": Value(
            sim=least(ratio(delay("cubic", "none", scale), delay("cubic", "SCONE", scale)) for scale in fast)
        ),
    }
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
