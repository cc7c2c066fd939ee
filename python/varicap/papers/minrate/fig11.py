"""Fig. 11: timed transmissions and a rate-adaptive window when the reservation changes."""

from functools import partial

from varicap.papers.minrate.transients import Pairs, draw, table, transients
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value

_CASES: tuple[tuple[Pairs, str], ...] = (("fwd", "reno"), ("both", "reno"), ("fwd", "sack"), ("both", "sack"))


def reproduce(run: Run) -> Outcome:
    """How quickly the flow follows its reservation, with Reno and with SACK."""
    found = {f"{pairs}/{recovery}": transients(run, pairs, "windowed", recovery) for pairs, recovery in _CASES}
    values = {}
    for case, one in found.items():
        values[f"F11-t90/{case}"] = one.t90
        values[f"F11-window/{case}"] = one.window
        values[f"F11-last5/{case}"] = one.last5
        values[f"F11-fall/{case}"] = one.left_to_fall
    grid = table("Readings: the four pairs of Fig. 11 and loss recovery", "best effort / recovery", found)
    title = "Fig. 11: timer and windowing, 4 best-effort flows one way"
    return Outcome(
        {key: Value.of(value) for key, value in values.items()},
        partial(draw, title, found["fwd/reno"]),
        [grid],
    )
