"""Fig. 15: EFFCAP's N where the capacity lasts 100 ms on average and the round-trip time varies."""

from collections.abc import Iterable
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.abr.sessions import EFFICIENCY, PSI_AXIS, curve, gain, one, samples_of, with_buffers
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.report.paper import curves
from varicap.statistics import Array, Interval

DELAYS_MS = (500.0, 400.0, 300.0, 200.0, 150.0, 100.0, 70.0, 50.0)
_QUICK_MS = (500.0, 200.0, 50.0)
TIMES = (2, 4, 6, 8, 10, 12)
_QUICK_TIMES = (2, 12)
"""Values of k in N : k Delta."""
SECTION_VI = (5, 6, 8, 12)
"""Buffers beside the ten packets of Section VI."""
_LEAST = 0.6
"""The efficiency of the least capacity, as the paper has it: 50 of 75 kB/s, times 48/53 for cells."""

Ours = dict[int, dict[float, Array]]


def measured(run: Run, tau_ms: float, buffer: int = 10) -> Ours:
    """Efficiency by k and delay, where the capacity stays tau in a state on average."""
    return {
        times: {
            delay: one(run, "effcap", tau_ms, delay_ms=delay, buffer=buffer, memory=samples_of(times, delay))
            for delay in run.pick(DELAYS_MS, _QUICK_MS)
        }
        for times in run.pick(TIMES, _QUICK_TIMES)
    }


def reproduce(run: Run) -> Outcome:
    """Whether the efficiency rises as N grows, and to what."""
    ours = measured(run, 100.0)
    values = {claim: Value(sim=value) for claim, value in _of(ours).items()}
    values["ABR-rule-N15"] = Value(sim=of_best(ours))
    points = dict.fromkeys(values, said_ms(ours[12]))
    readings = with_buffers(lambda buffer: _of(measured(run, 100.0, buffer)), run.pick(SECTION_VI, (5, 12)))
    return Outcome(values, partial(draw, "Fig. 15: tau = 100 ms", 100.0, ours), readings=readings, points=points)


def _of(ours: Ours) -> dict[str, Interval]:
    rises = [gain(long, ours[2][delay]) for delay, long in ours[12].items()]
    apart = [distance for long in ours[12].values() for distance in (long - _LEAST, _LEAST - long)]
    return {"ABR-C11": most(apart), "ABR-C11-rises": least(rises)}


def said_ms(delays: Iterable[float]) -> str:
    """The round trips of a claim in words.

    >>> said_ms([500.0, 50.0])
    'round trips of 500, 50 ms'
    """
    return f"round trips of {', '.join(f'{delay:g}' for delay in delays)} ms"


def of_best(ours: Ours) -> Interval:
    """What N : 8 to N : 12 Delta give of the best N at the same round trip, where that is least."""
    chosen = [times for times in ours if times >= 8]
    return least(
        [ours[times][delay] / other[delay] for times in chosen for other in ours.values() for delay in ours[times]]
    )


def draw(title: str, tau_ms: float, ours: Ours) -> Figure:
    """A line for each k."""
    lines = [
        curve(f"N : {times} Delta", [tau_ms / delay for delay in points], list(points.values()), number)
        for number, (times, points) in enumerate(ours.items())
    ]
    return curves(f"{title}, round-trip times from 500 to 50 ms", lines, PSI_AXIS, EFFICIENCY)
