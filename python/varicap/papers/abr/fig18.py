"""Fig. 18: EFFCAP's M where the capacity lasts 100 ms on average."""

from functools import partial
from itertools import permutations

import numpy as np

from varicap.papers.abr.fig17 import DELAYS_MS, Ours, draw, from_one_to_ten, measured, of_memory
from varicap.papers.abr.sessions import gain
from varicap.papers.run import Outcome, Run, paired
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.statistics import Array


def reproduce(run: Run) -> Outcome:
    """Where M matters at psi = 0.5, 1 and 2."""
    ours = measured(run, 100.0)
    changes = [change for delay in DELAYS_MS for change in _changes(ours[delay, 2])]
    values = {
        "ABR-C14-short": Value(sim=most(changes)),
        "ABR-C14-half": Value(sim=most(_changes(ours[200.0, 12]))),
        "ABR-C14-one": Value(sim=from_one_to_ten(ours[100.0, 12])),
        "ABR-C14-two": Value(sim=from_one_to_ten(ours[50.0, 12])),
        "ABR-C14-N": Value(sim=of_memory(ours, 200.0)),
        "ABR-C14-N-all": Value(sim=least([_gain_of_memory(ours, delay) for delay in DELAYS_MS])),
    }
    return Outcome(values, partial(draw, "Fig. 18: tau = 100 ms", 100.0, ours))


def _changes(points: dict[int, Array]) -> list[Array]:
    """By how much each M exceeds each other [%]."""
    return [gain(one, other) for one, other in permutations(points.values(), 2)]


def _gain_of_memory(ours: Ours, delay: float) -> Array:
    """What N : 12 Delta gains over N : 2 Delta in each replication, as a mean over M [%]."""
    gains = [gain(long, ours[delay, 2][average]) for average, long in ours[delay, 12].items()]
    return np.asarray(paired(*gains).mean(axis=0))
