"""Beyond the paper: a sender of datagrams at a constant rate with the same marking, sharing with TCP."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.minrate.network import Measured, interval, measure, senders
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array

_RATE = 2.0  # [Mb/s]
_RESERVED = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Reserved parts of the datagrams' rate [Mb/s]."""


def reproduce(run: Run) -> Outcome:
    """How much of 2 Mb/s of datagrams arrives as more of it is reserved."""
    found = {reserved: _beside(run, reserved) for reserved in run.pick(_RESERVED, (0.0, 2.0))}
    came = {reserved: _came(one, reserved) for reserved, one in found.items()}
    rows = {
        "datagrams that come, of all": [interval(one) for one in came.values()],
        "a best-effort TCP [Mb/s]": [interval(one.throughput("be")) for one in found.values()],
    }
    grid = Grid("Datagrams of 2 Mb/s beside TCP", "", "reserved [Mb/s]", [f"{one:g}" for one in found], rows)
    return Outcome({"UDP-all": Value(sim=interval(came[2.0]))}, partial(_draw, came), [grid])


def _name(reserved: float) -> str:
    return "media" if reserved else "media-plain"


def _beside(run: Run, reserved: float) -> Measured:
    changes = senders("windowed", recovery="sack") | {"tcp.recovery": "sack", "flows.be.count": "8"}
    if reserved:
        changes["flows.media.reservation.rate"] = f"{reserved:g} Mbit/s"
    return measure(run, changes, (_name(reserved), "r1", "be"))


def _came(found: Measured, reserved: float) -> Array:
    return found.throughput(_name(reserved)) / _RATE


def _draw(came: dict[float, Array]) -> Figure:
    curve = Curve("datagrams", list(came), [interval(one) for one in came.values()], 0)
    title = "2 Mb/s of datagrams among 8 best-effort TCP flows"
    return curves(title, [curve], Axis("reserved [Mb/s]"), Axis("of the datagrams come", start=0.98))
