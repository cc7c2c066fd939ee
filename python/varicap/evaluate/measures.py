"""Measures of a run, a value for each replication, by the words that a criterion has for them."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varicap.results.result import Result
from varicap.results.samples import samples
from varicap.statistics import Array, Range

_TABLES = {"link": "links", "flow": "flows", "group": "groups"}
_ENOUGH = 0.8
"""Of an even share: a later flow has converged that has so much."""
_WINDOW_S = 2.0
"""Over which a share is taken [s]."""


def measured(result: Result, words: Sequence[str]) -> Array:
    """What the words ask of a result, a value for each replication."""
    what, *arguments = words
    if what in _TABLES:
        name, column = arguments
        return samples(result.table(_TABLES[what]), name, column)
    return _OTHERS[what](result, *arguments)


def range_of(words: Sequence[str]) -> Range:
    """Which values a measure can have."""
    if words[0] in ("share", "share-of") or words[-1] in ("utilisation", "loss_ratio", "late", "jain_index"):
        return "share"
    return "count" if words[-1].endswith("_packets") and "mean" not in words[-1] else "amount"


def is_series(words: Sequence[str]) -> bool:
    """Whether a measure is taken from time series."""
    return words[0] in ("convergence", "fall")


def _share(result: Result, one: str, other: str) -> Array:
    """What one flow gets of what two get [1]."""
    mine, theirs = (samples(result.flows, name, "goodput_bps") for name in (one, other))
    return mine / np.maximum(mine + theirs, 1e-9)


def _share_of(result: Result, flow: str, part: str, whole: str) -> Array:
    """One count of a flow, of another [1]."""
    return samples(result.flows, flow, part) / np.maximum(samples(result.flows, flow, whole), 1.0)


def _convergence(result: Result, first: str, second: str) -> Array:
    """Until the second flow first has `_ENOUGH` of an even share, over `_WINDOW_S` [s]; the end of the run if never.

    It begins where the second flow has its first byte.
    """
    times, mine = _series(result.flow_series, second, "goodput_bps")
    _, theirs = _series(result.flow_series, first, "goodput_bps")
    wide = max(1, round(_WINDOW_S / (times[1] - times[0])))
    found = []
    for own, others in zip(mine, theirs, strict=True):
        began = int(np.argmax(own > 0.0)) if (own > 0.0).any() else own.size - 1
        kernel = np.ones(wide)
        share = np.convolve(own, kernel, "valid") / np.maximum(np.convolve(own + others, kernel, "valid"), 1e-9)
        # A window is over at its last sample.
        reached = np.flatnonzero(share[began:] >= _ENOUGH / 2)
        end = times[began + reached[0] + wide - 1] if reached.size else times[-1]
        found.append(end - (times[began - 1] if began else 0.0))
    return np.array(found)


def _fall(result: Result, flow: str, instant_s: str, fits_bytes: str) -> Array:
    """From an instant on until no more than so many bytes are in flight [s]; the end of the run if never."""
    times, flight = _series(result.flow_series, flow, "in_flight_bytes")
    began, most = float(instant_s), float(fits_bytes)
    after = times > began
    found = []
    for bytes_ in flight:
        fits = np.flatnonzero(bytes_[after] <= most)
        found.append((times[after][fits[0]] if fits.size else times[-1]) - began)
    return np.array(found)


def _series(table: pa.Table, name: str, column: str) -> tuple[Array, Array]:
    """Sampling times [s], and a column of a flow, shape (replications, times)."""
    rows = table.filter(pc.equal(table["flow"], name))
    times = np.unique(rows["time_s"].to_numpy())
    values = np.asarray(rows[column].to_numpy(zero_copy_only=False), dtype=np.float64)
    return times, np.nan_to_num(values).reshape(-1, times.size)


def ratio(above: Array, below: Array) -> Array:
    """The ratio of two means over the runs, a value for each run that scatters as its linearised error does."""
    if not below.mean() > 0.0:
        return np.full(above.shape, 1.0 if not above.any() else math.inf)
    of_means = above.mean() / below.mean()
    return np.asarray(of_means + (above - of_means * below) / below.mean())


_OTHERS: dict[str, Callable[..., Array]] = {
    "share": _share,
    "share-of": _share_of,
    "convergence": _convergence,
    "fall": _fall,
}
