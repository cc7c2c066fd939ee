"""What was sent in each interval, from what has come through in it."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[np.float64]


def within_capacity(time_s: Array, rate_bps: Array, capacity_bps: Array) -> Array:
    """A throughput over intervals that end at `time_s`, none of which exceeds the capacity [b/s].

    A packet counts in the interval in which its last bit comes through. What an interval has more than the capacity was
    therefore sent before it, and is drawn there; the sum over the intervals stays.

    >>> within_capacity(np.array([1.0, 2.0, 3.0]), np.array([9.0, 8.0, 13.0]), np.full(3, 10.0)).tolist()
    [10.0, 10.0, 10.0]
    """
    step = np.diff(time_s, prepend=0.0)
    most, sent = (capacity_bps * step).tolist(), (rate_bps * step).tolist()
    early = 0.0
    for place in range(len(sent) - 1, -1, -1):
        bits = sent[place] + early
        sent[place] = min(bits, most[place])
        early = bits - sent[place]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(step > 0.0, np.array(sent) / step, rate_bps)


def sent_bps(rows: pa.Table, link: pa.Table) -> Array:
    """The throughput in a series of a link, or of a flow over it, that the link's capacity allows [b/s]."""
    capacity = dict(zip(link["time_s"].to_pylist(), link["capacity_bps"].to_pylist(), strict=True))
    most = np.array([capacity.get(time, np.inf) for time in rows["time_s"].to_pylist()], np.float64)
    time, rate = (np.asarray(rows[name].to_numpy(), np.float64) for name in ("time_s", "throughput_bps"))
    return within_capacity(time, rate, most)
