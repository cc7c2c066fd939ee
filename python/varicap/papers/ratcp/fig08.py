"""Fig. 8: data retransmitted by files that arrive at random, against the load."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from varicap.papers.ratcp.files import Files, by_load, outcome
from varicap.papers.ratcp.kinds import CUBIC, RATCP, RATCP_4, SACK, TCP, Kind
from varicap.papers.run import Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import most
from varicap.report.paper import Axis
from varicap.statistics import Interval


def reproduce(run: Run) -> Outcome:
    """Retransmitted data per file at each load."""
    cells = by_load(run)
    values = {"F8-tcp": Value(sim=_largest(cells, TCP)), "F8-beta4": Value(sim=_largest(cells, RATCP_4))}
    today = {"F8-tcp": {kind.name: Value(sim=_largest(cells, kind)) for kind in (SACK, CUBIC)}}
    axis = Axis("retransmitted data per file [kB]")
    return replace(outcome("Fig. 8", cells, values, attrgetter("resent"), axis, "kB"), today=today)


def _largest(cells: Sequence[Mapping[Kind, Files]], other: Kind) -> Interval:
    """What RATCP (beta = 1) resends over what the other does: the largest ratio over the loads at which that does."""
    return most(ratio(cell[RATCP].resent, cell[other].resent) for cell in cells if cell[other].resent.any())
