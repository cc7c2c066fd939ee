"""Scenario 1: two flows with equal round-trip times through DualPI2, a FIFO and fq_codel."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.l4s.pairs import Pair
from varicap.papers.run import Grid, Outcome, Run, jain, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_QUEUES = ("dualpi2", "pfifo", "fq_codel")
_RTTS_MS = (10, 20, 80)
_KINDS = (("cubic", "prague"), ("prague", "prague"), ("cubic", "cubic"))


def reproduce(run: Run) -> Outcome:
    """Throughput of both flows, and Jain's index, by queue, controls and round-trip time."""
    measured = {
        (queue, kind, rtt): Pair(queue, *kind, rtt, rtt).measure(run)
        for queue in _QUEUES
        for kind in _KINDS
        for rtt in _RTTS_MS
    }
    values: dict[str, Value] = {}
    for (queue, kind, rtt), (first, second) in measured.items():
        values[f"S1-{queue}.{'-'.join(kind)}-jain.{rtt}"] = Value(sim=Interval.of(jain(first, second)))
        if kind == ("cubic", "prague") and queue != "pfifo":
            values[f"S1-{queue}.cubic.{rtt}"] = Value(sim=Interval.of(first))
            values[f"S1-{queue}.prague.{rtt}"] = Value(sim=Interval.of(second))

    def prague_over_cubic(queue: str, rtt: int) -> Array:
        cubic, prague = measured[queue, ("cubic", "prague"), rtt]
        return ratio(prague, cubic)

    values["S1-bias"] = Value(sim=Interval.of(prague_over_cubic("dualpi2", 20)))
    values["S1-bias-holds"] = Value(sim=least(prague_over_cubic("dualpi2", rtt) for rtt in (10, 80)))
    values["S1-reversal"] = Value(sim=least(1 / prague_over_cubic("pfifo", rtt) for rtt in _RTTS_MS))
    pairs = {
        f"{queue}, {' and '.join(kind)}": [Interval.of(jain(*measured[queue, kind, rtt])) for rtt in _RTTS_MS]
        for queue in _QUEUES
        for kind in _KINDS
    }
    grid = Grid("Jain's index of each pair", "1", "RTT [ms]", [str(rtt) for rtt in _RTTS_MS], pairs)
    return Outcome(values, partial(_draw, measured), [grid])


def _draw(measured: dict[tuple[str, tuple[str, str], int], tuple[Array, Array]]) -> Figure:
    kind, rtt = ("cubic", "prague"), 20
    groups = [
        (name, [Interval.of(measured[queue, kind, rtt][number]) for queue in _QUEUES])
        for number, name in enumerate(("CUBIC", "Prague beside it"))
    ]
    return bars(f"Scenario 1: one flow of each, {rtt} ms, 50 Mb/s", list(_QUEUES), groups, "throughput [Mb/s]")
