"""Fig. 3: the forward link with thresholds of 2000 and 6000 bytes, from 20 kb/s on."""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.lrl.link import TODAY, Measured, Setting, Values, judged, measure, under
from varicap.papers.lrl.panels import over_time
from varicap.papers.run import Outcome, Run
from varicap.papers.worst import least
from varicap.statistics import Array, Interval

BASE = Setting(low=2, high=6, c0=20)
_SETTLED = 10.0  # [s]
_MINIMA = (20, 40, 60, 80, 100)  # [kb/s], up to the paper's highest
_HIGHS = (6, 5, 4, 3)  # [kB], down to one packet above the low threshold


def reproduce(run: Run) -> Outcome:
    """One flow, also with more initial capacity and with lower high thresholds."""
    base = measure(run, BASE)
    forward = base.forward
    late = forward.after(_SETTLED)
    capacity = forward.capacity[:, late].mean(axis=1)
    occupancy = forward.seconds(forward.mean_waiting)
    values: Values = {
        "F3a": capacity,
        "F3b": occupancy[:, : int(_SETTLED)].max(axis=1),
        "F3c": _between(occupancy[:, int(_SETTLED) :]),
        "F3d-utilisation": forward.throughput[:, late].mean(axis=1) / capacity,
        "F3d-tracks": distance(forward.seconds(forward.throughput), forward.seconds(forward.capacity)),
        "F3e-c0": _growth(run, [Setting(BASE.low, BASE.high, c0) for c0 in _MINIMA]),
        "F3e-high": _growth(run, [Setting(BASE.low, high, BASE.c0) for high in _HIGHS]),
    }
    modern = measure(run, BASE, TODAY).forward
    offered = modern.capacity[:, late].mean(axis=1)
    today: Values = {"F3a": offered, "F3d-utilisation": modern.throughput[:, late].mean(axis=1) / offered}
    return Outcome(judged(values), lambda: _draw(base), today=under({"CUBIC": today}))


def _between(waiting: Array) -> Array:
    """The share of the values that lie between the thresholds."""
    return np.asarray(((waiting >= 1e3 * BASE.low) & (waiting <= 1e3 * BASE.high)).mean(axis=1))


def distance(throughput: Array, capacity: Array) -> Array:
    """Mean distance of the throughput from the capacity, as a share of the capacity, over the seconds after 10 s."""
    apart = np.abs(throughput - capacity)[:, int(_SETTLED) :]
    return np.asarray(apart.mean(axis=1) / capacity[:, int(_SETTLED) :].mean(axis=1))


def _growth(run: Run, settings: list[Setting]) -> Interval:
    """By what factor the throughput grows from one setting to the next, at least."""
    throughput = [measure(run, setting).throughput for setting in settings]
    return least([later / earlier for earlier, later in pairwise(throughput)])


def _draw(base: Measured) -> Figure:
    return over_time("Fig. 3: the forward link, thresholds 2000 and 6000 B, from 20 kb/s on", base.forward, BASE)
