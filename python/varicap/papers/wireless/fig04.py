"""Fig. 4: throughput against the buffer, System 1."""

from varicap.papers.run import Outcome, Run
from varicap.papers.wireless import figures
from varicap.papers.wireless.tables import TABLE_1


def reproduce(run: Run) -> Outcome:
    """The curves by analysis and simulation."""
    return figures.outcome(run, "F4", TABLE_1)
