"""Fig. 17: EFFCAP's M where the capacity lasts 1 s on average."""

from functools import partial
from itertools import pairwise

from matplotlib.figure import Figure

from varicap.papers.abr.sessions import EFFICIENCY, curve, gain, mean, one, samples_of
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import most
from varicap.report.paper import Axis, curves
from varicap.statistics import Array, Interval

AVERAGES = tuple(range(1, 11))
_QUICK_AVERAGES = (1, 4, 7, 10)
"""Values of M in samples."""
DELAYS_MS = (50.0, 100.0, 200.0)
TIMES = (2, 12)

Ours = dict[tuple[float, int], dict[int, Array]]


def measured(run: Run, tau_ms: float) -> Ours:
    """Efficiency by M, for each delay and k of N : k Delta."""
    return {
        (delay, times): {
            average: one(run, "effcap", tau_ms, delay_ms=delay, memory=(average, samples_of(times, delay)[1]))
            for average in run.pick(AVERAGES, _QUICK_AVERAGES)
        }
        for delay in DELAYS_MS
        for times in TIMES
    }


def from_one_to_ten(points: dict[int, Array]) -> Interval:
    """What M = 10 gains over M = 1 [%]."""
    return Interval.of(gain(points[10], points[1]))


def _largest_step(ours: Ours) -> Interval:
    """What a larger M gains over the next smaller one at most, at 50 ms for both N [%]."""
    rows = (list(ours[50.0, times].values()) for times in TIMES)
    return most([gain(more, less) for row in rows for less, more in pairwise(row)])


def of_memory(ours: Ours, delay: float) -> Interval:
    """What N : 12 Delta gains over N : 2 Delta, as a mean over M [%]."""
    return mean([gain(long, ours[delay, 2][average]) for average, long in ours[delay, 12].items()])


def reproduce(run: Run) -> Outcome:
    """At psi = 20: how M lowers the efficiency, and whether N raises it."""
    ours = measured(run, 1000.0)
    values = {
        "ABR-C13-M": Value(sim=from_one_to_ten(ours[50.0, 2])),
        "ABR-C13-steps": Value(sim=_largest_step(ours)),
        "ABR-C13-N": Value(sim=of_memory(ours, 50.0)),
        "ABR-C13-N200": Value(sim=of_memory(ours, 200.0)),
    }
    return Outcome(values, partial(draw, "Fig. 17: tau = 1 s", 1000.0, ours))


def draw(title: str, tau_ms: float, ours: Ours) -> Figure:
    """A line for each delay and N."""
    lines = [
        curve(
            f"N : {times} Delta, Delta = {delay:g} ms, psi = {tau_ms / delay:g}",
            list(points),
            list(points.values()),
            number,
        )
        for number, ((delay, times), points) in enumerate(ours.items())
    ]
    return curves(title, lines, Axis("M [measuring intervals]"), EFFICIENCY)
