"""Fig. 3: the forward link with thresholds of 2000 and 6000 bytes, from 20 kb/s on."""

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.lrl.link import Measured, Setting, interval, measure
from varicap.papers.lrl.panels import over_time
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array

BASE = Setting(low=2, high=6, c0=20)
_SETTLED = 10.0  # [s]


def reproduce(run: Run) -> Outcome:
    """One flow, also with more initial capacity and with a lower high threshold."""
    base = measure(run, BASE)
    forward = base.forward
    late = forward.after(_SETTLED)
    early = forward.time_s <= _SETTLED
    capacity = forward.capacity[:, late].mean(axis=1)
    by_second = forward.seconds(forward.mean_waiting)[:, int(_SETTLED) :]
    values = {
        "F3a": capacity,
        "F3b": forward.waiting[:, early].max(axis=1),
        "F3c": _between(by_second),
        "F3c-instantaneous": _between(forward.waiting[:, late]),
        "F3d-utilisation": forward.throughput[:, late].mean(axis=1) / capacity,
        "F3d-tracks": _distance(forward.seconds(forward.throughput), forward.seconds(forward.capacity)),
        "F3e-c0": measure(run, Setting(low=2, high=6, c0=40)).throughput / base.throughput,
        "F3e-high": measure(run, Setting(low=2, high=3, c0=20)).throughput / base.throughput,
    }
    return Outcome({key: Value(sim=interval(value)) for key, value in values.items()}, lambda: _draw(base))


def _between(waiting: Array) -> Array:
    """The share of the values that lie between the thresholds."""
    return np.asarray(((waiting >= 1e3 * BASE.low) & (waiting <= 1e3 * BASE.high)).mean(axis=1))


def _distance(throughput: Array, capacity: Array) -> Array:
    """Mean distance of the throughput from the capacity, as a share of the capacity, over the seconds after 10 s."""
    apart = np.abs(throughput - capacity)[:, int(_SETTLED) :]
    return np.asarray(apart.mean(axis=1) / capacity[:, int(_SETTLED) :].mean(axis=1))


def _draw(base: Measured) -> Figure:
    return over_time("Fig. 3: the forward link, thresholds 2000 and 6000 B, from 20 kb/s on", base.forward, BASE)
