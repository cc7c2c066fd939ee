"""Fig. 4: a persistent session on a link that loses packets at random."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.run import Grid, Outcome, Run, goodput
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import Axis, Curve, curves
from varicap.results.result import Result
from varicap.statistics import Array, Interval

_LOSSES = (0.0001, 0.0003, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
_PAPERS = {"ratcp-reno": "RATCP-Reno", "tcp-reno": "TCP-Reno", "ratcp": "RATCP-OldTahoe", "tcp": "TCP-OldTahoe"}
_RENO = ("ratcp-reno", "tcp-reno")
_BESIDE = ("newreno", "sack", "cubic", "ratcp-newreno", "ratcp-sack")


# What the paper leaves open, chosen as in Table I.
_AS_IN_TABLE = {
    "tcp.ack": '{ delayed = { segments = 2, timeout = "10 ms" } }',
    "flows.tcp-reno.tcp.repeat_fast_retransmit": "true",
    "flows.ratcp-reno.tcp.repeat_fast_retransmit": "true",
}


def reproduce(run: Run) -> Outcome:
    """Throughput at each loss probability."""
    flows = (*_PAPERS, *_BESIDE)
    results = [_simulate(run, loss, {}, flows) for loss in _LOSSES]
    ours = {flow: [goodput(result, flow) for result in results] for flow in flows}
    one = _LOSSES.index(0.01)
    values = {
        "F4-reno": Value(sim=Interval.of(ours["tcp-reno"][one])),
        "F4-wide": Value(sim=least(ours["ratcp-reno"][: one + 1])),
        "F4-ratio": Value(sim=Interval.of(ours["ratcp-reno"][one] / ours["tcp-reno"][one])),
    }
    beside = {flow: [Interval.of(cell) for cell in cells] for flow, cells in ours.items()}
    others = [_simulate(run, loss, _AS_IN_TABLE, _RENO) for loss in _LOSSES]
    for flow in _RENO:
        beside[f"{flow}, as in Table I"] = [Interval.of(goodput(result, flow)) for result in others]
    columns = [f"{loss:.2%}".replace("%", " %") for loss in _LOSSES]
    grid = Grid("Fig. 4 in numbers, and what a TCP of today gets there", "kB/s", "loss probability", columns, beside)
    return Outcome(values, partial(_draw, ours), [grid])


def _simulate(run: Run, loss: float, changes: dict[str, str], flows: Sequence[str]) -> Result:
    always = {"topology.dumbbell.forward.loss": str(loss), "duration": run.pick("1020 s", "320 s")}
    return run.simulate("random-loss", always | changes, seeds=run.pick(10, 4), flows=flows)


def _draw(ours: dict[str, list[Array]]) -> Figure:
    names = _PAPERS | {"sack": "SACK", "cubic": "CUBIC", "ratcp-sack": "RATCP-SACK"}
    lines = [
        Curve(name, _LOSSES, [Interval.of(cell) for cell in ours[flow]], colour)
        for colour, (flow, name) in enumerate(names.items())
    ]
    return curves(
        "Fig. 4: a persistent session on a link with random loss, 0.8 Mb/s",
        lines,
        Axis("loss probability", scale="log"),
        Axis("throughput [kB/s]"),
    )
