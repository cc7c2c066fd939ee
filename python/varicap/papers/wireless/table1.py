"""Table I: System 1 over the Markov channel, 400 ms."""

from collections.abc import Mapping

from varicap.papers.run import Outcome, Run, paired
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import DOPPLERS
from varicap.papers.wireless.outcome import outcome
from varicap.papers.wireless.simulated import Cells
from varicap.papers.wireless.tables import TABLE_1
from varicap.papers.worst import least


def reproduce(run: Run) -> Outcome:
    """The cells of Table I, and the statements of the text about slow and fast fading."""
    return outcome(run, TABLE_1, _statements)


def _statements(_model: Mapping[str, float], simulated: Mapping[str, Cells]) -> dict[str, Value]:
    values = {}
    for flow, cells in simulated.items():
        slow, moderate, fast = paired(*(cells[f"{doppler}/8"] for doppler in DOPPLERS))
        values[f"T1-moderate-{flow}"] = Value(sim=least([moderate - slow, moderate - fast]))
        slow, moderate, fast = paired(*(cells[f"{doppler}/16"] for doppler in DOPPLERS))
        values[f"T1-fast-{flow}"] = Value(sim=least([slow - fast, moderate - fast]))
    return values
