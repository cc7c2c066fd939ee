"""Table I: what it costs to set, handle and cancel a timer, here and in this machine's kernel."""

from functools import partial

from varicap import bench
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Interval, Value
from varicap.report.paper import bars

_STEPS = {"set": "setting", "handle": "handling", "cancel": "canceling"}
_PAPER = {"133 MHz PowerPC (paper)": (7.4, 7.1, 6.5), "33 MHz POWER (paper)": (14.0, 30.1, 9.6)}
"""[µs]"""


def reproduce(run: Run) -> Outcome:
    """Measured on this machine while the call runs: no simulated time, and no replications."""
    measured = bench.timers()
    rows = {f"{row['where']}, {row['timers']} timers": [row[f"{step}_ns"] / 1e3 for step in _STEPS] for row in measured}
    ours = [row for row in measured if row["where"] == "simulator"]
    values = {f"TAB1-{step}": Value(sim=Interval(max(row[f"{step}_ns"] for row in ours) / 1e3)) for step in _STEPS}
    shown = {name: list(map(Interval, row)) for name, row in {**rows, **_PAPER}.items()}
    grid = Grid("Table I: timers", "µs", "operation", list(_STEPS.values()), shown)
    draw = partial(bars, "Table I: what timers cost", list(_STEPS.values()), list(shown.items()), "[µs]")
    return Outcome(values, draw, [grid])
