"""Fig. 16: EFFCAP's N where the capacity lasts 1 s on average and the round-trip time varies."""

from functools import partial

from varicap.papers.abr.fig15 import Ours, draw, measured, of_best, said_ms
from varicap.papers.abr.sessions import gain
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.statistics import Array, Interval

_TAU_MS = 1000.0


def reproduce(run: Run) -> Outcome:
    """Where a longer memory helps, and what it costs elsewhere."""
    ours = measured(run, _TAU_MS)
    gains = {delay: gain(long, ours[2][delay]) for delay, long in ours[12].items()}
    values = {
        "ABR-C12-small": Value(sim=least([of_delay for delay, of_delay in gains.items() if _TAU_MS / delay < 8])),
        "ABR-rule-N16": Value(sim=of_best(ours)),
        "ABR-delta": Value(sim=Interval.of(_against_fig15(run, ours))),
        "ABR-C12-large": Value(sim=least([of_delay for delay, of_delay in gains.items() if _TAU_MS / delay > 10])),
    }
    points = {
        "ABR-C12-small": said_ms(delay for delay in gains if _TAU_MS / delay < 8),
        "ABR-C12-large": said_ms(delay for delay in gains if _TAU_MS / delay > 10),
        "ABR-rule-N16": said_ms(gains),
    }
    return Outcome(values, partial(draw, "Fig. 16: tau = 1 s", _TAU_MS, ours), points=points)


def _against_fig15(run: Run, ours: Ours) -> Array:
    """The efficiency at psi = 2 with 500 ms over that with 50 ms, which Fig. 15 has; N : 2 Delta."""
    return ours[2][500.0] / measured(run, 100.0)[2][50.0]
