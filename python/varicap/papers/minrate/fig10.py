"""Fig. 10: unmodified TCP when its reservation changes."""

from functools import partial

from varicap.papers.minrate.transients import Pairs, Transients, draw, table, transients
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array

_PAIRS: tuple[Pairs, ...] = ("fwd", "both")
_READINGS: dict[str, Pairs] = {"4 one way": "fwd", "4 each way": "both", "8 one way": "eight"}


_RECEIVERS = {
    "an ACK for every other packet": {"tcp.ack": "delayed"},
    "a loss halves the window": {"tcp.halving": '"window"'},
}
"""What the paper leaves open of the stack, each alone."""


def reproduce(run: Run) -> Outcome:
    """How slowly the flow follows a rise of its reservation, and how quickly a fall."""
    found = {pairs: transients(run, pairs, "plain") for pairs in _PAIRS}
    values: dict[str, Value] = {}
    for pairs, one in found.items():
        values |= {f"{claim}/{pairs}": Value.of(value) for claim, value in _of(one).items()}
    title = "Fig. 10: unmodified TCP, bucket of 800 ms, 4 best-effort flows each way"
    readings = {name: found.get(pairs) or transients(run, pairs, "plain") for name, pairs in _READINGS.items()}
    other = {name: transients(run, "fwd", "plain", changes=changes) for name, changes in _RECEIVERS.items()}
    other["eight one way"] = readings["8 one way"]
    by_claim: dict[str, dict[str, Value]] = {}
    for name, one in other.items():
        for claim, value in _of(one).items():
            by_claim.setdefault(f"{claim}/fwd", {})[name] = Value.of(value)
    return Outcome(
        values,
        partial(draw, title, found["both"]),
        [table("Readings: the four pairs of Fig. 10, unmodified TCP", "best effort", readings | other)],
        by_claim,
    )


def _of(found: Transients) -> dict[str, Array]:
    """What the text says of unmodified TCP, by claim."""
    return {
        "F10a-window": found.window,
        "F10a-first5": found.first5,
        "F10a-last5": found.last5,
        "F10b": found.left_to_fall,
    }
