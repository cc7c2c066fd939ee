"""Engines side by side: what each says as a table, and the windows of their flows over time."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure
from rich.table import Table
from rich.text import Text

from varicap import units
from varicap.report import style
from varicap.report.table import significant

if TYPE_CHECKING:
    from varicap.engines.comparison import Comparison

_MOST_FLOWS = 6


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


def windows(comparison: "Comparison") -> Figure:
    """Cwnd over time, a panel for each flow and a line for each engine that runs packets."""
    runs = comparison.runs
    names = list(dict.fromkeys(flow["name"] for run in runs.values() for flow in run.summary["flows"]))[:_MOST_FLOWS]
    figure = Figure(figsize=(9, 0.8 + 2.2 * max(1, len(names))), dpi=120, layout="constrained")
    panels = figure.subplots(max(1, len(names)), 1, squeeze=False, sharex=True)[:, 0]
    for axes, name in zip(panels, names, strict=False):
        for engine, run in runs.items():
            series = run.flow_series
            rows = series.filter(pc.and_(pc.equal(series["flow"], name), pc.equal(series["replication"], 0)))
            cwnd = np.asarray(rows["cwnd_bytes"].to_numpy(), dtype=np.float64) / 1e3
            axes.plot(rows["time_s"].to_numpy(), cwnd, color=style.engine(engine), label=engine, linewidth=1.0)
        for level in _levels(comparison, name):
            axes.axhline(level / 1e3, color=style.engine("model"), linestyle="--", linewidth=0.8)
        style.plain(axes)
        axes.set_ylim(bottom=0)
        axes.set_title(style.literal(name), fontsize=9, loc="left")
        axes.set_ylabel("cwnd [kB]", fontsize=8)
    panels[0].legend(fontsize=8, frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 0.98), borderpad=0.1)
    panels[-1].set_xlabel("time [s]", fontsize=8)
    figure.suptitle(f"{style.literal(comparison.scenario)}: windows of the first run", fontsize=10)
    return figure
