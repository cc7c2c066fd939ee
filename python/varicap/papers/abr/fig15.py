"""Fig. 15: EFFCAP's N where the capacity lasts 100 ms on average and the round-trip time varies."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.abr.sessions import EFFICIENCY, PSI_AXIS, curve, gain, one, samples_of
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.report.paper import curves
from varicap.statistics import Array

DELAYS_MS = (500.0, 400.0, 300.0, 200.0, 150.0, 100.0, 70.0, 50.0)
_QUICK_MS = (500.0, 200.0, 50.0)
TIMES = (2, 4, 6, 8, 10, 12)
_QUICK_TIMES = (2, 12)
"""Values of k in N : k Delta."""
_LEAST = 0.6
"""The efficiency of the least capacity, as the paper has it: 50 of 75 kB/s, times 48/53 for cells."""

Ours = dict[int, dict[float, Array]]


def measured(run: Run, tau_ms: float) -> Ours:
    """Efficiency by k and delay, where the capacity stays tau in a state on average."""
    return {
        times: {
            delay: one(run, "effcap", tau_ms, delay_ms=delay, memory=samples_of(times, delay))
            for delay in run.pick(DELAYS_MS, _QUICK_MS)
        }
        for times in run.pick(TIMES, _QUICK_TIMES)
    }


def reproduce(run: Run) -> Outcome:
    """Whether the efficiency rises as N grows, and to what."""
    ours = measured(run, 100.0)
    rises = [gain(long, ours[2][delay]) for delay, long in ours[12].items()]
    apart = [distance for long in ours[12].values() for distance in (long - _LEAST, _LEAST - long)]
    values = {"ABR-C11": Value(sim=most(apart)), "ABR-C11-rises": Value(sim=least(rises))}
    return Outcome(values, partial(draw, "Fig. 15: tau = 100 ms", 100.0, ours))


def draw(title: str, tau_ms: float, ours: Ours) -> Figure:
    """A line for each k."""
    lines = [
        curve(f"N : {times} Delta", [tau_ms / delay for delay in points], list(points.values()), number)
        for number, (times, points) in enumerate(ours.items())
    ]
    return curves(f"{title}, round-trip times from 500 to 50 ms", lines, PSI_AXIS, EFFICIENCY)
