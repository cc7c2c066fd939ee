"""Fig. 7: rate-adaptive windows in addition to timed transmissions: fairer shares of the excess."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.fig02 import draw, table
from varicap.papers.minrate.fig06 import timed
from varicap.papers.minrate.network import RATES, Measured, interval, measure, senders
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array

AVERAGE = '{ rate-adaptive-window = { rtt = "smoothed" } }'


def windowed(run: Run, window: str = "rate-adaptive-window", recovery: str = "reno") -> Measured:
    """Fig. 6's flows with a rate-adaptive window."""
    return measure(run, senders("windowed", window=window, recovery=recovery), series=True)


def ratios(found: Measured) -> Array:
    """Excess of each reserved flow over a best-effort flow's throughput, shape (3, runs)."""
    return np.array([found.excess(flow) / found.throughput("be") for flow in RATES])


def unfairness(found: Measured) -> Array:
    """How far each of these ratios is from one, on the side on which its mean lies, shape (3, runs)."""
    apart = ratios(found) - 1
    return np.asarray(np.sign(apart.mean(axis=1, keepdims=True)) * apart)


def _farthest(apart: Array) -> Array:
    return np.asarray(apart[apart.mean(axis=1).argmax()])


def reproduce(run: Run) -> Outcome:
    """Compliant throughput and fairness against Fig. 6, and with the average instead of the best round trip."""
    found, before, average = windowed(run), timed(run), windowed(run, AVERAGE)
    values = {f"F7a-{rate:g}": found.compliant(flow) / rate for flow, rate in RATES.items()}
    values |= {
        "F7b": unfairness(before).mean(axis=0) - unfairness(found).mean(axis=0),
        "F7b-least": _farthest(unfairness(before)) - _farthest(unfairness(found)),
        "F7c": average.compliant("r4") / 4,
    }
    tables = [table(found, "Fig. 7"), table(average, "RWND from the average round trip")]
    with_sack = windowed(run, AVERAGE, "sack").compliant("r4") / 4
    often = measure(run, senders("windowed", window=AVERAGE) | {"tcp.repeat_fast_retransmit": "true"})
    readings = {"F7c": {"SACK": Value.of(with_sack), "several fast retransmits": Value.of(often.compliant("r4") / 4)}}
    of_claims = {key: Value(sim=interval(value)) for key, value in values.items()}
    return Outcome(of_claims, partial(_draw, found), tables, readings)


def _draw(found: Measured) -> Figure:
    return draw("Fig. 7: timed transmissions and rate adaptive windows", found, "excess", compliant=False)
