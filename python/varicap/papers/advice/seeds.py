"""What the scales figure concludes, from other seeds: whether its verdicts are those of its own paths alone."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.advice import scales
from varicap.papers.advice.ways import SCALES_S
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report import style
from varicap.statistics import Interval

_OTHER = 4711
"""The first of the other seeds: far from those of the figures, and not chosen by what it gives."""
_POINTS = (("cubic", "none"), ("cubic", "SCONE"), ("ratcp", "SCONE"), ("ratcp", "exact"))
"""Control and advice that the claims of `scales` compare."""


def reproduce(run: Run) -> Outcome:
    """The claims of `scales` from other seeds, beside those from its own."""
    over = run.pick(SCALES_S, (0.1, 10.0))
    # Runs are kept by their scenario, in which a seed from outside is not.
    other = replace(run, seed=(run.seed or 0) + _OTHER, _done={})
    measured = {
        name: {
            (control, way, scale): scales.measure(one, way, control, scale)
            for control, way in _POINTS
            for scale in over
        }
        for name, one in (("as in `scales`", run), ("others", other))
    }
    values = {
        f"{claim}-other-seeds": Value(sim=worst) for claim, worst in scales.judged(measured["others"], over).items()
    }
    found = {
        title: {
            f"{control}, {way}; seeds: {name}": [Interval.of(points[control, way, scale][column]) for scale in over]
            for control, way in _POINTS
            for name, points in measured.items()
        }
        for title, column in (("Goodput over the capacity", "goodput_of_capacity"), (_DELAY, "sojourn_p95_ms"))
    }
    heads = [f"{scale:g}" for scale in over]
    grids = [
        Grid(f"{title}, by seeds", "ms" if title == _DELAY else "1", "mean time at a rate [s]", heads, rows)
        for title, rows in found.items()
    ]
    return Outcome(values, partial(_draw, found, over), grids)


_DELAY = "95th percentile of the time at the link"


def _draw(found: Mapping[str, Mapping[str, list[Interval]]], over: tuple[float, ...]) -> Figure:
    """Both sets of seeds over the time scale: a colour for what is compared, open circles for the other seeds."""
    figure = Figure(figsize=(10.0, 3.8), dpi=120, layout="constrained")
    for axes, (title, rows) in zip(figure.subplots(1, 2), found.items(), strict=True):
        for number, (name, points) in enumerate(rows.items()):
            is_other = number % 2 == 1
            axes.errorbar(
                [scale * (1.1 if is_other else 1.0) for scale in over],
                [one.mean for one in points],
                [(one.hi or one.mean) - one.mean for one in points],
                fmt="o:" if is_other else "o-",
                markersize=4,
                markerfacecolor="none" if is_other else None,
                capsize=2,
                linewidth=0.9,
                color=style.colour(number // 2),
                label=name,
            )
        axes.set_xscale("log")
        axes.set_xlim(over[0] / 1.5, over[-1] * 1.6)
        axes.set_xlabel("mean time at a rate [s]", fontsize=8)
        axes.set_ylabel(f"{title.lower()} [{'ms' if title == _DELAY else '1'}]", fontsize=8)
        style.plain(axes)
    lines, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    return figure
