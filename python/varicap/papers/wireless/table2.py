"""Table II: System 1 with the durations of the authors' fading simulator, 400 ms."""

from varicap.papers.run import Outcome, Run
from varicap.papers.wireless.cells import outcome
from varicap.papers.wireless.tables import TABLE_2


def reproduce(run: Run) -> Outcome:
    """Its cells."""
    return outcome(run.key, TABLE_2)
