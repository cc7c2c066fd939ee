"""Figures of runs over time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure
from numpy.typing import NDArray

from varicap.report import style
from varicap.report.table import bottlenecks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varicap.results.tables import Recorded

Array = NDArray[np.float64]

_MOST_POINTS = 300


@dataclass(frozen=True)
class Panel:
    """One link over time, and the flows over it."""

    title: str
    link: pa.Table
    flows: dict[str, pa.Table]


def overview(result: "Recorded", run: int = 0) -> Figure:
    """Capacity and throughput on the left, the queue on the right; a row for each link that can be a bottleneck.

    Draws the run with this number, which must have recorded series.
    """
    panels = _panels(result, run)
    figure = Figure(figsize=(11, 0.7 + 2.1 * len(panels)), dpi=120, layout="constrained")
    grid = figure.subplots(len(panels), 2, squeeze=False, sharex=True, width_ratios=(3, 2))
    names = list(dict.fromkeys(name for panel in panels for name in panel.flows))
    for (left, right), panel in zip(grid, panels, strict=True):
        _rates(left, panel, names)
        _queue(right, panel)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]", fontsize=8)
    summary = result.summary
    figure.suptitle(
        f"{_name(summary)}: run {run + 1} of {result.runs}" if result.runs > 1 else _name(summary),
        fontsize=10,
    )
    return figure


def _name(summary: dict[str, Any]) -> str:
    scenario = summary["scenario"]
    return style.literal(str(scenario["name"] if isinstance(scenario, dict) else scenario))


def _panels(result: "Recorded", run: int) -> list[Panel]:
    links = _of_run(result.link_series, run)
    flows = _of_run(result.flow_series, run)
    if links.num_rows == 0:
        raise ValueError(f"no series of run {run} were recorded (series=True, --series)")
    owner = {flow["name"] for flow in result.summary["flows"]}
    panels = []
    for link in bottlenecks(result.summary):
        rows = links.filter(pc.equal(links["link"], link["name"]))
        own = link.get("flow")
        if own is not None:
            rows = rows.filter(pc.equal(rows["flow"], own))
        names = [own] if own is not None else _names(flows, owner)
        each = {name: flows.filter(pc.equal(flows["flow"], name)) for name in names}
        title = f"{own} over {link['name']}" if own is not None else link["name"]
        panels.append(Panel(title, rows, each))
    return panels


def _names(flows: pa.Table, known: set[str]) -> list[str]:
    names = [name for name in pc.unique(flows["flow"]).to_pylist() if name in known or not known]
    return names[: len(style.COLOURS)]


def _of_run(rows: pa.Table, run: int) -> pa.Table:
    return rows.filter(pc.equal(rows["replication"], run)) if rows.num_rows else rows


def _column(rows: pa.Table, name: str, scale: float = 1.0) -> Array:
    return np.asarray(rows[name].to_numpy(), dtype=np.float64) * scale


def _bins(values: Array) -> Array:
    """Means over bins, so that no more than some hundreds of points are drawn."""
    size = max(1, -(-len(values) // _MOST_POINTS))
    whole = len(values) // size * size
    return np.asarray(values[:whole].reshape(-1, size).mean(axis=1))


def _ends(time_s: Array) -> Array:
    """The ends of the same bins [s]."""
    size = max(1, -(-len(time_s) // _MOST_POINTS))
    return time_s[size - 1 :: size][: len(time_s) // size]


def _rates(axes: "Axes", panel: Panel, names: list[str]) -> None:
    style.plain(axes)
    time_s = _ends(_column(panel.link, "time_s"))
    capacity = _bins(_column(panel.link, "capacity_bps", 1e-6))
    axes.fill_between(time_s, capacity, step="pre", color=style.CAPACITY, linewidth=0, label="capacity")
    for name, rows in panel.flows.items():
        throughput = _bins(_column(rows, "throughput_bps", 1e-6))
        axes.step(
            time_s,
            throughput,
            where="pre",
            color=style.colour(names.index(name)),
            linewidth=0.9,
            label=style.literal(name),
        )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("throughput [Mb/s]", fontsize=8)
    axes.set_title(style.literal(panel.title), fontsize=9, loc="left")
    _legend(axes)


def _queue(axes: "Axes", panel: Panel) -> None:
    style.plain(axes)
    time_s = _column(panel.link, "time_s")
    axes.plot(time_s, _column(panel.link, "backlog_packets"), color=style.QUEUE, linewidth=0.8)
    (when,) = np.nonzero(_column(panel.link, "dropped_packets"))
    if len(when):
        axes.plot(time_s[when], np.zeros(len(when)), "|", color=style.LOSS, markersize=6, label="losses", clip_on=False)
        _legend(axes)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("queue [packets]", fontsize=8)


def _legend(axes: "Axes") -> None:
    """Above the frame, where it hides nothing."""
    axes.legend(fontsize=7, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=8, borderpad=0.1)
