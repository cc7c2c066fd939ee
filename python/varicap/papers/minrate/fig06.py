"""Fig. 6: timed transmissions: every reservation is met, and the larger ones get less of the excess."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.minrate.fig02 import draw, table
from varicap.papers.minrate.network import RATES, Measured, interval, measure, senders
from varicap.papers.run import Outcome, Run, ratio
from varicap.papers.verdict import Value


def timed(run: Run) -> Measured:
    """Fig. 2's flows with a timer of 20 ms each."""
    return measure(run, senders("timed"), series=True)


def reproduce(run: Run) -> Outcome:
    """Compliant throughput, and how the excess is shared."""
    found = timed(run)
    shared = measure(run, senders("timed", owner="shared"))
    values = {f"F6a-{rate:g}": found.compliant(flow) / rate for flow, rate in RATES.items()}
    values |= {f"F6a-excess-{rate:g}": found.excess(flow) for flow, rate in RATES.items()}
    values |= {
        "F6b-1": ratio(found.excess("r1"), found.throughput("be")),
        "F6b-2": ratio(found.excess("r2"), found.excess("r1")),
        "F6b-4": ratio(found.excess("r4"), found.excess("r2")),
        "F6-shared": shared.compliant("r4") / 4,
    }
    of_claims = {key: Value(sim=interval(value)) for key, value in values.items()}
    modern = measure(run, senders("timed", recovery="sack") | {"tcp.recovery": "sack", "tcp.congestion": "cubic"})
    today = {f"F6a-{rate:g}": {"CUBIC": Value.of(modern.compliant(flow) / rate)} for flow, rate in RATES.items()}
    return Outcome(of_claims, partial(_draw, found), [table(found, "Fig. 6")], today=today)


def _draw(found: Measured) -> Figure:
    return draw("Fig. 6: timed transmissions every 20 ms", found, "excess", compliant=False)
