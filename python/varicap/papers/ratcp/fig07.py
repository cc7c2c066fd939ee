"""Fig. 7: average throughput of files that arrive at random, against the load."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.ratcp.files import KINDS, Files, by_load
from varicap.papers.ratcp.kinds import RATCP, TCP, Kind
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Interval

LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)


def reproduce(run: Run) -> Outcome:
    """Throughput at each load."""
    cells = by_load(run, LOADS)
    ratios = [Interval.of(cell[RATCP].throughput / cell[TCP].throughput) for cell in cells]
    farthest = max(ratios, key=lambda ratio: abs(ratio.mean - 1.0))
    rows = {kind.name: [Interval.of(cell[kind].throughput) for cell in cells] for kind in KINDS}
    grid = Grid("Fig. 7 in numbers, and a TCP of today", "kB/s", "load", [f"{load:g}" for load in LOADS], rows)
    return Outcome({"F7-same": Value(sim=farthest)}, partial(_draw, cells), [grid])


def _draw(cells: list[dict[Kind, Files]]) -> Figure:
    lines = [
        Curve(kind.name, LOADS, [Interval.of(cell[kind].throughput) for cell in cells], colour)
        for colour, kind in enumerate(KINDS)
    ]
    title = "Fig. 7: files of 200 kB on average on 2 Mb/s"
    return curves(title, lines, Axis("load"), Axis("mean throughput of a file [kB/s]"))
