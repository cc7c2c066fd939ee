"""Traces as a figure, and their numbers as a table."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from varicap.report.table import significant
from varicap.traces import Delays, Info, Losses, Trace, bins
from varicap.traces.trace import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PARTS = 50
"""Of an interval, in which a figure looks for losses."""
_POINTS = 600
"""Intervals that a figure shows, if nobody says how long they are."""


def figure(traces: Mapping[str, Trace], step_s: float | None = None) -> "Figure":
    """Rates over time and how they are distributed, of all traces over each other; delays and losses below."""
    from matplotlib.figure import Figure

    from varicap.report import style

    longest = max(trace.duration_s for trace in traces.values())
    step = step_s if step_s is not None else max(0.1, longest / _POINTS)
    courses: list[tuple[str, dict[str, Delays | Losses]]] = [
        ("one-way delay [ms]", {name: trace.delay for name, trace in traces.items() if trace.delay is not None}),
        ("loss [%]", {name: trace.loss for name, trace in traces.items() if trace.loss is not None}),
    ]
    courses = [(label, of) for label, of in courses if of]
    rows = 1 + len(courses)
    drawn = Figure(figsize=(11, 0.8 + 2.6 * rows), dpi=120, layout="constrained")
    grid = drawn.subplots(rows, 2, squeeze=False, width_ratios=(4, 1), sharey="row")
    for axes in grid.ravel():
        style.plain(axes)
    for number, (name, trace) in enumerate(traces.items()):
        edges, rates = bins(trace, min(step, trace.duration_s))
        colour = style.colour(number)
        grid[0, 0].stairs(rates / 1e6, edges, baseline=None, color=colour, linewidth=0.9, label=style.literal(name))
        _distribution(grid[0, 1], rates / 1e6, colour)
        for row, (_, of) in enumerate(courses, 1):
            if name in of:
                found = _values(of[name], edges)
                grid[row, 0].stairs(found, edges, baseline=None, color=colour, linewidth=0.9)
                _distribution(grid[row, 1], found, colour)
    grid[0, 0].set_ylabel(f"capacity [Mb/s], means of {step:.3g} s", fontsize=8)
    grid[0, 0].set_ylim(bottom=0)
    grid[0, 0].legend(fontsize=7, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=4)
    for row, (label, _) in enumerate(courses, 1):
        grid[row, 0].set_ylabel(label, fontsize=8)
    grid[-1, 0].set_xlabel("time [s]", fontsize=8)
    grid[-1, 1].set_xlabel("share of time below", fontsize=8)
    return drawn


def _values(course: Delays | Losses, edges: Array) -> Array:
    """A value for each interval: the delay in its middle, the mean of losses, since bursts are shorter."""
    if isinstance(course, Delays):
        return course.at((edges[:-1] + edges[1:]) / 2)
    finer = np.linspace(edges[:-1], edges[1:], 2 * _PARTS + 1)[1::2]
    return np.asarray(100 * course.at(finer).mean(axis=0))


def _distribution(axes: "Axes", values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", colour: str) -> None:
    ordered = np.sort(values)
    axes.plot(np.arange(1, len(ordered) + 1) / len(ordered), ordered, color=colour, linewidth=0.9)
    axes.set_xlim(0, 1)


def table(infos: Mapping[str, Info]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: a column for each trace."""
    found = list(infos.values())
    rows: list[list[str]] = [
        ["kind", *(f"{info.values} {info.kind}" for info in found)],
        ["duration [s]", *(f"{info.duration_s:g}" for info in found)],
        ["mean [Mb/s]", *(_mega(info.mean_bps) for info in found)],
    ]
    for share in found[0].quantiles_bps:
        name = _SHARES.get(share, f"{share.removeprefix('p')} %")
        rows.append([f"{name} [Mb/s]", *(_mega(info.quantiles_bps[share]) for info in found)])
    rows += [
        *(
            [f"variation over {scale} s", *(_number(info.variation.get(scale)) for info in found)]
            for scale in dict.fromkeys(scale for info in found for scale in info.variation)
        ),
        ["correlation time [s]", *(_number(info.correlation_s) for info in found)],
        [f"outages of {found[0].outages.least_s:g} s or longer", *(str(info.outages.count) for info in found)],
        ["  together [s]", *(_number(info.outages.total_s) for info in found)],
        ["  longest [s]", *(_number(info.outages.longest_s) for info in found)],
    ]
    if any(info.delay_ms for info in found):
        rows += [
            [f"{key} delay [ms]", *(_number((info.delay_ms or {}).get(key)) for info in found)]
            for key in ("least", "mean", "greatest")
        ]
    if any(info.loss for info in found):
        rows += [
            [f"{says} [%]", *(_percent((info.loss or {}).get(key)) for info in found)]
            for key, says in (
                ("mean", "mean loss"),
                ("greatest", "greatest loss"),
                ("share_of_time", "time with losses"),
            )
        ]
    if any(info.understood and info.understood.quality for info in found):
        rows += [[says, *(_quality(info, key) for info in found)] for key, says in _QUALITY.items()]
    return ["", *infos], rows


def parts(infos: Mapping[str, Info], columns: int = 4) -> Sequence[Mapping[str, Info]]:
    """A few traces at a time, as many as a table has room for."""
    names = list(infos)
    return [{name: infos[name] for name in names[begin : begin + columns]} for begin in range(0, len(names), columns)]


def _quality(info: Info, key: str) -> str:
    quality = info.understood.quality if info.understood else {}
    value = quality.get(key)
    if value is None:
        return "–"
    if key == "zero_share":
        return _percent(value)
    return str(value) if isinstance(value, int) else significant(value, 3)


_QUALITY = {
    "step_s": "usual row [s]",
    "irregular": "irregular rows",
    "gaps": "gaps",
    "longest_gap_s": "  longest [s]",
    "duplicates": "duplicate instants",
    "backward": "steps back",
    "missing": "rows without a value",
    "unreadable": "unreadable rows",
    "absurd": "absurd rates",
    "zero_share": "time at zero [%]",
}
_SHARES = {"p0": "least", "p50": "median", "p100": "greatest"}


def _mega(value: float) -> str:
    return significant(value / 1e6, 3)


def _percent(value: float | None) -> str:
    return _number(None if value is None else 100 * value)


def _number(value: float | None) -> str:
    return "–" if value is None else significant(value, 3)
