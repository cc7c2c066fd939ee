"""Time series of runs: capacity against throughput for each link, then queues, delays, windows and round-trip times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varicap import units
from varicap.report.rows import where
from varicap.report.sent import sent_bps
from varicap.report.table import bottlenecks, significant
from varicap.report.waiting import waiting_ms
from varicap.report.web.charts import SPREAD, Array, Chart, Column, listed, spread
from varicap.report.web.source import Source
from varicap.results import FolderError

MOST_FLOWS = 12
"""Flows that are drawn; the tables have them all."""
_MOST_LINKS = 8
_MOST_NUMBERS = 400_000
_MOST_POINTS = 6_000
_MOST_RUNS = 10
_WAITING = ("time_s", "backlog_bytes", "capacity_bps")
_ARRIVED = (
    "Flows are counted where they arrive, the propagation delay after the link. Where all together have more in an "
    "interval than it can send, the rest was sent before and is drawn there; means and numbers are as measured. The "
    "grey line is what the link sent."
)
_FINE_POINTS = 2_000
"""A run has so many points, if it has so many samples, before the page takes another run."""


@dataclass(frozen=True)
class Grid:
    """The instants of a page's time series, and the bins that they are put in where there are too many."""

    samples: Array
    """When samples were taken [s]."""
    size: int
    """Samples in a bin."""

    @property
    def times(self) -> Array:
        """The end of each bin [s]."""
        return self.samples[self.size - 1 :: self.size]

    def mean(self, rows: pa.Table, name: str, scale: float = 1.0) -> Array:
        """A column as means over the bins; NaN where there is nothing."""
        bins, count = self._bins(rows, name)
        return bins / np.where(count > 0, count, np.nan) * scale

    def total(self, rows: pa.Table, name: str) -> Array:
        """A column of counts, added up over the bins."""
        return self._bins(rows, name)[0]

    def _bins(self, rows: pa.Table, name: str) -> tuple[Array, Array]:
        values = np.asarray(rows[name].to_numpy(), np.float64)
        known = np.isfinite(values)
        places = np.searchsorted(self.samples, rows["time_s"].to_numpy()[known]) // self.size
        length = len(self.times)
        known_values, inside = values[known], places < length
        total = np.bincount(places[inside], known_values[inside], length).astype(np.float64)
        return total, np.bincount(places[inside], minlength=length).astype(np.float64)


@dataclass(frozen=True)
class Series:
    """The time series of a run, and of others that a reader may choose."""

    run: int
    """The run that is shown first."""
    recorded: int
    """Runs that have series."""
    grid: Grid
    flows: tuple[str, ...]
    """The flows that are drawn."""
    left_out: int
    charts: tuple[Chart, ...]
    """Of the run that is shown first."""
    others: dict[int, tuple[Chart, ...]]
    """Of other runs, by their number; as many as a page can hold."""


def series(source: Source, run: int) -> Series | None:
    """The charts over time of the run with this number, and of others; None if there are no series."""
    links, flows = (where(rows, "replication", run) for rows in (source.link_series, source.flow_series))
    if source.summary is None or source.link_series.num_rows == 0:
        return None
    if links.num_rows == 0:
        last = pc.max(source.link_series["replication"]).as_py()
        raise FolderError(f"no series of run {run}; there are those of runs 0 to {last}")
    names = _names(flows)
    shown = _some_of_each(names, source.summary)
    panels = bottlenecks(source.summary)[:_MOST_LINKS]
    columns = 4 * len(shown) + 4 * len(panels)
    recorded = sorted(pc.unique(source.link_series["replication"]).to_pylist())
    runs = _runs(recorded, run, columns * min(len(np.unique(links["time_s"].to_numpy())), _FINE_POINTS))
    grid = _grid(links, columns * len(runs))
    warmup = units.seconds(str(source.scenario.get("warmup") or "0 s"))

    def charts(number: int) -> tuple[Chart, ...]:
        of_links = where(source.link_series, "replication", number)
        of_flows = where(source.flow_series, "replication", number)
        drawn = _Drawn(source, number, of_links, of_flows, tuple(shown), grid, warmup)
        over_links = (*drawn.rates(panels), *drawn.queue(panels), *drawn.waiting(panels))
        return (*over_links, *drawn.propagation(panels), *drawn.windows(), *drawn.round_trips())

    others = {number: charts(number) for number in runs if number != run}
    return Series(run, len(recorded), grid, tuple(shown), len(names) - len(shown), charts(run), others)


