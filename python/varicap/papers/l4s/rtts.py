"""Scenario 1 with round-trip times of 160 and 10 ms: how much the shorter one gets."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.l4s.pairs import Pair
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_PAIRS = (("prague", "prague"), ("prague", "cubic"), ("cubic", "prague"), ("cubic", "cubic"))


def reproduce(run: Run) -> Outcome:
    """Throughput of the flow of 10 ms over that of 160 ms."""
    ours: dict[tuple[str, str], Array] = {}
    for kind in _PAIRS:
        far, near = Pair("dualpi2", *kind, 160, 10).measure(run)
        ours[kind] = ratio(near, far)
    common = Pair("dualpi2", "prague", "prague", 160, 10).measure(run, common_rtt=True)
    values = {
        "S1-sixteen": Value(sim=Interval.of(ours["prague", "prague"])),
        "S1-shorter": Value(sim=least(ours.values())),
    }
    rows = {
        **{" and ".join(kind): [Interval.of(each)] for kind, each in ours.items()},
        "prague and prague, as if 25 ms at least": [Interval.of(ratio(common[1], common[0]))],
    }
    grid = Grid("What 10 ms get over what 160 ms get", "1", "ratio", ["DualPI2"], rows)
    return Outcome(values, partial(_draw, rows), [grid])


def _draw(rows: dict[str, list[Interval]]) -> Figure:
    names = [name.replace(", ", ",\n").replace(" and ", ",\n") for name in rows]
    values = [("10 ms over 160 ms", [row[0] for row in rows.values()])]
    return bars("Scenario 1: round-trip times of 160 and 10 ms through DualPI2", names, values, "ratio of throughputs")
