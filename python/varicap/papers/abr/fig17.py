"""Fig. 17: EFFCAP's M where the capacity lasts 1 s on average."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from matplotlib.figure import Figure

from varicap.papers.abr.fig15 import SECTION_VI
from varicap.papers.abr.sessions import EFFICIENCY, curve, gain, mean, one, samples_of, with_buffers
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.report.paper import Axis, curves
from varicap.statistics import Array, Interval

AVERAGES = tuple(range(1, 11))
QUICK_AVERAGES = (1, 2, 4, 7, 10)
"""Values of M in samples."""
DELAYS_MS = (50.0, 100.0, 200.0)
TIMES = (2, 12)

Ours = dict[tuple[float, int], dict[int, Array]]


def measured(run: Run, tau_ms: float, buffer: int = 10, averages: Sequence[int] | None = None) -> Ours:
    """Efficiency by M, for each delay and k of N : k Delta."""
    return {
        (delay, times): {
            average: one(
                run, "effcap", tau_ms, delay_ms=delay, buffer=buffer, memory=(average, samples_of(times, delay)[1])
            )
            for average in averages or run.pick(AVERAGES, QUICK_AVERAGES)
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
    values = {claim: Value(sim=value) for claim, value in _of(ours).items()}
    values |= {
        "ABR-C13-steps": Value(sim=_largest_step(ours)),
        "ABR-rule-M17": Value(sim=of_rule(ours)),
        "ABR-small-M17": Value(sim=small_over_large(ours)),
    }
    points = dict.fromkeys(("ABR-C13-steps", "ABR-C13-N", "ABR-C13-N200", "ABR-rule-M17"), said_averages(run))
    readings = with_buffers(
        lambda buffer: _of(measured(run, 1000.0, buffer, QUICK_AVERAGES)), run.pick(SECTION_VI, (5, 12))
    )
    return Outcome(values, partial(draw, "Fig. 17: tau = 1 s", 1000.0, ours), readings=readings, points=points)


def _of(ours: Ours) -> dict[str, Interval]:
    return {
        "ABR-C13-M": from_one_to_ten(ours[50.0, 2]),
        "ABR-C13-N": of_memory(ours, 50.0),
        "ABR-C13-N200": of_memory(ours, 200.0),
    }


def said_averages(run: Run) -> str:
    """The values of M of a claim in words."""
    return f"M of {', '.join(map(str, run.pick(AVERAGES, QUICK_AVERAGES)))}"


def of_rule(ours: Ours) -> Interval:
    """What M : Delta gives of the best M, where that is least."""
    return least(
        points[samples_of(2, delay)[0]] / other for (delay, _), points in ours.items() for other in points.values()
    )


def small_over_large(ours: Ours) -> Interval:
    """What M = 1 gains over M = 10, where that is least [%]."""
    return least(gain(points[1], points[10]) for points in ours.values())


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
