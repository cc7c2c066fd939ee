"""Figures of this paper: throughput over time, windows, and bars of what each flow gets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import Measured, means
from varicap.report import style
from varicap.statistics import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {
    "r1": "1 Mb/s reserved",
    "r2": "2 Mb/s reserved",
    "r4": "4 Mb/s reserved",
    "be.0": "best effort",
    "be": "best effort",
}


@dataclass(frozen=True)
class Line:
    """One line over time."""

    name: str
    time_s: Array
    y: Array
    colour: int
    dashed: bool = False


def line(measured: Measured, flow: str, colour: int, column: str = "throughput_bps", seconds: float = 2.0) -> Line:
    """A flow's rate in the first run in means over some seconds [Mb/s]."""
    times, values = measured.series(flow, column)
    width = max(1, round(seconds / (times[1] - times[0])))
    ends = times[width - 1 :: width]
    smooth = means(values[0], width)
    return Line(NAMES.get(flow, flow), ends[: smooth.size], smooth, colour)


def over_time(title: str, panels: Sequence[tuple[str, Sequence[Line]]], label: str = "[Mb/s]") -> Figure:
    """Panels side by side, all with the same axes."""
    figure = Figure(figsize=(5.2 * len(panels), 3.9), dpi=120, layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (name, lines) in zip(all_axes, panels, strict=True):
        _panel(axes, name, lines, legend_below=True)
        axes.set_xlabel("time [s]", fontsize=9)
    all_axes[0].set_ylabel(label, fontsize=9)
    figure.suptitle(title, fontsize=10)
    return figure


def stacked(title: str, panels: Sequence[tuple[str, str, Sequence[Line]]]) -> Figure:
    """Panels one above the other, each with its own name and label."""
    figure = Figure(figsize=(7.0, 1.0 + 2.4 * len(panels)), dpi=120, layout="constrained")
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, label, lines) in zip(all_axes, panels, strict=True):
        _panel(axes, name, lines, legend_below=False)
        axes.set_ylabel(label, fontsize=9)
    all_axes[-1].set_xlabel("time [s]", fontsize=9)
    figure.suptitle(title, fontsize=10)
    return figure


def _panel(axes: "Axes", name: str, lines: Sequence[Line], *, legend_below: bool) -> None:
    style.plain(axes)
    for one in lines:
        dashes = "--" if one.dashed else "-"
        axes.plot(one.time_s, one.y, dashes, color=style.colour(one.colour), linewidth=1.1, label=one.name)
    axes.set_title(name, fontsize=9, loc="center" if legend_below else "left")
    axes.set_ylim(bottom=0)
    if legend_below:
        axes.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    elif len(lines) > 1:
        axes.legend(fontsize=7, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2)


def reservations(measured: Measured, flow: str, colour: int) -> Line:
    """What is reserved for a flow over time [Mb/s]."""
    times, values = measured.series(flow, "reserved_bps")
    return Line("reservation", times, np.asarray(values[0]), colour, dashed=True)
