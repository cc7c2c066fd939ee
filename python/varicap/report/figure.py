"""Figures of runs: panels over time of one of them, and clouds of all of them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from varicap import units
from varicap.errors import NothingDrawnError
from varicap.report import clouds, style
from varicap.report.look import Look, chosen
from varicap.report.rows import where
from varicap.report.sent import sent_bps
from varicap.report.table import bottlenecks
from varicap.report.waiting import waiting_ms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from varicap.report.look import Drawn
    from varicap.results.tables import Recorded

Array = NDArray[np.float64]

_MOST_POINTS = 300
_MOST_FLOWS = 14  # drawn unless somebody chooses
_APART = 4.2  # width of a panel [in] below which panels stand one above the other, at 8 pt


@dataclass(frozen=True)
class Panel:
    """One link over time, and the flows over it."""

    title: str
    link: pa.Table
    flows: dict[str, pa.Table]
    alone: str | None
    """The flow that has the link to itself."""


@dataclass(frozen=True)
class _Runs:
    """What all panels need to know."""

    names: list[str]
    """All flows; their places are their colours."""
    segments: dict[str, float]
    """Bytes of a full segment, by flow."""
    look: Look
    wide: float
    """Width of the figure [in]."""

    def line(self, name: str, width: float = 0.9) -> dict[str, Any]:
        """How the line of a flow is drawn."""
        number = self.names.index(name)
        colour, kind = style.colour(number), style.line(number)
        return {"color": colour, "linestyle": kind, "linewidth": width * self.look.line, "label": style.literal(name)}


def overview(
    result: "Recorded",
    run: int = 0,
    *,
    panels: Collection[str] | str | None = None,
    flows: Collection[str] | str | None = None,
    measure: str | None = None,
    look: Look | None = None,
) -> "Drawn":
    """Runs as a figure of some `PANELS`: capacity and throughput beside the queue, unless others are chosen.

    Panels over time show the run with this number, which must have recorded series, in a row for each link that can be
    a bottleneck; clouds show all runs.  `measure` is the delay of the scatter.  A flow has one colour in all panels.
    Raises ``ValueError`` for a panel or a flow that there is not, and for series that were not recorded.
    """
    look = look or Look()
    wanted = chosen("panel", panels, PANELS) if panels is not None else ["rates", "queue"]
    names = [str(flow["name"]) for flow in result.summary["flows"]]
    drawn_flows = chosen("flow", flows, names)
    over_time = [name for name in wanted if name in OVER_TIME]
    of_runs = [name for name in wanted if name in clouds.CLOUDS]
    if measure is not None and "scatter" not in of_runs:
        raise ValueError("a measure is for studies, and for the panel `scatter` of runs")
    shown = _panels(result, run, drawn_flows) if over_time else []
    left_out = 0
    if flows is None and len(drawn_flows) > _MOST_FLOWS:
        left_out = len(drawn_flows) - _MOST_FLOWS
        shown = [_fewer(panel, drawn_flows[:_MOST_FLOWS]) for panel in shown]
    title = _name(result.summary)
    if over_time and result.runs > 1:
        title += f": run {run} of runs 0 to {result.runs - 1}"
    if left_out and over_time:
        title += f" ({left_out} more flows are not drawn)"
    each = look.inches(11.0, 1.0)[0] / max(1, len(over_time))
    stacked = len(over_time) > 2 or each < _APART * look.size / 8.0
    lines = len(shown) * len(over_time) if stacked else len(shown)
    natural = 7.5 if stacked or not over_time else 11.0
    runs = _Runs(names, _segments(result.summary), look, look.inches(natural, 1.0)[0])
    heights = [(2.1 if lines > 2 else 2.6) * lines, 3.2 if of_runs else 0.0]
    with look.figure(natural, 0.7 + sum(heights), title) as figure:
        parts = [(height, kind) for height, kind in zip(heights, (over_time, of_runs), strict=True) if height]
        places = figure.subfigures(len(parts), 1, squeeze=False, height_ratios=[height for height, _ in parts])[:, 0]
        for place, (_, kind) in zip(places, parts, strict=True):
            if kind is over_time:
                _over_time(place, shown, over_time, stacked, runs)
            else:
                clouds.draw(place, result, of_runs, drawn_flows, measure, look)
    return figure


def _over_time(place: "FigureBase", shown: list[Panel], kinds: list[str], stacked: bool, runs: _Runs) -> None:
    """A row for each link; one below the other if they would be too narrow side by side."""
    columns = 1 if stacked else len(kinds)
    order = [(panel, kind) for panel in shown for kind in kinds]
    ratios = [3 if kind == "rates" else 2 for kind in kinds] if not stacked else [1]
    grid = place.subplots(len(order) // columns, columns, squeeze=False, sharex=True, width_ratios=ratios)
    beside: dict[str, list[Axes]] = {}
    for axes, (panel, kind) in zip(grid.flat, order, strict=True):
        OVER_TIME[kind](axes, panel, runs)
        _head(axes, panel.title if kind == kinds[0] else "", runs)
        beside.setdefault(kind, []).append(axes)
    for alike in beside.values():
        _share(alike, runs.look)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")


def _share(alike: "list[Axes]", look: Look) -> None:
    """One scale for panels of a kind, so that they can be compared by eye."""
    top = max(axes.get_ylim()[1] for axes in alike)
    for axes in alike:
        look.plain(axes)
        if "y" not in look.log:
            axes.set_ylim(0, top)


def _name(summary: dict[str, Any]) -> str:
    scenario = summary["scenario"]
    return str(scenario["name"] if isinstance(scenario, dict) else scenario)


def _segments(summary: dict[str, Any]) -> dict[str, float]:
    scenario = summary["scenario"] if isinstance(summary["scenario"], dict) else {}
    groups = scenario.get("flows") or {}
    sizes = {name: units.size(((flow.get("tcp") or {}).get("mss")) or "1460 B") for name, flow in groups.items()}
    return {str(flow["name"]): sizes.get(flow["group"], 1460.0) for flow in summary["flows"]}


def _panels(result: "Recorded", run: int, wanted: list[str]) -> list[Panel]:
    links = where(result.link_series, "replication", run)
    flows = where(result.flow_series, "replication", run)
    if links.num_rows == 0:
        raise _no_series(result.summary, run)
    panels = []
    for link in bottlenecks(result.summary):
        rows = where(links, "link", link["name"])
        own = link.get("flow")
        if own is not None:
            rows = where(rows, "flow", own)
        names = [name for name in wanted if own is None or name == own]
        if names:
            each = {name: where(flows, "flow", name) for name in names}
            panels.append(Panel(f"{own} over {link['name']}" if own is not None else link["name"], rows, each, own))
    return panels


def _no_series(summary: dict[str, Any], run: int) -> ValueError:
    """Why there are none: they were not recorded, or the run ended before their first point."""
    scenario = summary["scenario"] if isinstance(summary["scenario"], dict) else {}
    sample = (scenario.get("record") or {}).get("sample", "0 s")
    if units.seconds(sample) > summary["simulated_s"]:
        each = f"series have a point each {sample} (record.sample)"
        return NothingDrawnError(f"a run of {summary['simulated_s']:g} s is too short to draw: {each}")
    return ValueError(f"no series of run {run} were recorded (series=True, --series)")


def _fewer(panel: Panel, names: list[str]) -> Panel:
    kept = {name: rows for name, rows in panel.flows.items() if name in names or panel.alone}
    return Panel(panel.title, panel.link, kept, panel.alone)


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


def _rates(axes: "Axes", panel: Panel, runs: _Runs) -> None:
    """Capacity, and the throughput that it allows; of a flow alone on the link what the link sent."""
    time_s = _ends(_column(panel.link, "time_s"))
    capacity = _bins(_column(panel.link, "capacity_bps", 1e-6))
    axes.fill_between(time_s, capacity, step="pre", color=style.CAPACITY, linewidth=0, label="capacity")
    series = {name: panel.link if panel.alone else rows for name, rows in panel.flows.items()}
    for (name, rows), rate in zip(series.items(), sent_bps(list(series.values()), panel.link), strict=True):
        axes.step(_ends(_column(rows, "time_s")), _bins(rate * 1e-6), where="pre", **runs.line(name))
    axes.set_ylabel("throughput [Mb/s]")


def _queue(axes: "Axes", panel: Panel, runs: _Runs) -> None:
    time_s = _column(panel.link, "time_s")
    backlog = _column(panel.link, "backlog_packets")
    axes.plot(time_s, backlog, color=style.QUEUE, linewidth=0.8 * runs.look.line, label="queue")
    _losses(axes, panel, time_s)
    axes.set_ylabel("queue [packets]")


def _delay(axes: "Axes", panel: Panel, runs: _Runs) -> None:
    time_s = _column(panel.link, "time_s")
    waiting = waiting_ms(time_s, _column(panel.link, "backlog_bytes"), _column(panel.link, "capacity_bps"))
    axes.plot(time_s, waiting, color=style.QUEUE, linewidth=0.8 * runs.look.line, label="queueing delay")
    _losses(axes, panel, time_s)
    axes.set_ylabel("queueing delay [ms]")


def _window(axes: "Axes", panel: Panel, runs: _Runs) -> None:
    """Window, what is in flight, the queue, and the capacity on a scale of its own."""
    time_s = _column(panel.link, "time_s")
    right = axes.twinx()
    right.fill_between(
        time_s, _column(panel.link, "capacity_bps", 1e-6), step="pre", color=style.CAPACITY, linewidth=0, alpha=0.7
    )
    right.set_ylabel("capacity [Mb/s]")
    right.set_ylim(bottom=0)
    right.spines[["top", "left", "bottom"]].set_visible(False)
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    axes.fill_between([], [], color=style.CAPACITY, alpha=0.7, label="capacity")
    waiting = _column(panel.link, "backlog_bytes", 1e-3)
    axes.plot(time_s, waiting, color=style.QUEUE, linewidth=0.8 * runs.look.line, label="queue")
    alone = len(panel.flows) == 1
    for name, rows in panel.flows.items():
        line = runs.line(name)
        at, window = _column(rows, "time_s"), _column(rows, "cwnd_bytes", 1e-3)
        if np.isfinite(window).any():
            axes.plot(at, window, **{**line, **({"label": "window"} if alone else {})})
            flying = {"linestyle": ":", "alpha": 0.8, "label": "in flight" if alone else None}
            axes.plot(at, _column(rows, "in_flight_bytes", 1e-3), **{**line, **flying})
    if not alone:
        axes.plot([], [], ":", color=style.QUEUE, linewidth=runs.look.line, label="in flight")
    _losses(axes, panel, time_s)
    axes.set_ylabel("window, queue [kB]")


def _cwnd(axes: "Axes", panel: Panel, runs: _Runs) -> None:
    for name, rows in panel.flows.items():
        _line(axes, rows, "cwnd_bytes", 1 / runs.segments[name], runs.line(name))
    axes.set_ylabel("cwnd [packets]")


def _rtt(axes: "Axes", panel: Panel, runs: _Runs) -> None:
    for name, rows in panel.flows.items():
        _line(axes, rows, "srtt_s", 1e3, runs.line(name))
    axes.set_ylabel("smoothed RTT [ms]")


def _line(axes: "Axes", rows: pa.Table, column: str, scale: float, how: dict[str, Any]) -> None:
    """A column over time; groups whose connections come and go have no window to draw."""
    values = _column(rows, column, scale)
    if np.isfinite(values).any():
        axes.plot(_column(rows, "time_s"), values, **how)


def _losses(axes: "Axes", panel: Panel, time_s: Array) -> None:
    """Marks that stand on the axis of time."""
    (when,) = np.nonzero(_column(panel.link, "dropped_packets"))
    if len(when):
        axes.vlines(
            time_s[when], 0, 0.045, transform=axes.get_xaxis_transform(), color=style.LOSS, label="losses", zorder=4
        )


def _head(axes: "Axes", title: str, runs: _Runs) -> None:
    """Above the frame the title and the names of the lines, in as many lines as they need: there they hide nothing."""
    handles, labels = axes.get_legend_handles_labels()
    columns = axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    # A letter is half as wide as high, and a mark takes as much room as five letters.
    letters = runs.wide * 72 / columns / (0.52 * runs.look.size) - 14
    needed = sum(len(label) + 5 for label in labels)
    together = needed + len(title) <= letters
    across = max(1, int(letters / max((len(label) + 5 for label in labels), default=1)))
    across = len(labels) if needed <= letters else min(across, len(labels))
    axes.legend(
        handles,
        labels,
        frameon=False,
        loc="lower right",
        bbox_to_anchor=(1.0, 0.98),
        ncols=max(1, across),
        borderpad=0.1,
        labelspacing=0.2,
        columnspacing=1.2,
        handlelength=1.4,
    )
    lines = 0 if together else -(-len(labels) // max(1, across))
    axes.set_title(style.literal(title), pad=6 + 1.25 * runs.look.size * lines)


OVER_TIME: "dict[str, Callable[[Axes, Panel, _Runs], None]]" = {
    "rates": _rates,
    "queue": _queue,
    "delay": _delay,
    "window": _window,
    "cwnd": _cwnd,
    "rtt": _rtt,
}
"""Panels of one run over time."""

PANELS = (*OVER_TIME, *clouds.CLOUDS)
"""What a figure of runs can show."""
