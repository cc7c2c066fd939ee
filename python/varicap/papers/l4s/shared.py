"""Scenario 6: Prague beside CUBIC and Reno in one queue with classic marks."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.l4s.pairs import Pair
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

# fq_codel with a single flow queue is CoDel; the tests' PIE has Linux's defaults, with ECN.
_QUEUES = {
    "codel": "{ codel = { ecn = true } }",
    "pie": "{ pie = { ecn = true } }",
}
_OTHERS = (("cubic", True), ("cubic", False), ("reno", True), ("reno", False))


def reproduce(run: Run) -> Outcome:
    """Throughput of Prague, and its ratio to the other flow's."""
    ours = {
        (queue, other, ecn): Pair(law, "prague", other, ecn=(True, ecn)).measure(run)
        for queue, law in _QUEUES.items()
        for other, ecn in _OTHERS
    }
    values = {
        f"S6-{queue}.{_name(other, ecn)}.20": Value(sim=Interval.of(prague))
        for (queue, other, ecn), (prague, _) in ours.items()
    }
    ratios = {key: ratio(prague, other) for key, (prague, other) in ours.items()}
    values["S6-dominate"] = Value(sim=least(ratios.values()))
    rows = {_name(other, ecn): [Interval.of(ratios[queue, other, ecn]) for queue in _QUEUES] for other, ecn in _OTHERS}
    grid = Grid("Prague's throughput over the other flow's", "1", "queue", list(_QUEUES), rows)
    return Outcome(values, partial(_draw, ours), [grid])


def _name(other: str, ecn: bool) -> str:
    return f"{other}-{'ecn' if ecn else 'noecn'}"


def _draw(ours: dict[tuple[str, str, bool], tuple[Array, Array]]) -> Figure:
    names = [f"{_name(other, ecn)},\n{queue}" for queue, other, ecn in ours]
    groups = [
        (name, [Interval.of(pair[number]) for pair in ours.values()])
        for number, name in enumerate(("Prague", "the other flow"))
    ]
    return bars("Scenario 6: one queue for both, 50 Mb/s, 20 ms", names, groups, "throughput [Mb/s]")
