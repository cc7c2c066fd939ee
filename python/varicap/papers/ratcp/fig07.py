"""Fig. 7: average throughput of files that arrive at random, against the load."""

from operator import attrgetter

from varicap.papers.ratcp.files import by_load, outcome
from varicap.papers.ratcp.kinds import RATCP, TCP
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis
from varicap.statistics import Interval


def reproduce(run: Run) -> Outcome:
    """Throughput at each load."""
    cells = by_load(run)
    ratios = [Interval.of(cell[RATCP].throughput / cell[TCP].throughput) for cell in cells]
    values = {"F7-same": Value(sim=max(ratios, key=lambda ratio: abs(ratio.mean - 1.0)))}
    axis = Axis("mean throughput of a file [kB/s]")
    return outcome("Fig. 7", cells, values, attrgetter("throughput"), axis, "kB/s")
