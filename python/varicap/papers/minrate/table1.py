"""The cost of setting, handling and cancelling a timer, in the simulator and in this machine's kernel.

Table I of the paper has that of AIX 4.2 on two machines of its time.  Nothing that runs here reproduces or refutes it,
so that it is no claim: its numbers stand beside ours.
"""

from functools import partial

from matplotlib.figure import Figure

from varicap.machine import bench
from varicap.papers.run import Grid, Outcome, Run
from varicap.report import style
from varicap.statistics import Interval

_STEPS = {"set": "setting", "handle": "handling", "cancel": "canceling"}
_PAPER = {"133 MHz PowerPC (paper)": (7.4, 7.1, 6.5), "33 MHz POWER (paper)": (14.0, 30.1, 9.6)}
"""[µs]"""


def reproduce(run: Run) -> Outcome:
    """Measure on this machine, during the call: there is no simulated time, and there are no replications."""
    measured = bench.timers()
    rows = {f"{row['where']}, {row['timers']} timers": [row[f"{step}_ns"] / 1e3 for step in _STEPS] for row in measured}
    shown = {name: list(map(Interval, row)) for name, row in {**rows, **_PAPER}.items()}
    grid = Grid("Timers here, and on the machines of Table I", "µs", "operation", list(_STEPS.values()), shown)
    return Outcome({}, partial(_draw, shown), [grid])


def _draw(shown: dict[str, list[Interval]]) -> Figure:
    figure = Figure(figsize=(7.0, 1.2 + 0.5 * len(shown)), dpi=120, layout="constrained")
    axes = figure.subplots()
    style.plain(axes)
    for number, step in enumerate(_STEPS.values()):
        at = [place + 0.26 * (number - 1) for place in range(len(shown))]
        axes.barh(at, [row[number].mean for row in shown.values()], 0.24, color=style.colour(number), label=step)
    axes.set_yticks(range(len(shown)), list(shown))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(1e-3, 1e2)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("[µs]", fontsize=9)
    axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    figure.suptitle("What timers cost here, and in Table I", fontsize=10)
    return figure
