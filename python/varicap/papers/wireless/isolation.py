"""§III and VI: connections that share a wireless link, with fair queueing and, beyond the paper, through one queue.

The paper studies one connection and relies on fair queueing for its share of link and buffer.  Here a near, a far and
an undemanding connection share a link with a source of datagrams whose rate grows.
"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.simulated import LINK
from varicap.report.paper import Axis, Curve, curves
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_ROOM = 'limit = "32 packets"'
_QUEUES = {
    "one queue": f"{{ drop-tail = {{ {_ROOM} }} }}",
    "DRR": f"{{ drr = {{ {_ROOM} }} }}",
    "SFQ": f"{{ sfq = {{ {_ROOM} }} }}",
}
_RATES_MBPS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
_RATES_QUICK_MBPS = (0.5, 3.0)
_FLOWS = ("near", "far", "small")
_SHARE = 0.5  # Mb/s, little more than a fourth of what the link lets through

Found = Mapping[str, Mapping[float, Mapping[str, Array]]]
"""Goodput by queue, rate of the datagrams [Mb/s] and flow in each replication [Mb/s]."""


def reproduce(run: Run) -> Outcome:
    """What each connection gets as the rate of the datagrams grows, by queue."""
    rates = run.pick(_RATES_MBPS, _RATES_QUICK_MBPS)
    found = {queue: {rate: _goodputs(run, text, rate) for rate in rates} for queue, text in _QUEUES.items()}
    most = max(rates)
    values = {}
    for queue, name in (("DRR", "drr"), ("SFQ", "sfq")):
        for flow in ("far", "small"):
            kept = found[queue][most][flow] / found[queue][_SHARE][flow]
            values[f"I-{flow}-{name}"] = Value(sim=Interval.of(kept))
    return Outcome(values, partial(_draw, found), [_grid(found, rate) for rate in (_SHARE, most)])


def _goodputs(run: Run, queue: str, rate: float) -> dict[str, Array]:
    changes = {
        f"{LINK}.queue": queue,
        "flows.blast.datagrams.rate": f"{rate:g} Mbit/s",
        "duration": run.pick("620 s", "120 s"),
    }
    result = run.simulate("shared", changes, seeds=run.pick(10, 4))
    return {flow: samples(result.flows, flow, "goodput_bps") / 1e6 for flow in (*_FLOWS, "blast")}


def _grid(found: Found, rate: float) -> Grid:
    rows = {
        queue: [Interval.of(of_rate[rate][flow]) for flow in (*_FLOWS, "blast")] for queue, of_rate in found.items()
    }
    title = f"Connections beside datagrams of {rate:g} Mb/s on a link that lets 1.76 Mb/s through"
    return Grid(title, "Mb/s", "flow", [*_FLOWS, "datagrams"], rows)


def _draw(found: Found) -> Figure:
    shown = [(queue, flow) for flow in ("far", "small") for queue in found]
    lines = [
        Curve(
            f"{flow}, {queue}",
            list(found[queue]),
            [Interval.of(of_rate[flow]) for of_rate in found[queue].values()],
            colour,
        )
        for colour, (queue, flow) in enumerate(shown)
    ]
    title = "A far connection and one that asks for little, beside datagrams, on a wireless link with ARQ"
    return curves(title, lines, Axis("datagrams [Mb/s]"), Axis("goodput [Mb/s]"))
