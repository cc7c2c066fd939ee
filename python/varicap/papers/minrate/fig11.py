"""Fig. 11: timed transmissions and a rate-adaptive window when the reservation changes."""

from functools import partial

from varicap.papers.minrate.network import interval
from varicap.papers.minrate.transients import Pairs, draw, transients
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value

_CASES: tuple[tuple[Pairs, str], ...] = (("fwd", "reno"), ("both", "reno"), ("fwd", "sack"), ("both", "sack"))


def reproduce(run: Run) -> Outcome:
    """How quickly the flow follows its reservation, with Reno and with SACK."""
    found = {f"{pairs}/{recovery}": transients(run, pairs, "windowed", recovery) for pairs, recovery in _CASES}
    values = {}
    for case, one in found.items():
        values[f"F11-t90/{case}"] = one.t90
        values[f"F11-last5/{case}"] = one.last5
    rows = {
        case: [interval(value) for value in (one.t90, one.first5, one.last5, one.after_fall)]
        for case, one in found.items()
    }
    columns = ["t90 [s]", "first 5 s / 6 Mb/s", "last 5 s / 6 Mb/s", "1 to 4 s after a fall / 6 Mb/s"]
    grid = Grid("Fig. 11 in numbers", "", "best effort / recovery", columns, rows)
    title = "Fig. 11: timer and windowing, 4 best-effort flows one way"
    return Outcome(
        {key: Value(sim=interval(value)) for key, value in values.items()},
        partial(draw, title, found["fwd/reno"]),
        [grid],
    )
