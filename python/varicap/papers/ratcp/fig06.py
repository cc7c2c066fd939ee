"""Fig. 6: an RATCP session that shares a link with a TCP session."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.ratcp.kinds import CUBIC, RATCP, RATCP_4, SACK, TCP, VEGAS
from varicap.papers.run import Grid, Outcome, Run, goodput
from varicap.papers.verdict import Value
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_DELAYED = '{ delayed = { segments = 2, timeout = "10 ms" } }'
# Name, RATCP, buffer [packets], the other session, when receivers acknowledge.
_CASES = (
    ("beta = 1", RATCP, 10, TCP, _DELAYED),
    ("beta = 1, 20 packets", RATCP, 20, TCP, _DELAYED),
    ("beta = 4", RATCP_4, 10, TCP, _DELAYED),
    ("beta = 1, ACK for each packet", RATCP, 10, TCP, '"every"'),
    ("beta = 1, beside SACK", RATCP, 10, SACK, _DELAYED),
    ("beta = 1, beside CUBIC", RATCP, 10, CUBIC, _DELAYED),
    ("Vegas", VEGAS, 10, TCP, _DELAYED),
    ("Vegas, 20 packets", VEGAS, 20, TCP, _DELAYED),
)


def reproduce(run: Run) -> Outcome:
    """Both sessions over one link."""
    ours: dict[str, tuple[Array, Array]] = {}
    for name, ratcp, buffer, other, ack in _CASES:
        changes = {
            **ratcp.changes("flows.ratcp.tcp"),
            **other.changes("flows.tcp.tcp"),
            "topology.dumbbell.forward.queue.drop-tail.limit": f"{buffer} packets",
            "tcp.ack": ack,
            "duration": run.pick("1020 s", "320 s"),
        }
        result = run.simulate("beside-tcp", changes, seeds=run.pick(20, 8))
        ours[name] = goodput(result, "ratcp"), goodput(result, "tcp")
    shares = {name: [Interval.of(other / (own + other))] for name, (own, other) in ours.items()}
    grid = Grid("Fig. 6 with other parameters and other neighbours", "1", "share", ["of the TCP session"], shares)
    values = {"F6-greedy": Value(sim=shares["beta = 1"][0]), "F6-vegas": Value(sim=shares["Vegas"][0])}
    readings = {
        "F6-greedy": {name: Value(sim=shares[f"beta = 1, {name}"][0]) for name in ("ACK for each packet", "20 packets")}
    }
    readings["F6-vegas"] = {"20 packets": Value(sim=shares["Vegas, 20 packets"][0])}
    today = {"F6-greedy": {tcp: Value(sim=shares[f"beta = 1, beside {tcp}"][0]) for tcp in ("SACK", "CUBIC")}}
    return Outcome(values, partial(_draw, ours), [grid], readings, today)


def _draw(ours: dict[str, tuple[Array, Array]]) -> Figure:
    groups = [
        (name, [Interval.of(pair[number]) for pair in ours.values()])
        for number, name in enumerate(("RATCP-Reno", "the other session"))
    ]
    return bars("Fig. 6: RATCP beside TCP on 0.8 Mb/s", [*map(_broken, ours)], groups, "throughput [kB/s]")


def _broken(name: str) -> str:
    return name.replace(", ", ",\n")
