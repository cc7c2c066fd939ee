"""Fig. 16: EFFCAP's N where the capacity lasts 1 s on average and the round-trip time varies."""

from functools import partial

import numpy as np

from varicap.papers.abr.fig15 import draw, measured
from varicap.papers.abr.sessions import extreme, gain
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Interval


def reproduce(run: Run) -> Outcome:
    """Where a longer memory helps, and what it costs elsewhere."""
    ours = measured(run, 1000.0)
    gains = {delay: gain(long, ours[2][delay]) for delay, long in ours[12].items()}
    values = {
        "ABR-C12-small": Value(sim=extreme([of_delay for delay, of_delay in gains.items() if delay >= 200], np.argmin)),
        "ABR-C12-large": Value(sim=Interval.of(gains[50.0])),
    }
    return Outcome(values, partial(draw, "Fig. 16: tau = 1 s", 1000.0, ours))
