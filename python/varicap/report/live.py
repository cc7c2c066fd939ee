"""Runs while they go on, as a table that a terminal draws again and again."""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from varicap.report.table import significant

if TYPE_CHECKING:
    from rich.console import RenderableType

    from varicap.watch import Point, Sample

_MOST_FLOWS = 12
_MOST_LINKS = 8
_HISTORY = 16  # so that a table fits a terminal of 80 columns
_MOST_MISSES = 2
"""All runs that go on are asked at once: who misses that has ended."""
_BARS = "▁▂▃▄▅▆▇█"


@dataclass
class _Shown:
    """The run of a network that is shown: one until it ends, then another."""

    replication: int
    duration_s: float
    flows: "dict[str, Point]" = field(default_factory=dict)
    links: "dict[str, Point]" = field(default_factory=dict)
    history: dict[tuple[str, str], deque[float]] = field(default_factory=dict)
    misses: int = 0
    """What other runs have reported since this one last did."""

    def add(self, sample: "Sample") -> None:
        self.misses = 0
        for kind, points, column in (
            ("flow", sample.flows, "goodput_bps"),
            ("link", sample.links, "backlog_packets"),
        ):
            (self.flows if kind == "flow" else self.links).update(points)
            for name, point in points.items():
                values = self.history.setdefault((kind, name), deque(maxlen=_HISTORY))
                values.append(_number(point[column]))

    @property
    def time_s(self) -> float:
        return max((_number(point["time_s"]) for point in (*self.flows.values(), *self.links.values())), default=0.0)


class Dashboard:
    """What a terminal shows of runs that go on: give `watch` to a run, and `progress`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = (0.0, 0, 0)
        self.networks: dict[int, _Shown] = {}

    def progress(self, share: float, done: int, total: int) -> None:
        """So much of the work is done."""
        self.done = (share, done, total)

    def watch(self, sample: "Sample") -> None:
        """Take in the state of a run."""
        shown = self.networks.get(sample.network)
        # A run that is shown stays until it has ended: numbers of two runs in turn would say nothing.
        if shown is None or (shown.replication != sample.replication and shown.misses >= _MOST_MISSES):
            shown = self.networks[sample.network] = _Shown(sample.replication, sample.duration_s)
        if shown.replication == sample.replication:
            shown.add(sample)
        else:
            shown.misses += 1

    def __rich__(self) -> "RenderableType":
        share, done, total = self.done
        head = Table.grid(padding=(0, 1))
        head.add_row(
            Text(self.name, style="bold"),
            ProgressBar(total=1.0, completed=share, width=30),
            Text(f"{share:4.0%}"),
            Text(f"{done}/{total} runs" if total else ""),
        )
        parts: list[RenderableType] = [head]
        for rows, most, make in (
            (self._rows("flow"), _MOST_FLOWS, _flows),
            (self._rows("link"), _MOST_LINKS, _links),
        ):
            if rows:
                parts.append(make(rows[:most]))
                if len(rows) > most:
                    parts.append(Text(f"… and {len(rows) - most} more", style="dim"))
        return Group(*parts)

    def _rows(self, kind: str) -> list[tuple[str, _Shown, "Point", deque[float]]]:
        several = len(self.networks) > 1
        rows = []
        for _, shown in sorted(self.networks.items()):
            points = shown.flows if kind == "flow" else shown.links
            if kind == "link":
                # A link without a limit has no queue to look at.
                points = {name: each for name, each in points.items() if each["capacity_bps"] is not None} or points
            # Of a flow that has the network to itself the links are its own.
            owner = next(iter(shown.flows), "") if several else ""
            for name, point in points.items():
                label = f"{owner}/{name}" if kind == "link" and owner else name
                rows.append((label, shown, point, shown.history[kind, name]))
        return rows


def _flows(rows: list[tuple[str, _Shown, Any, deque[float]]]) -> Table:
    table = _table("flow", "run", "time [s]", "goodput [Mb/s]", "cwnd [kB]", "RTT [ms]", "state", "goodput")
    for name, shown, point, history in rows:
        table.add_row(
            Text(name),
            str(shown.replication),
            f"{shown.time_s:.1f} of {shown.duration_s:g}",
            _text(point["goodput_bps"], 1e-6),
            _text(point["cwnd_bytes"], 1e-3),
            _text(point["srtt_s"], 1e3),
            _STATES[point["state"]],
            sparkline(history),
        )
    return table


def _links(rows: list[tuple[str, _Shown, Any, deque[float]]]) -> Table:
    table = _table("link", "capacity [Mb/s]", "throughput [Mb/s]", "queue [packets]", "queue")
    for name, _, point, history in rows:
        table.add_row(
            Text(name),
            _text(point["capacity_bps"], 1e-6),
            _text(point["throughput_bps"], 1e-6),
            str(point["backlog_packets"]),
            sparkline(history),
        )
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 1))
    for place, heading in enumerate(headings):
        last = place == len(headings) - 1
        table.add_column(
            Text(heading.replace(" [", "\n["), style="dim"),
            justify="left" if place == 0 or last else "right",
            no_wrap=True,
            min_width=_HISTORY if last else None,
        )
    return table


def sparkline(values: "deque[float] | list[float]") -> str:
    """Values as a line of bars, the greatest of them as the highest.

    >>> sparkline([0.0, 1.0, 2.0, float("nan"), 4.0])
    '▁▃▅ █'
    """
    most = max((value for value in values if not math.isnan(value)), default=0.0)
    if most <= 0.0:
        return "".join(" " if math.isnan(value) else _BARS[0] for value in values)
    return "".join(" " if math.isnan(value) else _BARS[min(7, int(8 * value / most))] for value in values)


# As in the column `state` of time series.
_STATES = ("connecting", "open", "disorder", "recovery", "loss", "cwr")


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _text(value: Any, scale: float) -> str:
    number = _number(value) * scale
    return "–" if math.isnan(number) else significant(number, 3)
