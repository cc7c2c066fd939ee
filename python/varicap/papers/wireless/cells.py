"""The cells of Tables I to VI as links of the analysis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from varicap import papers
from varicap.analyse.models.wireless import SHARE_OF_CAPACITY, Parameters, Result
from varicap.analyse.models.wireless_channel import Channel

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
CELLS = System("System 2", 12, 0.400e-3, 1e-4)  # 53 B take 0.424 ms; the paper's numbers fit 0.400
CELLS_53 = replace(CELLS, name="System 2, 0.424 ms", slot_s=53 * 8 / 1e6)

Durations = Mapping[int, tuple[float, float]]
MARKOV: Durations = {10: (100.0, 10.0), 30: (30.0, 3.0), 100: (10.0, 1.0)}
"""Mean durations of the good and the bad state by Doppler frequency [ms].  Source: [wireless, Table I]."""
JAKES: Durations = {10: (115.11, 9.8), 30: (40.12, 3.36), 100: (11.52, 0.98)}
"""The same durations, measured by the authors in their fading simulator.  Source: [wireless, Table III]."""
DOPPLERS = tuple(MARKOV)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    """The column's value in `claims.toml`: a buffer [frames] or a round trip [ms]."""
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
    column: str = "buffer [TCP packets]"
    """What the columns stand for."""

    def links(self, change: "Callable[[int, Column, Parameters], Parameters] | None" = None) -> list[Parameters]:
        """A link for each cell, row by row, each modified by `change`."""
        cells = [(doppler, column) for doppler in DOPPLERS for column in self.columns]
        links = [link(self.system, self.durations[doppler], column) for doppler, column in cells]
        if change is None:
            return links
        return [change(doppler, column, one) for (doppler, column), one in zip(cells, links, strict=True)]

    def ids(self, kind: str = "model") -> list[str]:
        """The claims of the cells, row by row: for the analysis, or for a simulated flow."""
        return [f"{self.id}.f{doppler}-{kind}.{column.name}" for doppler in DOPPLERS for column in self.columns]

    def cells(self) -> list[str]:
        """The names of the cells, row by row."""
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
