"""Distributions as curves: the share of time, packets or runs for which a measure is at most so much."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from varicap import units
from varicap.report import style
from varicap.report.look import Look, pick
from varicap.report.measures import Measure, measure_of
from varicap.results.summary import items_of, measures_of, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varicap.results.tables import Recorded

Array = NDArray[np.float64]

_OF_SERIES = ("replication", "time_s", "flow", "link")


def curve(axes: "Axes", values: Array, number: int, label: str, line: Any = None) -> None:
    """One distribution: a step for each value."""
    known = np.sort(values[np.isfinite(values)])
    if not known.size:
        return
    shares = np.arange(1, len(known) + 1) / len(known)
    axes.step(
        np.concatenate([known[:1], known]),
        np.concatenate([[0.0], shares]),
        where="post",
        color=style.colour(number),
        linestyle=line or style.line(number),
        label=style.literal(label),
    )


def finish(axes: "Axes", across: str, of: str, look: Look) -> None:
    """The axes of distributions."""
    if not axes.lines:
        raise ValueError(f"nothing to draw: no {of} of these flows")
    look.plain(axes)
    axes.set_ylim(top=1.0)
    axes.set_xlabel(across)
    axes.set_ylabel(f"share of {of}")
    axes.legend(frameon=False, loc="best")


def of_runs(axes: "Axes", result: "Recorded", flows: list[str], measure: str | None, look: Look) -> None:
    """The share of runs in which a measure of a flow, or of its link, is at most so much."""
    tables = {"links": result.links, "flows": result.flows}
    known = {name: kind for kind, rows in tables.items() for name in measures_of(rows)}
    column = pick("measure", measure or "goodput_bps", list(known))
    rows = tables[known[column]]
    shown = measure_of(column, unit_of(rows.schema.field(column)), known[column])
    _each(axes, _by_item(rows, column, shown), _places(result), flows)
    finish(axes, shown.label, "runs", look)


def over_time(axes: "Axes", result: "Recorded", flows: list[str], measure: str | None, look: Look) -> None:
    """The share of the measured time in which a measure is at most so much, of all runs that recorded series."""
    tables = {"link": result.link_series, "flow": result.flow_series}
    known = {
        name: kind
        for kind, rows in tables.items()
        for name in (rows.column_names if rows.num_rows else ())
        if name not in _OF_SERIES
    }
    if not known:
        raise ValueError("no series were recorded (series=True, --series)")
    column = pick("measure", measure or "throughput_bps", list(known))
    kind = known[column]
    rows = tables[kind].filter(pc.greater(tables[kind]["time_s"], _warmup_s(result)))
    shown = measure_of(column, unit_of(rows.schema.field(column)), "links" if kind == "link" else "flows")
    rows = rows.append_column("name", rows[kind].cast(pa.string()))
    rows = rows.drop_columns(["flow"]) if kind == "flow" else rows
    _each(axes, _by_item(rows, column, shown), _places(result), flows)
    finish(axes, shown.label, "time", look)


def of_packets(axes: "Axes", result: "Recorded", flows: list[str], _measure: str | None, look: Look) -> None:
    """The share of packets with data that were on their way for at most so long, from sender to receiver."""
    rows = result.packets
    if rows.num_rows == 0:
        raise ValueError("no packets were recorded (packets=True, --packets)")
    text = {name: rows[name].cast(pa.string()) for name in ("event", "direction", "group", "link")}
    there = pc.and_(pc.equal(text["event"], "delivery"), pc.equal(text["direction"], "data"))
    there = pc.and_(there, pc.greater(rows["time_ns"].cast(pa.int64()), int(_warmup_s(result) * 1e9)))
    kept = rows.filter(there)
    groups = np.array(kept["group"].cast(pa.string()).to_pylist(), object)
    links = np.array(kept["link"].cast(pa.string()).to_pylist(), object)
    took = (kept["time_ns"].cast(pa.int64()).to_numpy() - kept["sent_at_ns"].cast(pa.int64()).to_numpy()) / 1e6
    of_group = {str(flow["group"]): str(flow["name"]) for flow in reversed(result.summary["flows"])}
    values: dict[str, Array] = {}
    for group in dict.fromkeys(groups):
        own = groups == group
        # The last link of the way is where packets have been longest.
        last = max(dict.fromkeys(links[own]), key=lambda link: float(np.mean(took[own & (links == link)])))
        values[of_group.get(group, group)] = took[own & (links == last)]
    _each(axes, values, _places(result), flows)
    finish(axes, "one-way delay of packets [ms]", "packets", look)


def _each(axes: "Axes", values: Mapping[str, Array], places: Mapping[str, int], flows: list[str]) -> None:
    seen: dict[int, int] = {}
    for name, each in values.items():
        owner = name.rpartition("/")[0] or name
        if owner in places and owner not in flows:
            continue
        number = places.get(owner, len(places) + len(seen))
        times = seen.get(number, 0)
        seen[number] = times + 1
        curve(axes, each, number, name, style.LINES[times % len(style.LINES)] if times else None)


def _places(result: "Recorded") -> dict[str, int]:
    """The number of the colour of each flow."""
    return {str(flow["name"]): number for number, flow in enumerate(result.summary["flows"])}


def _by_item(rows: pa.Table, column: str, measure: Measure) -> dict[str, Array]:
    items = np.array(items_of(rows), object)
    values = np.asarray(rows[column].cast(pa.float64()).to_numpy(), np.float64) * measure.scale
    return {str(item): values[items == item] for item in dict.fromkeys(items)}


def _warmup_s(result: "Recorded") -> float:
    scenario = result.summary["scenario"]
    return units.seconds(str((scenario.get("warmup") if isinstance(scenario, dict) else None) or "0 s"))
