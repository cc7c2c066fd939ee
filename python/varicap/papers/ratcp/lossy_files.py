"""§V-D, the text: files that arrive at random on a link that also loses packets at random."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.ratcp.files import KINDS, Files, measure
from varicap.papers.ratcp.kinds import RATCP, TCP, Kind
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_LOSS = 0.01
_CASES = ((200.0, 0.1), (200.0, 0.5), (200.0, 0.7), (1000.0, 0.1), (1000.0, 0.3))
_SMALL = [number for number, (size, _) in enumerate(_CASES) if size == 200.0]
_LARGE = _CASES.index((1000.0, 0.1))


def reproduce(run: Run) -> Outcome:
    """Small files at three loads, large ones at two."""
    cells = [measure(run, load, size_kb=size, loss=_LOSS, seeds=run.pick(10, 4)) for size, load in _CASES]
    gains = [_gain(cell) for cell in cells]
    values = {
        "VD-small": Value(sim=Interval.of(np.mean([gains[number] for number in _SMALL], axis=0))),
        "VD-large": Value(sim=Interval.of(gains[_LARGE])),
    }
    columns = [f"{size:g} kB, load {load:g}" for size, load in _CASES]
    rows = {kind.name: [Interval.of(cell[kind].throughput) for cell in cells] for kind in KINDS}
    grid = Grid("Throughput of a file at 1 % loss", "kB/s", "mean size and load", columns, rows)
    return Outcome(values, partial(_draw, cells, columns), [grid])


def _gain(cell: dict[Kind, Files]) -> Array:
    """How much better RATCP (beta = 1) is than TCP [%]."""
    return 100.0 * (cell[RATCP].throughput / cell[TCP].throughput - 1.0)


def _draw(cells: list[dict[Kind, Files]], columns: list[str]) -> Figure:
    values = [(kind.name, [Interval.of(cell[kind].throughput) for cell in cells]) for kind in KINDS]
    names = [column.replace(", ", ",\n") for column in columns]
    return bars("§V-D: files on 2 Mb/s with 1 % loss", names, values, "mean throughput of a file [kB/s]")
