"""Two flows on a link of which advice says the capacity: what each can get, and what the other one notices."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_CONTROLS = ("cubic", "bbr")
_ADVISED = 4.466836
"""The level below 5 Mb/s [Mb/s]."""


def reproduce(run: Run) -> Outcome:
    """Throughput over what is advised, alone and beside another; delay of the light flow beside it, and fairness."""
    alone: dict[str, Array] = {}
    both: dict[tuple[str, bool], dict[str, Array]] = {}
    seeds = run.pick(10, 4)
    for control in _CONTROLS:
        changes = {"tcp.congestion": f'"{control}"'}
        told = {"flows.a.feedback.cap": "true"}
        lone = run.simulate("shared", changes | told, seeds=seeds, flows=["a"])
        alone[control] = samples(lone.flows, "a", "throughput_bps") / 1e6
        for follows in (True, False):
            share = {"flows.a.feedback.cap": str(follows).lower()}
            other = {"flows.b.app": '{ on-off = { on = "200 s", off = "0 s", rate = "1 Mbit/s" } }'}
            busy = run.simulate("shared", changes | share, seeds=seeds)
            light = run.simulate("shared", changes | share | other, seeds=seeds)
            both[control, follows] = {
                "a": samples(busy.flows, "a", "throughput_bps") / 1e6,
                "b": samples(busy.flows, "b", "throughput_bps") / 1e6,
                "rtt": samples(light.flows, "b", "rtt_p95_ms"),
            }
    values = {
        "S3.2-alone": Value(sim=least(alone[one] / _ADVISED for one in _CONTROLS)),
        "S3.2-beside": Value(sim=most(both[one, True]["a"] / _ADVISED for one in _CONTROLS)),
        "S3.6-impact": Value(sim=least(ratio(both[one, False]["rtt"], both[one, True]["rtt"]) for one in _CONTROLS)),
    }
    rows = {
        f"{control}, {'one follows' if follows else 'none follows'}": [
            Interval.of(both[control, follows][name]) for name in ("a", "b", "rtt")
        ]
        for control, follows in both
    }
    columns = ["who hears advice [Mb/s]", "the other [Mb/s]", "RTT p95 of 1 Mb/s beside [ms]"]
    return Outcome(values, partial(_draw, alone, both), [Grid("Two flows on 5 Mb/s", "", "", columns, rows)])


def _draw(alone: dict[str, Array], both: dict[tuple[str, bool], dict[str, Array]]) -> Figure:
    groups = [
        ("alone", [Interval.of(alone[one] / _ADVISED) for one in _CONTROLS]),
        ("beside another flow", [Interval.of(both[one, True]["a"] / _ADVISED) for one in _CONTROLS]),
    ]
    return bars(
        "Throughput of who follows advice of 4.47 Mb/s on 5 Mb/s", list(_CONTROLS), groups, "of what is advised"
    )
