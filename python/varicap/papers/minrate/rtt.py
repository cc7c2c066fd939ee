"""The round trip against compliant and non-compliant throughput: in the paper's conclusion, without a figure."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.minrate.network import Measured, interval, measure, senders
from varicap.papers.run import Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import Axis, Curve, curves

_FURTHER_MS = (0, 25, 50, 100, 200)
"""Additional delay in each direction on the paths of the 2 Mb/s flow and of the best-effort flow `far`."""
_BASE_MS = 100


def reproduce(run: Run) -> Outcome:
    """A reserved and a best-effort flow further and further away, among others whose delay does not change."""
    found = {delay: _away(run, delay) for delay in run.pick(_FURTHER_MS, (0, 200))}
    near, far = found[0], found[200]
    values = {
        "RTT-compliant": least(one.compliant("r2") / 2 for one in found.values()),
        "RTT-excess": interval(ratio(far.excess("r2"), near.excess("r2"))),
        "RTT-BE": interval(ratio(far.throughput("far"), near.throughput("far"))),
    }
    of_claims = {key: Value(sim=value) for key, value in values.items()}
    at = ", ".join(str(_BASE_MS + 2 * delay) for delay in found)
    return Outcome(of_claims, partial(_draw, found), points={"RTT-compliant": f"round trips of {at} ms"})


def _away(run: Run, delay: int) -> Measured:
    """Move these flows this many ms further away, with a window that fills the longest path."""
    changes = senders("windowed", recovery="sack") | {"tcp.recovery": "sack", "tcp.receive_window": "1024 packets"}
    changes |= {f"flows.{flow}.access_delay": f"{delay} ms" for flow in ("r2", "far")}
    return measure(run, changes, ("r1", "r2", "be", "far"))


def _draw(found: dict[int, Measured]) -> Figure:
    x = [_BASE_MS + 2 * delay for delay in found]
    rows = {
        "2 Mb/s reserved: compliant": [one.compliant("r2") for one in found.values()],
        "2 Mb/s reserved: beyond": [one.excess("r2") for one in found.values()],
        "best effort": [one.throughput("far") for one in found.values()],
        "best effort that stays near": [one.throughput("be") for one in found.values()],
    }
    lines = [Curve(name, x, list(map(interval, row)), colour) for colour, (name, row) in enumerate(rows.items())]
    title = "Throughput against the round trip"
    return curves(title, lines, Axis("round trip without queueing [ms]"), Axis("throughput [Mb/s]"))
