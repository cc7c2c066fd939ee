"""Senders that rely on reservations which no router supports congest the network, unless a safeguard stops them.

Drop-tail queues everywhere, no admission: more and more senders with timer and windowing, each claiming 0.5 Mb/s, on
the whole chain and across each bottleneck.  The reservations are written as steps of one rate, since varicap refuses
constant ones that exceed a link.  Source: [minrate, §IV-B, §IX].
"""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import DROP_TAIL, Changes, Measured, interval, measure, queues
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array

_GROUPS = tuple(f"crowd-{letter}" for letter in "abcdef")
_OVER_EACH = 4
"""The number of groups that cross each bottleneck."""
_COUNTS = (2, 4, 8, 12, 20)
"""The numbers of senders in each group."""
_FITTING = 4
"""The number of senders with which the reservations fit the bottlenecks."""
_RATE, _CAPACITY = 0.5, 10.0  # [Mb/s]
_PAYLOAD = 0.96
"""The share of a packet that is data."""
_NO_SUPPORT = queues(DROP_TAIL)
_KINDS = ("plain", "trusting", "with safeguard")


def reproduce(run: Run) -> Outcome:
    """Goodput of all flows together against what is reserved, as a share of the bottlenecks' capacity."""
    counts = run.pick(_COUNTS, (_FITTING, _COUNTS[-1]))
    found = {
        recovery: {kind: {count: _crowd(run, kind, count, recovery) for count in counts} for kind in _KINDS}
        for recovery in ("reno", "sack")
    }
    goodput = {
        recovery: {kind: {count: _together(one, count) for count, one in row.items()} for kind, row in kinds.items()}
        for recovery, kinds in found.items()
    }
    reno, most = goodput["reno"], _COUNTS[-1]
    supported = _crowd(run, "trusting", _FITTING, "reno", {})
    values = {
        "CO-collapse": reno["trusting"][most] / reno["plain"][most],
        "CO-safeguard": ratio(reno["with safeguard"][most], reno["plain"][most]),
        "CO-supported": np.mean([supported.compliant(group) for group in _GROUPS], axis=0) / _RATE,
    }
    rows = {
        f"{recovery}, {kind}": [interval(one) for one in row.values()]
        for recovery, kinds in goodput.items()
        for kind, row in kinds.items()
    }
    columns = [f"{_load(count):g}" for count in counts]
    grid = Grid("Goodput of all flows", "Mb/s", "reserved / capacity", columns, rows)
    of_claims = {key: Value.of(value) for key, value in values.items()}
    wasted = {
        f"{recovery}, {kind}": [interval(_wasted(one, count)) for count, one in row.items()]
        for recovery, kinds in found.items()
        for kind, row in kinds.items()
    }
    again = Grid("Share of the data reaching receivers that they have already", "1", grid.column, columns, wasted)
    return Outcome(of_claims, partial(_draw, goodput), [grid, again])


def _crowd(run: Run, kind: str, count: int, recovery: str, queueing: Changes = _NO_SUPPORT) -> Measured:
    changes = {**queueing, "tcp.recovery": recovery, "duration": run.pick("120 s", "30 s")}
    for group in _GROUPS:
        changes[f"flows.{group}.count"] = str(count)
        if kind != "plain":
            changes[f"flows.{group}.reservation.timed"] = '{ interval = "20 ms" }'
            changes[f"flows.{group}.tcp.congestion"] = "rate-adaptive-window"
            changes[f"flows.{group}.reservation.safeguard"] = str(kind == "with safeguard").lower()
    return measure(run, changes, _GROUPS, seeds=run.pick(6, 2))


def _together(found: Measured, count: int, what: str = "goodput") -> Array:
    """Goodput of all flows together [Mb/s]."""
    of = found.goodput if what == "goodput" else found.throughput
    return np.asarray(count * np.sum([of(group) for group in _GROUPS], axis=0))


def _wasted(found: Measured, count: int) -> Array:
    """The share of the data reaching receivers that they have already."""
    return np.asarray(1 - _together(found, count) / _PAYLOAD / _together(found, count, "throughput"))


def _load(count: int) -> float:
    """What is reserved on a bottleneck, as a share of its capacity."""
    return _OVER_EACH * count * _RATE / _CAPACITY


def _draw(goodput: dict[str, dict[str, dict[int, Array]]]) -> Figure:
    x = [_load(count) for count in goodput["reno"]["plain"]]
    lines = [
        Curve(f"{recovery}, {kind}", x, [interval(one) for one in row.values()], colour + 3 * (recovery == "sack"))
        for recovery, kinds in goodput.items()
        for colour, (kind, row) in enumerate(kinds.items())
    ]
    title = "Goodput without support by the network, drop-tail"
    return curves(title, lines, Axis("reserved / capacity of a bottleneck"), Axis("goodput of all flows [Mb/s]"))
