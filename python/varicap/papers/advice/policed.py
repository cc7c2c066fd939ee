"""A limit by policy: enforced strictly, or told and enforced only with those who exceed it."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_CONTROLS = ("cubic", "bbr")
_QUEUE = 'queue = { drop-tail = { limit = "200 packets" } }'
_LENIENT = f'{{ policer = {{ rate = "3 Mbit/s", burst = "20 packets", monitor = "67 s", {_QUEUE} }} }}'
_VIDEO = '{ video = { rule = "bola", request = "25 ms", heed = true } }'


def reproduce(run: Run) -> Outcome:
    """Goodput, resent packets and what the policer drops, with CUBIC and BBR, greedy; and video with CUBIC."""
    measured: dict[tuple[str, str], dict[str, Array]] = {}
    for control in _CONTROLS:
        for way, queue, cap in (("strict", None, "false"), ("followed", _LENIENT, "true")):
            changes = {"flows.a.tcp.congestion": f'"{control}"', "flows.a.feedback.cap": cap}
            if queue is not None:
                changes["topology.dumbbell.forward.queue"] = queue
            result = run.simulate("policed", changes, seeds=run.pick(10, 4))
            measured[control, way] = {
                "goodput": samples(result.flows, "a", "goodput_bps") / 1e6,
                "resent": samples(result.flows, "a", "retransmitted_packets"),
                "dropped": samples(result.links, "forward", "policed_packets"),
            }
    film: dict[str, Array] = {}
    for way, queue, cap in (("strict", None, "false"), ("followed", _LENIENT, "true")):
        changes = {"flows.a.app": _VIDEO.replace("true", cap), "flows.a.feedback.cap": cap}
        if queue is not None:
            changes["topology.dumbbell.forward.queue"] = queue
        result = run.simulate("policed", changes, seeds=run.pick(10, 4))
        film[way] = samples(result.flows, "a", "qoe_bps") / 1e6

    def of(name: str, control: str, way: str) -> Array:
        return measured[control, way][name]

    values = {
        "S7.3-inefficient": Value(
            sim=least(ratio(of("goodput", one, "followed"), of("goodput", one, "strict")) for one in _CONTROLS)
        ),
        "S7.3-video": Value(sim=Interval.of(film["followed"] - film["strict"])),
        "S1-probing": Value(
            sim=least(of("resent", one, "strict") - of("resent", one, "followed") for one in _CONTROLS)
        ),
        "S7.2-risk": Value(sim=most(of("dropped", one, "followed") for one in _CONTROLS)),
    }
    rows = {
        f"{control}, {way}": [Interval.of(measured[control, way][name]) for name in ("goodput", "resent", "dropped")]
        for control, way in measured
    }
    columns = ["goodput [Mb/s]", "resent [packets]", "policed [packets]"]
    grids = [
        Grid("A limit of 3 Mb/s", "", "", columns, rows),
        Grid(
            "Quality of experience of video under it",
            "Mb/s",
            "",
            ["qoe"],
            {k: [Interval.of(v)] for k, v in film.items()},
        ),
    ]
    return Outcome(values, partial(_draw, measured), grids)


def _draw(measured: dict[tuple[str, str], dict[str, Array]]) -> Figure:
    groups = [
        (way, [Interval.of(measured[one, way]["goodput"]) for one in _CONTROLS]) for way in ("strict", "followed")
    ]
    return bars("A limit of 3 Mb/s: policed strictly, or told and followed", list(_CONTROLS), groups, "goodput [Mb/s]")
