"""Fig. 13: ERED at the bottlenecks only, and everywhere else only."""

from functools import partial

import numpy as np

from varicap.papers.minrate.evolution import TOPOLOGIES, better_times, dips, draw, evolution, readings
from varicap.papers.minrate.network import BOTTLENECKS, LINKS, OTHERS
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array


def reproduce(run: Run) -> Outcome:
    """Where ERED is useful."""
    values: dict[str, Array] = {}
    at = {topology: evolution(run, topology, drop_tail=OTHERS) for topology in TOPOLOGIES}
    beside = {topology: evolution(run, topology, drop_tail=BOTTLENECKS) for topology in TOPOLOGIES}
    for topology in TOPOLOGIES:
        nowhere = evolution(run, topology, drop_tail=LINKS)
        values |= {
            f"F13a-4/{topology}": at[topology].throughput("r4") / 4,
            f"F13a-1/{topology}": at[topology].throughput("r1"),
            f"F13a-dips/{topology}": dips(at[topology]),
            f"F13b/{topology}": beside[topology].throughput("r4"),
            f"F13b-throughout/{topology}": better_times(beside[topology]),
            f"F13b-same/{topology}": _over(beside[topology].throughput("r4"), nowhere.throughput("r4")),
        }
    shown = {"45Mb/bidir, at the bottlenecks": at["45Mb/bidir"], "45Mb/bidir, elsewhere": beside["45Mb/bidir"]}
    rows = {f"{topology}, at the bottlenecks": one for topology, one in at.items()}
    rows |= {f"{topology}, elsewhere": one for topology, one in beside.items()}
    of_claims = {key: Value.of(value) for key, value in values.items()}
    return Outcome(of_claims, partial(draw, "Fig. 13: ERED at some queues", shown), [readings("Fig. 13", rows)])


def _over(one: Array, other: Array) -> Array:
    """The ratio run by run; a flow that is shut out of both is as well off in both."""
    return np.divide(one, other, out=np.where(one == other, 1.0, np.inf), where=other > 0.0)
