"""Fig. 8: data retransmitted by files that arrive at random, against the load."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from varicap.papers.ratcp.files import LOADS, Files, by_load, outcome
from varicap.papers.ratcp.kinds import RATCP, RATCP_4, TCP, Kind
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import most
from varicap.report.paper import Axis
from varicap.statistics import Interval


def reproduce(run: Run) -> Outcome:
    """Retransmitted data per file at each load."""
    cells = by_load(run)
    values = {"F8-tcp": Value(sim=_largest(cells, TCP)), "F8-beta4": Value(sim=_largest(cells, RATCP_4))}
    axis = Axis("retransmitted data per file [kB]")
    return outcome("Fig. 8", cells, values, attrgetter("resent"), axis, "kB")


def _largest(cells: Sequence[Mapping[Kind, Files]], other: Kind) -> Interval:
    """What RATCP (beta = 1) resends over what the other does: the largest ratio at loads from 0.7.

    At lower loads single runs resend nothing at all.
    """
    return most(cell[RATCP].resent / cell[other].resent for load, cell in zip(LOADS, cells, strict=True) if load >= 0.7)
