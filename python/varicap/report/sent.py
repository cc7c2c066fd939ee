"""What was sent in each interval, from what has come through in it."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ROUNDING = 1e-9
_MORE = 1.01
"""Flows that received so many times what a link sent are not all over it."""


def within_capacity(time_s: Array, rates_bps: Array, capacity_bps: Array) -> Array:
    """Throughputs (flows x intervals) whose sum exceeds the capacity [b/s] in no interval; these end at `time_s`.

    A packet counts in the interval in which its last bit comes through, and one of a flow that shares the link in that
    in which it arrives.  What an interval has more than the capacity was therefore sent before it, and is drawn there,
    in the order in which it came; the sum of a flow over the intervals stays.  What the capacity of all intervals has
    no room for is left in the first.

    >>> within_capacity(np.array([1.0, 2.0, 3.0]), np.array([[9.0, 8.0, 13.0]]), np.full(3, 10.0)).tolist()
    [[10.0, 10.0, 10.0]]
    >>> came = np.array([[0.0, 8.0, 4.0], [0.0, 0.0, 4.0]])
    >>> within_capacity(np.array([1.0, 2.0, 3.0]), came, np.array([10.0, 10.0, 4.0])).tolist()
    [[2.0, 8.0, 2.0], [0.0, 2.0, 2.0]]
    """
    step = np.diff(time_s, prepend=0.0)
    sent = np.nan_to_num(rates_bps) * step
    # Backwards from the last interval this is a queue that the capacity serves in the order of arrival.
    came, most = sent[:, ::-1], (capacity_bps * step)[::-1]
    sums = came.sum(axis=0)
    arrived, room = np.cumsum(sums), np.cumsum(most)
    unused = np.maximum.accumulate(np.maximum(room - arrived, 0.0))
    left = np.minimum(room - unused, arrived)
    if len(left):
        left[-1] = arrived[-1]
    is_moved = ~np.isclose(np.diff(left, prepend=0.0), sums, rtol=_ROUNDING, atol=_ROUNDING * most.max(initial=0.0))
    for row, own in enumerate(came):
        # A flow's share of what leaves is that of what came.
        leaves = np.diff(np.interp(left, np.append(0.0, arrived), np.append(0.0, np.cumsum(own))), prepend=0.0)
        sent[row] = np.where(is_moved, leaves, own)[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((step > 0.0) & np.isfinite(rates_bps), sent / step, rates_bps)


def sent_bps(series: Sequence[pa.Table], link: pa.Table) -> list[Array]:
    """The throughputs in the series of a link, or in those of all flows over it, that its capacity allows [b/s].

    They are as measured if it cannot have sent them all.
    """
    if not series:
        return []
    time, capacity, through = (_values(link, name) for name in ("time_s", "capacity_bps", "throughput_bps"))
    measured = [_values(rows, "throughput_bps") for rows in series]
    places = [np.searchsorted(time, _values(rows, "time_s")) for rows in series]
    rates = np.zeros((len(series), len(time)))
    for row, (at, rate) in enumerate(zip(places, measured, strict=True)):
        rates[row, at[at < len(time)]] = rate[at < len(time)]
    step = np.diff(time, prepend=0.0)
    if np.nansum(rates * step) > _MORE * np.nansum(through * step):
        return measured
    sent = within_capacity(time, rates, capacity)
    return [sent[row, at] if (at < len(time)).all() else measured[row] for row, at in enumerate(places)]


def _values(rows: pa.Table, name: str) -> Array:
    return np.asarray(rows[name].to_numpy(), np.float64)
