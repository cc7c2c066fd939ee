"""Fig. 10: unmodified TCP when its reservation changes."""

from functools import partial

from varicap.papers.minrate.network import interval
from varicap.papers.minrate.transients import Pairs, draw, table, transients
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value

_PAIRS: tuple[Pairs, ...] = ("fwd", "both")
_READINGS: dict[str, Pairs] = {"4 one way": "fwd", "4 each way": "both", "8 one way": "eight"}


def reproduce(run: Run) -> Outcome:
    """How slowly the flow follows a rise of its reservation, and how quickly a fall."""
    found = {pairs: transients(run, pairs, "plain") for pairs in _PAIRS}
    values = {}
    for pairs, one in found.items():
        values[f"F10a-t90/{pairs}"] = one.t90
        values[f"F10a-first5/{pairs}"] = one.first5
        values[f"F10a-last5/{pairs}"] = one.last5
        values[f"F10b/{pairs}"] = one.left_to_fall
    title = "Fig. 10: unmodified TCP, bucket of 800 ms, 4 best-effort flows each way"
    readings = {name: found.get(pairs) or transients(run, pairs, "plain") for name, pairs in _READINGS.items()}
    return Outcome(
        {key: Value(sim=interval(value)) for key, value in values.items()},
        partial(draw, title, found["both"]),
        [table("Readings: the four pairs of Fig. 10, unmodified TCP", "best effort", readings)],
    )
