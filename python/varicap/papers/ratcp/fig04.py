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


_READINGS = {
    "ACK for each packet": {"tcp.ack": '"every"'},
    "ACK for each packet, Reno cuts once per window": {
        "tcp.ack": '"every"',
        "flows.tcp-reno.tcp.repeat_fast_retransmit": "false",
        "flows.ratcp-reno.tcp.repeat_fast_retransmit": "false",
    },
    "NewReno instead of Reno": {f"flows.{flow}.tcp.recovery": "newreno" for flow in ("ratcp-reno", "tcp-reno")},
}
"""The scenario has the receiver and the recovery of Table I: §V-B, "the parameters are as given earlier"."""


def reproduce(run: Run) -> Outcome:
    """Throughput at each loss probability."""
    flows = (*_PAPERS, *_BESIDE)
    results = [_simulate(run, loss, {}, flows) for loss in _LOSSES]
    ours = {flow: [goodput(result, flow) for result in results] for flow in flows}
    one = _LOSSES.index(0.01)
    values = _judged(*(ours[flow][: one + 1] for flow in _RENO))
    beside = {flow: [Interval.of(cell) for cell in cells] for flow, cells in ours.items()}
    readings: dict[str, dict[str, Value]] = {}
    for name, changes in _READINGS.items():
        others = [_simulate(run, loss, changes, _RENO) for loss in _LOSSES[: one + 1]]
        of_flow = {flow: [goodput(result, flow) for result in others] for flow in _RENO}
        for claim, value in _judged(of_flow["ratcp-reno"], of_flow["tcp-reno"]).items():
            readings.setdefault(claim, {})[name] = value
    today = {"F4-ratio": {"RATCP-SACK over SACK": Value.of(ours["ratcp-sack"][one] / ours["sack"][one])}}
    today["F4-ratio"]["RATCP-SACK over CUBIC"] = Value.of(ours["ratcp-sack"][one] / ours["cubic"][one])
    columns = [f"{loss:.2%}".replace("%", " %") for loss in _LOSSES]
    grid = Grid("Fig. 4 in numbers, and what a TCP of today gets there", "kB/s", "loss probability", columns, beside)
    return Outcome(values, partial(_draw, ours), [grid], readings, today)


def _judged(ratcp: list[Array], tcp: list[Array]) -> dict[str, Value]:
    """What the text says of loss probabilities up to 1 %, the last one."""
    return {
        "F4-reno": Value.of(tcp[-1]),
        "F4-wide": Value(sim=least(ratcp)),
        "F4-ratio": Value.of(ratcp[-1] / tcp[-1]),
    }


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