@dataclass(frozen=True)
class _Drawn:
    """What the charts are made of."""

    source: Source
    run: int
    links: pa.Table
    flows: pa.Table
    names: tuple[str, ...]
    grid: Grid
    warmup_s: float

    def rates(self, panels: list[dict[str, Any]]) -> Iterator[Chart]:
        """Of each link the capacity, and the throughput of the flows over it."""
        for number, link in enumerate(panels):
            rows = self._link(link)
            own = link.get("flow")
            over = [own] if own else self._over(link["name"])
            capacity = self.grid.mean(rows, "capacity_bps", 1e-6)
            columns = [Column("capacity", "Mb/s", listed(capacity), "area")] if np.isfinite(capacity).any() else []
            flows = [self._of_flow(name) for name in over]
            if len(over) == 1:
                columns += self._throughput([(over[0], self._number(over[0]))], [rows], rows)
            else:
                columns += self._throughput([("throughput", None)], [rows], rows)
                columns += self._throughput([(name, self._number(name)) for name in over], flows, rows)
            title = (
                f"{own} over {link['name']}: capacity and throughput"
                if own
                else f"{link['name']}: capacity and throughput"
            )
            note = _ARRIVED if len(over) > 1 else ""
            yield self._chart(f"rates-{number}", title, "Mb/s", columns, self._goodputs(over), note)

    def _throughput(
        self, named: Sequence[tuple[str, int | None]], series: Sequence[pa.Table], link: pa.Table
    ) -> Iterator[Column]:
        """The throughputs of a link, or of all flows over it, that its capacity allows; their numbers are measured."""
        for (label, flow), rows, rate in zip(named, series, sent_bps(series, link), strict=True):
            sent = pa.table({"time_s": rows["time_s"], "sent_bps": rate})
            drawn = listed(self.grid.mean(sent, "sent_bps", 1e-6))
            measured = listed(self.grid.mean(rows, "throughput_bps", 1e-6))
            yield Column(label, "Mb/s", drawn, "step", flow, measured=measured)

    def queue(self, panels: list[dict[str, Any]]) -> Iterator[Chart]:
        """Packets that wait at each link, and losses."""
        columns: list[Column] = []
        losses: list[Column] = []
        for number, link in enumerate(panels):
            rows, (label, place, dash) = self._link(link), self._named(link, number)
            waiting = listed(self.grid.mean(rows, "backlog_packets"))
            columns.append(Column(label, "packets", waiting, "line", place, dash))
            lost = self.grid.total(rows, "dropped_packets")
            if lost.any():
                losses.append(Column(f"{label}, lost", "packets", listed(lost), "ticks", place, dash))
        if columns:
            yield self._chart("queue", "Queue, and losses as marks on the axis", "packets", [*columns, *losses])

    def waiting(self, panels: list[dict[str, Any]]) -> Iterator[Chart]:
        """How long each link keeps a packet waiting."""
        columns = []
        for number, link in enumerate(panels):
            rows, (label, place, dash) = self._link(link), self._named(link, number)
            series = (np.asarray(rows[name].to_numpy(), np.float64) for name in _WAITING)
            delay = pa.table({"time_s": rows["time_s"], "waiting_ms": waiting_ms(*series)})
            columns.append(Column(label, "ms", listed(self.grid.mean(delay, "waiting_ms")), "line", place, dash))
        there = [column for column in columns if any(value is not None for value in column.values)]
        if there:
            note = "Until what waits at an instant has been sent, at the capacity that follows."
            yield self._chart("waiting", "Queueing delay", "ms", there, note=note)

    def propagation(self, panels: list[dict[str, Any]]) -> Iterator[Chart]:
        """The propagation delay of the links where it varies; flows in isolation meet the same."""
        columns = []
        for number, link in enumerate({link["name"]: link for link in panels}.values()):
            rows = self._link(link)
            recorded = rows["delay_s"].to_numpy() if "delay_s" in rows.column_names else ()
            delay = np.asarray(recorded, np.float64)
            delay = delay[np.isfinite(delay)]
            if delay.size and delay.min() < delay.max():
                values = listed(self.grid.mean(rows, "delay_s", 1e3))
                columns.append(Column(link["name"], "ms", values, "step", None, number))
        if columns:
            note = "What a packet that leaves the server at an instant takes to the far end."
            yield self._chart("propagation", "Propagation delay", "ms", columns, note=note)

    def _named(self, link: dict[str, Any], number: int) -> tuple[str, int | None, int]:
        """Name, colour and dash of what a link has; the queue of a link that flows share has no flow's colour."""
        own = link.get("flow")
        if own in self.names:
            return str(own), self._number(own), 0
        return str(own or link["name"]), None, number

    def windows(self) -> Iterator[Chart]:
        """Congestion windows, in segments."""
        columns = [self._flow(name, "cwnd_bytes", "packets", 1 / self._mss(name), "line") for name in self.names]
        yield from self._if_any("cwnd", "Congestion window (cwnd)", "packets", columns)

    def round_trips(self) -> Iterator[Chart]:
        """Round-trip times as the senders smooth them."""
        columns = [self._flow(name, "srtt_s", "ms", 1e3, "line") for name in self.names]
        yield from self._if_any("rtt", "Round-trip time, smoothed by the sender", "ms", columns)

    def _flow(self, name: str, column: str, unit: str, scale: float, role: str) -> Column:
        values = self.grid.mean(self._of_flow(name), column, scale)
        return Column(name, unit, listed(values), role, self._number(name))

    def _of_flow(self, name: str) -> pa.Table:
        return where(self.flows, "flow", name)

    def _number(self, flow: str) -> int:
        """The place of a flow among all flows, which gives it its colour in every chart."""
        flows = (self.source.summary or {})["flows"]
        return next((number for number, each in enumerate(flows) if each["name"] == flow), len(flows))

    def _link(self, link: dict[str, Any]) -> pa.Table:
        rows = where(self.links, "link", link["name"])
        return where(rows, "flow", link["flow"]) if link.get("flow") else rows

    def _over(self, link: str) -> list[str]:
        """The flows over a link; all of them where routes are not known."""
        groups = (
            {group for group, route in self.source.routes.items() if link in route.there}
            if self.source.routes
            else None
        )
        return [name for name in self.names if groups is None or self._group(name) in groups]

    def _group(self, flow: str) -> str:
        found = (each["group"] for each in (self.source.summary or {})["flows"] if each["name"] == flow)
        return str(next(found, flow.rsplit(".", 1)[0] if flow not in self.source.scenario["flows"] else flow))

    def _mss(self, flow: str) -> float:
        tcp = self.source.scenario["flows"].get(self._group(flow), {}).get("tcp") or {}
        return units.size(tcp.get("mss", "1460 B"))

    def _chart(self, key: str, title: str, unit: str, columns: list[Column], more: str = "", note: str = "") -> Chart:
        """A chart whose words and numbers are of the time that the tables cover, after the warm-up."""
        after = self.grid.times > self.warmup_s * (1 + 1e-9)
        numbers = ((column, column.values if column.measured is None else column.measured) for column in columns)
        values = [(column, np.array(each, np.float64)[after]) for column, each in numbers]
        rows = tuple((column.label, *spread(each)) for column, each in values if column.role != "ticks")
        means = ", ".join(f"{label} {mean}" for label, mean, *_ in rows)
        losses = sum(int(np.nansum(each)) for column, each in values if column.role == "ticks")
        lost = f" {losses} packet{'s were' if losses != 1 else ' was'} lost." if losses else ""
        when = " after the warm-up" if self.warmup_s else ""
        text = f"Means of this run{when} [{unit}]: {means}.{lost}{more}"
        return Chart(key, title, unit, tuple(columns), text, note, table=((f"[{unit}]", *SPREAD), *rows))

    def _if_any(self, key: str, title: str, unit: str, columns: list[Column]) -> Iterator[Chart]:
        """Datagrams have no window: nothing is left out, nothing empty is drawn."""
        there = [column for column in columns if any(value is not None for value in column.values)]
        if there:
            yield self._chart(key, title, unit, there)

    def _goodputs(self, names: list[str]) -> str:
        """The goodput behind the throughput, as the tables have it for this run."""
        rows = self.source.flows
        if rows.num_rows == 0:
            return ""
        own = where(rows, "replication", self.run)
        found = dict(zip(own["name"].to_pylist(), own["goodput_bps"].to_pylist(), strict=True))
        said = ", ".join(f"{name} {significant(found[name] / 1e6, 3)}" for name in names if name in found)
        return f" Goodput, without headers and what was sent twice: {said}." if said else ""


def _names(flows: pa.Table) -> list[str]:
    return list(pc.unique(flows["flow"]).to_pylist()) if flows.num_rows else []


def _some_of_each(names: list[str], summary: dict[str, Any]) -> list[str]:
    """As many flows as are drawn, some of each group, in their order."""
    groups = {flow["name"]: flow["group"] for flow in summary["flows"]}
    met: dict[str, int] = {}
    rounds = {}
    for name in names:
        group = groups.get(name, name)
        rounds[name] = met[group] = met.get(group, 0) + 1
    chosen = sorted(names, key=lambda name: rounds[name])[:MOST_FLOWS]
    return [name for name in names if name in set(chosen)]


def _runs(recorded: list[int], run: int, numbers: int) -> list[int]:
    """The runs that a page holds, `run` among them, if each needs so many numbers."""
    most = min(_MOST_RUNS, max(1, _MOST_NUMBERS // max(numbers, 1)))
    return sorted([run, *(number for number in recorded if number != run)][:most])


def _grid(links: pa.Table, columns: int) -> Grid:
    samples = np.unique(links["time_s"].to_numpy())
    most = min(_MOST_POINTS, max(500, _MOST_NUMBERS // max(columns, 1)))
    return Grid(samples, -(-len(samples) // most))
