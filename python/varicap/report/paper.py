"""Plots of a paper's tables and figures, made again: ours with intervals, the paper's values where it gives them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from varicap.report import style
from varicap.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_SCALE = 0.05  # relative distance from the paper at which the colours end, or the largest one shown
_LETTER_IN = 0.1  # width of a letter of a group's name, with some room [inches]
_FEWEST = 5  # points that a line may join: through fewer it would look like a curve that somebody measured


@dataclass(frozen=True)
class Curve:
    """Values over x: a line of the model's, a line or points with intervals of the simulator's, the paper's points."""

    name: str
    x: Sequence[float]
    y: Sequence[float | Interval]
    colour: int
    kind: Literal["sim", "points", "model", "paper"] = "sim"


@dataclass(frozen=True)
class Axis:
    """What an axis shows."""

    label: str
    scale: Literal["linear", "log"] = "linear"
    names: Sequence[str] | None = None
    """Names of x = 0, 1, 2, …"""
    start: float | None = None
    """Least value shown."""


def curves(title: str, lines: Sequence[Curve], x: Axis, y: Axis) -> Figure:
    """Curves over x."""
    figure, axes = _figure(title, 7.0, 4.4)
    for line in lines:
        _curve(axes, line)
    _scale(axes, x, y)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def bars(title: str, groups: Sequence[str], values: Sequence[tuple[str, Sequence[Interval]]], label: str) -> Figure:
    """Bars with intervals side by side, a group for each name."""
    longest = max(len(line) for group in groups for line in group.split("\n"))
    figure, axes = _figure(title, max(7.0, _LETTER_IN * longest * len(groups)), 4.0)
    width = 0.8 / len(values)
    for number, (name, of_name) in enumerate(values):
        at = np.arange(len(groups)) + (number - (len(values) - 1) / 2) * width
        means = [value.mean for value in of_name]
        axes.bar(at, means, width * 0.92, color=style.colour(number), label=name, yerr=_errors(of_name), capsize=3)
    axes.set_xticks(np.arange(len(groups)), groups)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(label, fontsize=9)
    axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(values))
    return figure


def tradeoffs(
    title: str, panels: Sequence[tuple[str, Sequence[tuple[str, Interval, Interval]]]], x: str, y: str
) -> Figure:
    """Points with intervals in both directions, each with its name; a panel for each setting."""
    figure = Figure(figsize=(4.2 * len(panels), 4.0), dpi=120, layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (name, points) in zip(all_axes, panels, strict=True):
        style.plain(axes)
        for number, (label, across, up) in enumerate(points):
            axes.errorbar(
                [across.mean],
                [up.mean],
                xerr=_errors([across]),
                yerr=_errors([up]),
                fmt="o",
                color=style.colour(number),
                capsize=2,
                label=label,
            )
        axes.margins(x=0.08)
        axes.set_ylim(0.0, 1.0)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel(x, fontsize=9)
    all_axes[0].set_xlim(left=0.0)  # of all panels, once all points are in
    all_axes[0].set_ylabel(y, fontsize=9)
    all_axes[-1].legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.suptitle(title, fontsize=10)
    return figure


def distances(
    title: str,
    rows: Sequence[tuple[str, Sequence[float | Interval]]],
    columns: Sequence[str],
    label: str,
    marks: Sequence[Sequence[str]] | None = None,
) -> Figure:
    """How far each cell of a table lies from the paper's, as a share of it, with a mark for each cell if there are any.

    The colours reach as far as the farthest cell.
    """
    figure, axes = _figure(title, 8.6, 0.9 + 0.36 * len(rows))
    values = np.array([[one.mean if isinstance(one, Interval) else one for one in row] for _, row in rows])
    worst = max(_LEAST_SCALE, float(abs(values).max()))
    image = axes.imshow(values, cmap="RdBu", vmin=-worst, vmax=worst, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        pale = abs(value) < 0.6 * worst
        text = _percentage(rows[row][1][column]) + (marks[row][column] if marks is not None else "")
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color="k" if pale else "w")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.grid(visible=False)
    axes.set_xlabel(label, fontsize=9)
    bar = figure.colorbar(image, ax=axes, pad=0.01)
    bar.set_label("ours against the paper's", fontsize=8)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:+.0%}")
    bar.ax.tick_params(labelsize=7)
    return figure


def _percentage(value: float | Interval) -> str:
    """A share as text, with how far its interval reaches.

    >>> _percentage(Interval(0.1, 0.08, 0.12)), _percentage(-0.001)
    ('+10.0 ± 2.0 %', '-0.1 %')
    """
    if not isinstance(value, Interval):
        return f"{100 * value:+.1f} %"
    if value.lo is None or value.hi is None:
        return f"{100 * value.mean:+.1f} %"
    return f"{100 * value.mean:+.1f} ± {100 * value.reach:.1f} %"


def _figure(title: str, width: float, height: float) -> "tuple[Figure, Axes]":
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = figure.subplots()
    style.plain(axes)
    figure.suptitle(title, fontsize=10)
    return figure, axes


def _curve(axes: "Axes", line: Curve) -> None:
    colour = style.colour(line.colour)
    means = [value.mean if isinstance(value, Interval) else value for value in line.y]
    if line.kind == "paper":
        axes.plot(line.x, means, "o", color=colour, markerfacecolor="white", markersize=5, label=line.name, zorder=3)
    elif line.kind == "model":
        axes.plot(line.x, means, "--", color=colour, linewidth=1.1, label=line.name)
    else:
        of_sim = [value if isinstance(value, Interval) else Interval(value) for value in line.y]
        joined = line.kind == "sim" and len(line.x) >= _FEWEST
        axes.errorbar(
            line.x,
            means,
            yerr=_errors(of_sim),
            color=colour,
            linestyle="-" if joined else "none",
            linewidth=0.8,
            marker=".",
            markersize=4 if joined else 8,
            elinewidth=1.4,
            capsize=3,
            label=line.name,
        )


def _errors(values: Sequence[Interval]) -> list[list[float]]:
    low = [value.mean - value.lo if value.lo is not None else 0.0 for value in values]
    high = [value.hi - value.mean if value.hi is not None else 0.0 for value in values]
    return [low, high]


def _scale(axes: "Axes", x: Axis, y: Axis) -> None:
    axes.margins(x=0.02)
    axes.set_xscale(x.scale)
    axes.set_yscale(y.scale)
    for axis, of_axis in ((x, axes.xaxis), (y, axes.yaxis)):
        if axis.scale == "log":
            of_axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            of_axis.set_major_formatter(lambda value, _: f"{value:g}")
            of_axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(x.label, fontsize=9)
    axes.set_ylabel(y.label, fontsize=9)
    if x.names is not None:
        axes.set_xticks(range(len(x.names)), x.names)
    if y.scale == "linear":
        axes.set_ylim(bottom=0.0 if y.start is None else y.start)
