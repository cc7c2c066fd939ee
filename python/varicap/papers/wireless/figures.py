"""Figs. 4 and 5: throughput against the buffer, by the analysis."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from matplotlib.figure import Figure

from varicap.analyse.models.wireless import estimate_all
from varicap.papers.run import Outcome
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import DOPPLERS, MARKOV, Column, Table, link, published
from varicap.report.paper import Axis, Curve, curves

_BUFFERS = (2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64)
"""Buffers [TCP packets]."""


def outcome(key: str, name: str, table: Table) -> Outcome:
    """Throughput over a range of buffers, with the points of `table`, which has the same links."""
    found = {
        doppler: estimate_all([link(table.system, MARKOV[doppler], Column("", size, 0.4)) for size in _BUFFERS])
        for doppler in DOPPLERS
    }
    steps = [more.utilisation - less.utilisation for row in found.values() for less, more in pairwise(row)]
    values = {
        f"{name}-ceiling": Value(model=max(one.utilisation / one.output for row in found.values() for one in row)),
        f"{name}-grows": Value(model=100 * min(steps)),
    }
    ours = {doppler: [100 * one.utilisation for one in row] for doppler, row in found.items()}
    ceilings = {doppler: 75 * row[0].output for doppler, row in found.items()}
    return Outcome(values, partial(_draw, key, name, table, ours, ceilings))


def _draw(key: str, name: str, table: Table, ours: dict[int, list[float]], ceilings: dict[int, float]) -> Figure:
    lines = []
    paper = published(key, table.ids())
    width = len(table.columns)
    sizes: Sequence[float] = [column.packets for column in table.columns]
    for colour, doppler in enumerate(DOPPLERS):
        lines += [
            Curve(f"{doppler} Hz", _BUFFERS, ours[doppler], colour, "model"),
            Curve(
                f"{doppler} Hz, the paper's table", sizes, paper[width * colour : width * (colour + 1)], colour, "paper"
            ),
        ]
    title = f"Fig. {name[1:]}: {table.system.name}, 400 ms, Markov channel, by the analysis (at most " + ", ".join(
        f"{ceilings[doppler]:.0f} %" for doppler in DOPPLERS
    )
    return curves(f"{title})", lines, Axis("buffer [TCP packets]"), Axis("link utilisation [%]"))
