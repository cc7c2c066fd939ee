"""Beyond the paper: reservations with CUBIC and SACK, as in Figs. 2, 6 and 7."""

from functools import partial

from varicap.papers.minrate.network import RATES, Kind, Measured, interval, measure, senders
from varicap.papers.run import Grid, Outcome, Run
from varicap.report.paper import bars

_WINDOW = '{ rate-adaptive-window = { grow = "cubic" } }'


def reproduce(run: Run) -> Outcome:
    """Compliant throughput and excess of each kind of sender."""
    found = cubic(run)
    columns = [
        *(f"{rate:g} Mb/s: {what}" for rate in RATES.values() for what in ("compliant", "excess")),
        "best effort",
    ]
    rows = {
        name: [
            *(interval(of(flow)) for flow in RATES for of in (one.compliant, one.excess)),
            interval(one.throughput("be")),
        ]
        for name, one in found.items()
    }
    grid = Grid("CUBIC in numbers", "Mb/s", "flow", columns, rows)
    shown = [
        (name, [interval(one.compliant(flow) / rate) for flow, rate in RATES.items()]) for name, one in found.items()
    ]
    groups = [f"{rate:g} Mb/s reserved" for rate in RATES.values()]
    return Outcome(
        {},
        partial(bars, "CUBIC with reservations", groups, shown, "compliant throughput / reservation"),
        [grid],
    )


def cubic(run: Run) -> dict[str, Measured]:
    """Each kind of sender."""
    return {
        "marking only": _cubic(run, "plain"),
        "timed": _cubic(run, "timed"),
        "timed, adaptive window": _adaptive(run),
    }


def _cubic(run: Run, kind: Kind) -> Measured:
    return measure(run, senders(kind, recovery="sack") | {"tcp.recovery": "sack", "tcp.congestion": "cubic"})


def _adaptive(run: Run) -> Measured:
    changes = senders("windowed", recovery="sack", window=_WINDOW)
    return measure(run, changes | {"tcp.recovery": "sack", "tcp.congestion": "cubic"})
