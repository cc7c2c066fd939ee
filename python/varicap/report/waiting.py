"""How long the queue of a link keeps a packet waiting, from time series of what waits and of the capacity."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def waiting_ms(time_s: Array, backlog_bytes: Array, capacity_bps: Array) -> Array:
    """Until what waits at each instant has been sent at the capacity that follows [ms].

    This is the delay of a packet that comes then, if packets leave in the order in which they come.  Each capacity
    holds for the interval that ends at its time.  NaN where the series ends before the queue would be empty.

    >>> waiting_ms(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1500.0, 3000.0]), np.full(3, 12000.0)).tolist()
    [0.0, 1000.0, nan]
    """
    step = np.diff(time_s, prepend=0.0)
    unlimited = ~np.isfinite(capacity_bps)
    # What the link could have sent until each instant [bit]; where it has no limit nothing waits.
    served = np.concatenate([[0.0], np.cumsum(np.where(unlimited, 0.0, capacity_bps) * step)])
    instants = np.concatenate([[0.0], time_s])
    wanted = served[1:] + 8.0 * backlog_bytes
    # The first instant at which so much is sent: while the capacity is zero, its end.
    place = np.searchsorted(served, wanted, side="left")
    inside = np.clip(place, 1, len(time_s))
    before, after = served[inside - 1], served[inside]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(after > before, (wanted - before) / (after - before), 0.0)
    end = instants[inside - 1] + share * (instants[inside] - instants[inside - 1])
    delay = np.where(backlog_bytes > 0, end - time_s, 0.0) * 1e3
    return np.where((place > len(time_s)) & (backlog_bytes > 0), np.nan, np.where(unlimited, 0.0, delay))
