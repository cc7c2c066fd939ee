"""Table I: System 1 over the Markov channel, 400 ms."""

from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import outcome
from varicap.papers.wireless.tables import TABLE_1


def reproduce(run: Run) -> Outcome:
    """Its cells, and what the text says of slow and fast fading."""
    return outcome(run.key, TABLE_1, _statements)


def _statements(cell: dict[str, float]) -> dict[str, Value]:
    return {
        "T1-moderate": Value(model=cell["f30.8"] - max(cell["f10.8"], cell["f100.8"])),
        "T1-fast": Value(model=min(cell["f10.16"], cell["f30.16"]) - cell["f100.16"]),
    }
