"""Fig. 7: average throughput of files that arrive at random, against the load."""

from operator import attrgetter

from varicap.papers.ratcp.files import by_load, outcome
from varicap.papers.ratcp.kinds import RATCP, TCP
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import farthest
from varicap.report.paper import Axis


def reproduce(run: Run) -> Outcome:
    """Throughput at each load."""
    cells = by_load(run)
    values = {"F7-same": Value(sim=farthest(cell[RATCP].throughput / cell[TCP].throughput for cell in cells))}
    axis = Axis("mean throughput of a file [kB/s]")
    return outcome("Fig. 7", cells, values, attrgetter("throughput"), axis, "kB/s")
