"""Fig. 2: plain TCP with reservations: throughput, and the part of it that marked packets contribute."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.minrate.network import RATES, Measured, interval, measure, senders
from varicap.papers.minrate.panels import line, over_time
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value


def base(run: Run) -> Measured:
    """Three reserved flows, which only mark, and three best-effort flows in one direction."""
    return measure(run, senders("plain"), series=True)


def reproduce(run: Run) -> Outcome:
    """Which flow gets more, and how far each stays below its reservation."""
    found = base(run)
    values = {
        "F2a-4over2": found.throughput("r4") - found.throughput("r2"),
        "F2a-2over1": found.throughput("r2") - found.throughput("r1"),
        "F2a-1overBE": found.throughput("r1") - found.throughput("be"),
    }
    values |= {f"F2b-{rate:g}": found.compliant(flow) / rate for flow, rate in RATES.items()}
    modern = measure(run, senders("plain", recovery="sack") | {"tcp.recovery": "sack", "tcp.congestion": "cubic"})
    today = {f"F2b-{rate:g}": {"CUBIC": Value.of(modern.compliant(flow) / rate)} for flow, rate in RATES.items()}
    return Outcome(
        {key: Value(sim=interval(value)) for key, value in values.items()},
        partial(_draw, found),
        [table(found, "Fig. 2")],
        today=today,
    )


def table(found: Measured, title: str) -> Grid:
    """Throughput, its compliant part and the rest, of each flow."""
    rows = {
        f"{rate:g} Mb/s reserved": [interval(of(flow)) for of in (found.throughput, found.compliant, found.excess)]
        for flow, rate in RATES.items()
    }
    best_effort = interval(found.throughput("be"))
    rows["best effort, each"] = [best_effort, interval(0.0 * found.throughput("be")), best_effort]
    return Grid(f"{title} in numbers", "Mb/s", "rate", ["throughput", "compliant", "excess"], rows)


def draw(title: str, found: Measured, second: str, *, compliant: bool) -> Figure:
    """All flows, and the compliant part or the excess of those with a reservation."""
    flows = [*RATES, "be.0"]
    every = [line(found, flow, colour) for colour, flow in enumerate(flows)]
    marked = [line(found, flow, colour, "compliant_bps") for colour, flow in enumerate(RATES)]
    if not compliant:
        marked = [
            type(one)(one.name, one.time_s, all_of.y - one.y, one.colour)
            for one, all_of in zip(marked, every, strict=False)
        ] + [every[-1]]
    return over_time(title, [("throughput", every), (second, marked)])


def _draw(found: Measured) -> Figure:
    return draw("Fig. 2: reservations with plain TCP, bucket of 50 ms", found, "compliant throughput", compliant=True)
