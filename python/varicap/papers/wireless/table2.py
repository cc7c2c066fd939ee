"""Table II: System 1 over fading, 400 ms."""

from varicap.papers.run import Outcome, Run
from varicap.papers.wireless.outcome import outcome
from varicap.papers.wireless.tables import TABLE_2


def reproduce(run: Run) -> Outcome:
    """Its cells."""
    return outcome(run, TABLE_2)
