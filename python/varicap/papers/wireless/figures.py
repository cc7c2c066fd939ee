"""Figs. 4 and 5: throughput against the buffer, by analysis and simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from matplotlib.figure import Figure

from varicap.analyse.models.wireless import Result, estimate_all
from varicap.papers.run import Grid, Outcome, Run, paired
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import DOPPLERS, MARKOV, Column, Table, link, published
from varicap.papers.wireless.simulated import FLOWS, channel_of, utilisation
from varicap.papers.wireless.tables import BY_ID
from varicap.papers.worst import least
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_BUFFERS = (2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64)
"""Buffers of the analysis [TCP packets]."""
_SIMULATED = (2, 4, 8, 12, 16, 24, 32, 64)
_SIMULATED_QUICKLY = (2, 8, 16, 32, 64)
_RTT_S = 0.4


@dataclass(frozen=True)
class _Row:
    """The curves at one Doppler frequency."""

    model: Sequence[Result]
    """The analysis for each of `_BUFFERS`."""
    simulated: Mapping[int, Mapping[str, Array]]
    """Link utilisation of each flow by buffer [%]."""

    @property
    def output(self) -> float:
        """What the channel lets through [%]."""
        return 100 * self.model[0].output


def reproduce(run: Run, name: str, table: str) -> Outcome:
    """Throughput over a range of buffers, with the points of the table with this id, which has the same links."""
    return _outcome(run, name, BY_ID[table])


def _outcome(run: Run, name: str, table: Table) -> Outcome:
    rows = {doppler: _row(run, table, doppler) for doppler in DOPPLERS}
    steps = [more.utilisation - less.utilisation for row in rows.values() for less, more in pairwise(row.model)]
    above = [row.simulated[64]["tahoe"] - 0.75 * row.output for row in rows.values()]
    steps_of_tahoe = [step for row in rows.values() for step in _steps(row)]
    values = {
        f"{name}-ceiling": Value(model=max(one.utilisation / one.output for row in rows.values() for one in row.model)),
        f"{name}-grows": Value(model=100 * min(steps)),
        f"{name}-pessimistic": Value(sim=least(above)),
        f"{name}-grows-sim": Value(sim=least(steps_of_tahoe)),
    }
    return Outcome(values, partial(_draw, run.key, name, table, rows), [_grid(name, table, rows)])


def _row(run: Run, table: Table, doppler: int) -> _Row:
    model = estimate_all([link(table.system, MARKOV[doppler], Column("", size, _RTT_S)) for size in _BUFFERS])
    channel = channel_of(MARKOV, doppler)
    simulated = {
        size: utilisation(run, table.system, channel, Column("", size, _RTT_S))
        for size in run.pick(_SIMULATED, _SIMULATED_QUICKLY)
    }
    return _Row(model, simulated)


def _steps(row: _Row) -> list[Array]:
    """Tahoe's steps from each buffer to the next [percentage points]."""
    both = (paired(less["tahoe"], more["tahoe"]) for less, more in pairwise(row.simulated.values()))
    return [more - less for less, more in both]


def _grid(name: str, table: Table, rows: Mapping[int, _Row]) -> Grid:
    """The figure in numbers; the paper has it only as a plot."""
    sizes = list(next(iter(rows.values())).simulated)
    found: dict[str, list[Interval]] = {}
    for doppler, row in rows.items():
        by_size = dict(zip(_BUFFERS, row.model, strict=True))
        found[f"{doppler} Hz, analysis"] = [Interval(100 * by_size[size].utilisation) for size in sizes]
        for flow in FLOWS:
            found[f"{doppler} Hz, {flow}"] = [Interval.of(row.simulated[size][flow]) for size in sizes]
    title = f"Fig. {name[1:]} in numbers: {table.system.name}, 400 ms, Markov channel"
    return Grid(title, "%", "buffer [TCP packets]", [str(size) for size in sizes], found)


def _draw(key: str, name: str, table: Table, rows: Mapping[int, _Row]) -> Figure:
    lines = []
    paper = published(key, table.ids("tahoe"))
    width = len(table.columns)
    of_table = [column.packets for column in table.columns]
    for colour, (doppler, row) in enumerate(rows.items()):
        tahoe = [Interval.of(found["tahoe"]) for found in row.simulated.values()]
        points = paper[width * colour : width * (colour + 1)]
        lines += [
            Curve(f"{doppler} Hz, analysis", _BUFFERS, [100 * one.utilisation for one in row.model], colour, "model"),
            Curve(f"{doppler} Hz, Tahoe", list(row.simulated), tahoe, colour),
            Curve(f"{doppler} Hz, the paper's Tahoe", of_table, points, colour, "paper"),
        ]
    title = f"Fig. {name[1:]}: {table.system.name}, 400 ms, Markov channel"
    return curves(title, lines, Axis("buffer [TCP packets]"), Axis("link utilisation [%]"))
