"""Fig. 5: sessions with round-trip times of 100 and 200 ms share a link."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.ratcp.kinds import CUBIC, NEWRENO, RATCP, SACK, TCP
from varicap.papers.run import Grid, Outcome, Run, goodput
from varicap.papers.verdict import Value
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_DELAYED = '{ delayed = { segments = 2, timeout = "10 ms" } }'  # as in Table I: "the same simulation set-up" (§V-C)
_CASES = [(kind.name, kind, _DELAYED) for kind in (RATCP, TCP, NEWRENO, SACK, CUBIC)] + [
    (f"{kind.name}, ACK for each packet", kind, '"every"') for kind in (RATCP, TCP)
]


def reproduce(run: Run) -> Outcome:
    """Both sessions with the same TCP, once for each kind of TCP."""
    ours: dict[str, tuple[Array, Array]] = {}
    for name, kind, ack in _CASES:
        changes = kind.changes("tcp") | {"tcp.ack": ack, "duration": run.pick("1020 s", "320 s")}
        result = run.simulate("two-rtts", changes, seeds=run.pick(20, 8))
        ours[name] = goodput(result, "short"), goodput(result, "long")
    ratios = {name: Interval.of(short / long) for name, (short, long) in ours.items()}
    values = {"F5-ratcp": Value(sim=ratios[RATCP.name]), "F5-tcp": Value(sim=ratios[TCP.name])}
    rows = {name: [ratio] for name, ratio in ratios.items()}
    grid = Grid("Fig. 5 in numbers, and a TCP of today", "1", "throughput", ["100 ms over 200 ms"], rows)
    readings = {
        claim: {"ACK for each packet": Value(sim=ratios[f"{kind.name}, ACK for each packet"])}
        for claim, kind in (("F5-ratcp", RATCP), ("F5-tcp", TCP))
    }
    today = {"F5-tcp": {kind.name: Value(sim=ratios[kind.name]) for kind in (SACK, CUBIC)}}
    return Outcome(values, partial(_draw, ours), [grid], readings, today)


def _draw(ours: dict[str, tuple[Array, Array]]) -> Figure:
    groups = [
        (f"round-trip time {name}", [Interval.of(pair[number]) for pair in ours.values()])
        for number, name in enumerate(("100 ms", "200 ms"))
    ]
    return bars(
        "Fig. 5: two sessions share 0.8 Mb/s", [name.replace(", ", ",\n") for name in ours], groups, "throughput [kB/s]"
    )
