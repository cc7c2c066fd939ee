"""The cells of Tables I to VI: links, and their throughput by the analysis, as read and by other readings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from matplotlib.figure import Figure

from varicap import papers
from varicap.analyse.fading import Rayleigh
from varicap.analyse.models.wireless import SHARE_OF_CAPACITY, Parameters, Result, estimate_all
from varicap.analyse.models.wireless_channel import Channel
from varicap.papers.run import Grid, Outcome
from varicap.papers.verdict import Interval, Value
from varicap.report.paper import distances

ERROR = 0.01
"""Packet error probability in the good state.  Source: [wireless, §IV]."""


@dataclass(frozen=True)
class System:
    """How the link carries a TCP packet of 576 B at 1 Mb/s."""

    name: str
    segments: int
    slot_s: float
    grid: float
    """Step of the loads that the paper tried, as its numbers show [packets/slot]."""


PACKETS = System("System 1", 1, 576 * 8 / 1e6, 1e-3)
CELLS = System("System 2", 12, 0.400e-3, 1e-4)  # 53 B take 0.424 ms; the paper's numbers want 0.400
CELLS_53 = replace(CELLS, name="System 2, 0.424 ms", slot_s=53 * 8 / 1e6)

Durations = Mapping[int, tuple[float, float]]
MARKOV: Durations = {10: (100.0, 10.0), 30: (30.0, 3.0), 100: (10.0, 1.0)}
"""Mean durations of the good and the bad state by Doppler frequency [ms].  Source: [wireless, Table I]."""
JAKES: Durations = {10: (115.11, 9.8), 30: (40.12, 3.36), 100: (11.52, 0.98)}
"""The same, measured by the authors in their fading simulator.  Source: [wireless, Table III]."""
DOPPLERS = tuple(MARKOV)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    """As `claims.toml` has it: a buffer [frames] or a round trip [ms]."""
    packets: int
    """Buffer [TCP packets]."""
    round_trip_s: float


@dataclass(frozen=True, eq=False)
class Table:
    """One of the tables."""

    id: str
    title: str
    system: System
    durations: Durations
    columns: Sequence[Column]

    def links(self, change: "Callable[[int, Column, Parameters], Parameters] | None" = None) -> list[Parameters]:
        """A link for each cell, row by row, each changed as `change` says."""
        cells = [(doppler, column) for doppler in DOPPLERS for column in self.columns]
        links = [link(self.system, self.durations[doppler], column) for doppler, column in cells]
        if change is None:
            return links
        return [change(doppler, column, one) for (doppler, column), one in zip(cells, links, strict=True)]

    def ids(self, kind: str = "model") -> list[str]:
        """The claims of the cells, row by row: of the analysis, or of a flow that is simulated."""
        return [f"{self.id}.f{doppler}-{kind}.{column.name}" for doppler in DOPPLERS for column in self.columns]

    def cells(self) -> list[str]:
        """The cells as they are called here, row by row."""
        return [f"{doppler}/{column.name}" for doppler in DOPPLERS for column in self.columns]


def link(system: System, durations_ms: tuple[float, float], column: Column) -> Parameters:
    """The link of a cell, with the fixed loss probability that the tables follow."""
    good, bad = durations_ms
    channel = Channel.good_bad(good_s=good / 1e3, bad_s=bad / 1e3, error=ERROR)
    return Parameters(
        slot=channel.slot(system.slot_s),
        slot_s=system.slot_s,
        buffer_frames=column.packets * system.segments,
        round_trip_s=column.round_trip_s,
        segments=system.segments,
        tolerated_loss=1e-4 if column.round_trip_s > 0.1 else 1e-2,
    )


def percent(results: Sequence[Result]) -> list[float]:
    """Link utilisation [%]."""
    return [100 * one.utilisation for one in results]


def on_grid(system: System, result: Result) -> float:
    """Link utilisation at the first load of the paper's grid that is too much [%]."""
    load = ceil(result.arrivals / system.grid - 1e-9) * system.grid
    return 100 * SHARE_OF_CAPACITY * system.segments * load


def published(key: str, ids: Sequence[str]) -> list[float]:
    """The paper's numbers of these claims."""
    by_id = {claim.id: claim for claim in papers.paper(key).claims}
    return [float(by_id[one].paper) for one in ids]


def outcome(key: str, table: Table, more: Callable[[dict[str, float]], dict[str, Value]] | None = None) -> Outcome:
    """Every cell of a table; `more` makes values of statements from the cells, by ``f10.8`` and the like."""
    ours = percent(estimate_all(table.links()))
    values = {one: Value(model=cell) for one, cell in zip(table.ids(), ours, strict=True)}
    if more is not None:
        values |= more(
            {one.split(".", 1)[1].replace("-model", ""): value.model or 0.0 for one, value in values.items()}
        )
    return Outcome(values, partial(_draw, key, table, ours), [_readings(table)])


def _readings(table: Table) -> Grid:
    """The table by readings other than ours."""
    rows = {
        "as the paper prints the criterion: 1 / W^2": table.links(_printed),
        "exact durations of Rayleigh fading": table.links(partial(_rayleigh, table.system, states=2)),
        "four levels of Rayleigh fading": table.links(partial(_rayleigh, table.system, states=4)),
    }
    if table.system is CELLS:
        rows["slots of 53 B, 0.424 ms"] = replace(table, system=CELLS_53).links()
    columns = [f"{doppler}/{column.name}" for doppler in DOPPLERS for column in table.columns]
    found = {name: [Interval(cell) for cell in percent(estimate_all(links))] for name, links in rows.items()}
    return Grid(
        f"{table.title}: the analysis by other readings",
        "%",
        "Doppler frequency [Hz] / column of the table",
        columns,
        found,
    )


def _printed(_doppler: int, _column: Column, parameters: Parameters) -> Parameters:
    return replace(parameters, tolerated_loss=None)


def _rayleigh(system: System, doppler: int, _column: Column, parameters: Parameters, *, states: int) -> Parameters:
    channel = Channel.rayleigh(Rayleigh(doppler_hz=doppler), error=ERROR, states=states)
    return replace(parameters, slot=channel.slot(system.slot_s))


def _draw(key: str, table: Table, ours: list[float]) -> Figure:
    far = [cell / paper - 1 for cell, paper in zip(ours, published(key, table.ids()), strict=True)]
    width = len(table.columns)
    rows = [(f"{doppler} Hz", far[width * row : width * (row + 1)]) for row, doppler in enumerate(DOPPLERS)]
    return distances(f"{table.title}: the analysis", rows, [column.name for column in table.columns], "column")
