"""Engines side by side: what each says as a table, and the windows of their flows over time."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from rich.table import Table
from rich.text import Text

from varicap import units
from varicap.report import style
from varicap.report.table import significant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from varicap.engines.comparison import Comparison
    from varicap.report.look import Look

_MOST_FLOWS = 6  # drawn unless somebody chooses
_BEHIND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5}
_MODEL = "model: least and largest window"


def rich_tables(compared: dict[str, Any]) -> list[Table]:
    """A row for each flow and measure, a column for each engine, from `Comparison.to_dict`."""
    engines = [answer["engine"] for answer in compared["engines"] if "not_applicable" not in answer]
    if not engines:
        return []
    title = Text(f"{compared['scenario']}: {', '.join(engines)} (difference from {engines[0]})")
    table = Table(title=title, title_justify="left", title_style="bold")
    for column, heading in enumerate(("flow", "measure", *engines)):
        table.add_column(Text(heading), justify="left" if column < 2 else "right", no_wrap=column == 0)
    for row in compared["differences"]:
        unit = f" [{row['unit']}]" if row["unit"] else ""
        cells = [_cell(row, engine) for engine in engines]
        table.add_row(Text(row["flow"]), Text(f"{row['measure']}{unit}"), *map(Text, cells))
    return [table]


def _cell(row: dict[str, Any], engine: str) -> str:
    value = row["values"].get(engine)
    if value is None:
        return "–"
    apart = row["difference_percent"].get(engine)
    return significant(value, 4) + ("" if apart is None else f" ({apart:+.1f} %)")


def _levels(comparison: "Comparison", flow: str) -> list[float]:
    """The least and the largest window that the model says [B]."""
    summary = comparison.summaries.get("model", {"flows": []})
    for row in summary["flows"]:
        if row["name"] == flow and "cwnd_low_packets" in row.get("details", {}):
            mss = units.size(summary["scenario"]["flows"][flow]["tcp"]["mss"])
            return [row["details"][f"cwnd_{end}_packets"] * mss for end in ("low", "peak")]
    return []


def windows(
    comparison: "Comparison", *, flows: Collection[str] | str | None = None, look: "Look | None" = None
) -> "Figure":
    """Cwnd over time, a panel for each flow and a line for each engine that runs packets.

    Raises ``ValueError`` for a flow that there is not.
    """
    from varicap.report.look import Look, chosen

    look = look or Look()
    runs = comparison.runs
    every = list(dict.fromkeys(str(flow["name"]) for run in runs.values() for flow in run.summary["flows"]))
    names = every[:_MOST_FLOWS] if flows is None else chosen("flow", flows, every)
    more = f" ({len(every) - len(names)} more flows are not drawn)" if flows is None and len(names) < len(every) else ""
    title = f"{comparison.scenario}: windows of the first run{more}"
    with look.figure(9.0, 0.8 + 2.2 * max(1, len(names)), title) as figure:
        panels = figure.subplots(max(1, len(names)), 1, squeeze=False, sharex=True)[:, 0]
        for axes, name in zip(panels, names, strict=False):
            for engine, run in runs.items():
                series = run.flow_series
                rows = series.filter(pc.and_(pc.equal(series["flow"], name), pc.equal(series["replication"], 0)))
                cwnd = np.asarray(rows["cwnd_bytes"].to_numpy(), dtype=np.float64) / 1e3
                axes.plot(rows["time_s"].to_numpy(), cwnd, color=style.engine(engine), label=engine)
            for level, end in zip(_levels(comparison, name), ("least", "largest"), strict=False):
                colour = style.engine("model")
                axes.axhline(level / 1e3, color=colour, linestyle="--", linewidth=0.8 * look.line, label=_MODEL)
                place = {"xy": (1.0, level / 1e3), "xycoords": ("axes fraction", "data")}
                about = {"textcoords": "offset points", "ha": "right", "va": "bottom", "color": colour, "bbox": _BEHIND}
                axes.annotate(end, xytext=(-2, 1), fontsize=look.size - 1, **place, **about)
            look.plain(axes)
            axes.set_title(style.literal(name))
            axes.set_ylabel("cwnd [kB]")
        handles = [axes.get_legend_handles_labels() for axes in panels]
        named = {label: handle for lines, labels in handles for handle, label in zip(lines, labels, strict=True)}
        panels[0].legend(
            named.values(),
            named.keys(),
            frameon=False,
            ncols=4,
            loc="lower right",
            bbox_to_anchor=(1.0, 0.98),
            borderpad=0.1,
        )
        panels[-1].set_xlabel("time [s]")
    return figure
