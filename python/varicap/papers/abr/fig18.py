"""Fig. 18: EFFCAP's M where the capacity lasts 100 ms on average."""

from functools import partial

import numpy as np

from varicap.papers.abr.fig17 import draw, from_one_to_ten, measured, of_memory
from varicap.papers.abr.sessions import extreme, gain
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array


def reproduce(run: Run) -> Outcome:
    """Where M matters at psi = 0.5, 1 and 2."""
    ours = measured(run, 100.0)
    changes = [_largest_change(ours[delay, 2]) for delay in (100.0, 200.0)]
    values = {
        "ABR-C14-short": Value(sim=extreme(changes, np.argmax)),
        "ABR-C14-half": Value(sim=from_one_to_ten(ours[200.0, 12])),
        "ABR-C14-one": Value(sim=from_one_to_ten(ours[100.0, 12])),
        "ABR-C14-two": Value(sim=from_one_to_ten(ours[50.0, 12])),
        "ABR-C14-N": Value(sim=of_memory(ours, 200.0)),
    }
    return Outcome(values, partial(draw, "Fig. 18: tau = 100 ms", 100.0, ours))


def _largest_change(points: dict[int, Array]) -> Array:
    """What the M with the largest mean gains over the M with the least [%]."""
    by_mean = sorted(points.values(), key=lambda one: one.mean())
    return gain(by_mean[-1], by_mean[0])
