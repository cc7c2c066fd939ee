"""Fig. 5: throughput against the buffer, System 2."""

from varicap.papers.run import Outcome, Run
from varicap.papers.wireless import figures
from varicap.papers.wireless.tables import TABLE_4


def reproduce(run: Run) -> Outcome:
    """The curves by analysis and simulation."""
    return figures.outcome(run, "F5", TABLE_4)
