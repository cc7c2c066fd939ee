"""Table IV: System 2 over the Markov channel, 400 ms."""

from varicap.papers.run import Outcome, Run
from varicap.papers.wireless.outcome import outcome
from varicap.papers.wireless.tables import TABLE_4


def reproduce(run: Run) -> Outcome:
    """Its cells."""
    return outcome(run, TABLE_4)
