"""Fig. 18: EFFCAP's M where the capacity lasts 100 ms on average."""

from functools import partial
from itertools import permutations

import numpy as np

from varicap.papers.abr.fig15 import SECTION_VI
from varicap.papers.abr.fig17 import (
    DELAYS_MS,
    QUICK_AVERAGES,
    Ours,
    draw,
    from_one_to_ten,
    measured,
    of_memory,
    of_rule,
    said_averages,
    small_over_large,
)
from varicap.papers.abr.sessions import gain, with_buffers
from varicap.papers.run import Outcome, Run, paired
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.statistics import Array, Interval


def reproduce(run: Run) -> Outcome:
    """Where M matters at psi = 0.5, 1 and 2."""
    ours = measured(run, 100.0)
    values = {claim: Value(sim=value) for claim, value in _of(ours).items()}
    values |= {"ABR-rule-M18": Value(sim=of_rule(ours)), "ABR-small-M18": Value(sim=small_over_large(ours))}
    points = {claim: said_averages(run) for claim in values if not claim.endswith(("-one", "-two", "-M18"))}
    readings = with_buffers(
        lambda buffer: _of(measured(run, 100.0, buffer, QUICK_AVERAGES)), run.pick(SECTION_VI, (5, 12))
    )
    return Outcome(values, partial(draw, "Fig. 18: tau = 100 ms", 100.0, ours), readings=readings, points=points)


def _of(ours: Ours) -> dict[str, Interval]:
    changes = [change for delay in DELAYS_MS for change in _changes(ours[delay, 2])]
    return {
        "ABR-C14-short": most(changes),
        "ABR-C14-half": most(_changes(ours[200.0, 12])),
        "ABR-C14-one": from_one_to_ten(ours[100.0, 12]),
        "ABR-C14-two": from_one_to_ten(ours[50.0, 12]),
        "ABR-C14-N": of_memory(ours, 200.0),
        "ABR-C14-N-all": least([_gain_of_memory(ours, delay) for delay in DELAYS_MS]),
    }


def _changes(points: dict[int, Array]) -> list[Array]:
    """By how much each M exceeds each other [%]."""
    return [gain(one, other) for one, other in permutations(points.values(), 2)]


def _gain_of_memory(ours: Ours, delay: float) -> Array:
    """What N : 12 Delta gains over N : 2 Delta in each replication, as a mean over M [%]."""
    gains = [gain(long, ours[delay, 2][average]) for average, long in ours[delay, 12].items()]
    return np.asarray(paired(*gains).mean(axis=0))
