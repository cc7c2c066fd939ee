"""Fig. 8: what files that arrive at random resend, against the load."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.ratcp.fig07 import LOADS
from varicap.papers.ratcp.files import KINDS, Files, by_load
from varicap.papers.ratcp.kinds import RATCP, RATCP_4, TCP, Kind
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Interval


def reproduce(run: Run) -> Outcome:
    """Retransmitted data per file at each load."""
    cells = by_load(run, LOADS)
    rows = {kind.name: [Interval.of(cell[kind].resent) for cell in cells] for kind in KINDS}
    values = {"F8-tcp": Value(sim=_largest(cells, TCP)), "F8-beta4": Value(sim=_largest(cells, RATCP_4))}
    grid = Grid("Fig. 8 in numbers, and a TCP of today", "kB", "load", [f"{load:g}" for load in LOADS], rows)
    return Outcome(values, partial(_draw, cells), [grid])


def _largest(cells: list[dict[Kind, Files]], other: Kind) -> Interval:
    """What RATCP (beta = 1) resends over what the other does: the largest ratio at loads from 0.7."""
    ratios = [
        Interval.of(cell[RATCP].resent / cell[other].resent)
        for load, cell in zip(LOADS, cells, strict=True)
        if load >= 0.7
    ]
    return max(ratios, key=lambda ratio: ratio.mean)


def _draw(cells: list[dict[Kind, Files]]) -> Figure:
    lines = [
        Curve(kind.name, LOADS, [Interval.of(cell[kind].resent) for cell in cells], colour)
        for colour, kind in enumerate(KINDS)
    ]
    title = "Fig. 8: files of 200 kB on average on 2 Mb/s"
    return curves(title, lines, Axis("load"), Axis("retransmitted data per file [kB]"))
