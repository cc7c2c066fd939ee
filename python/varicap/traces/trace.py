"""A trace is rates over time, or delivery opportunities; each can be converted to the other.

Conversion preserves the work that a link can do: the integral of the rate is the number of opportunities times their
size.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varicap.traces.parameters import MOST_VALUES, TraceError

Array = NDArray[np.float64]
Millis = NDArray[np.int64]

OPPORTUNITY_BYTES = 1500
OPPORTUNITY_BITS = 8 * OPPORTUNITY_BYTES
_ROUNDING_BITS = 0.05


@dataclass(frozen=True)
class Delays:
    """One-way delays over time."""

    time_s: Array
    """When each delay begins [s]; the first at 0."""
    delay_ms: Array
    """The delays [ms]."""
    duration_s: float
    """Time after which the delays repeat [s]."""

    def at(self, time_s: Array) -> Array:
        """The delays at the given instants [ms]."""
        return _held(self.time_s, self.delay_ms, self.duration_s, time_s)


@dataclass(frozen=True)
class Losses:
    """Probabilities of loss over time."""

    time_s: Array
    """When each probability begins [s]; the first at 0."""
    loss: Array
    """The probabilities [1]."""
    duration_s: float
    """Time after which they repeat [s]."""

    def at(self, time_s: Array) -> Array:
        """The probabilities at the given instants [1]."""
        return _held(self.time_s, self.loss, self.duration_s, time_s)


def _held(begins_s: Array, values: Array, duration_s: float, time_s: Array) -> Array:
    """Of values that hold from their instants on, and repeat, those at the given instants."""
    return values[np.searchsorted(begins_s, np.mod(time_s, duration_s), side="right") - 1]


@dataclass(frozen=True)
class Understood:
    """What was understood of a log."""

    form: str
    """What kind of file it is: ``table``, ``Pensieve``, ``iperf3``, ``capture``, …"""
    sentence: str
    """Rows, length, columns, and what was found wrong and done about it."""
    faults: tuple[str, ...]
    """What was found wrong, and what was done about it."""
    quality: Mapping[str, Any]
    """The same in numbers: gaps, duplicates, missing values, …"""


@dataclass(frozen=True)
class Rates:
    """A capacity that is constant from one instant to the next."""

    time_s: Array
    """When each rate begins [s]; the first at 0."""
    rate_bps: Array
    """The rates [b/s]."""
    duration_s: float
    """Time after which the trace repeats [s]."""
    delay: Delays | None = None
    """One-way delays that were recorded with the trace."""
    loss: Losses | None = None
    """Probabilities of loss that belong to the trace."""
    understood: Understood | None = None
    """What was understood of the file, if it was read from one."""

    @property
    def edges_s(self) -> Array:
        """The times at which the rates begin, and the end of the trace [s]."""
        return np.append(self.time_s, self.duration_s)

    def bits_until(self, time_s: Array) -> Array:
        """What the link can carry from the beginning to the given instants [bit]."""
        total = np.concatenate([[0.0], np.cumsum(self.rate_bps * np.diff(self.edges_s))])
        return np.asarray(np.interp(time_s, self.edges_s, total))


@dataclass(frozen=True)
class Opportunities:
    """Instants at which a link may send 1500 bytes."""

    time_ms: Millis
    """The instants [ms], non-decreasing; the last is the period."""
    delay: Delays | None = None
    """One-way delays that were recorded with the trace."""
    loss: Losses | None = None
    """Probabilities of loss that belong to the trace."""
    understood: Understood | None = None
    """What was understood of the file, if it was read from one."""

    @property
    def duration_s(self) -> float:
        """Time after which the trace repeats [s]."""
        return float(self.time_ms[-1]) / 1000

    @property
    def ordered_ms(self) -> Millis:
        """The same opportunities with those at 0, which belong to the end of the previous period, moved to the end."""
        zeros = int(np.searchsorted(self.time_ms, 0, side="right"))
        return np.concatenate([self.time_ms[zeros:], np.full(zeros, self.time_ms[-1])])

    def bits_until(self, time_s: Array) -> Array:
        """What the link can carry from the beginning to the given instants [bit]."""
        until = np.searchsorted(self.ordered_ms, np.asarray(time_s) * 1000 + 1e-6, side="right")
        return until.astype(np.float64) * OPPORTUNITY_BITS


Trace: TypeAlias = Rates | Opportunities


def bins(trace: Trace, step_s: float) -> tuple[Array, Array]:
    """Edges of intervals of `step_s` [s], and the mean rate in each [b/s]; the last is up to half longer or shorter.

    >>> bins(Opportunities(np.array([1, 2, 3, 4])), 0.002)[1].tolist()
    [12000000.0, 12000000.0]
    """
    count = trace.duration_s / step_s
    if not 0 < count <= MOST_VALUES:
        raise TraceError(f"steps of {step_s:g} s are too short for a trace of {trace.duration_s:g} s")
    # A last interval of only a few milliseconds would have an extreme rate.
    edges = np.append(np.arange(max(1, round(count)), dtype=np.float64) * step_s, trace.duration_s)
    return edges, np.diff(trace.bits_until(edges)) / np.diff(edges)


def mean_rate_bps(trace: Trace) -> float:
    """Mean capacity [b/s]."""
    return float(trace.bits_until(np.array([trace.duration_s]))[0]) / trace.duration_s


_FEW_VALUES = 0.25
"""Share of rows up to which values count as recurring."""


def sample_s(trace: Trace) -> float | None:
    """Usual length of the rows of a log of samples, the median [s]; None where rows begin when the rate changes.

    Rows are samples if they are about equally long, or if hardly a rate recurs: a path of a few rates has neither.

    >>> sample_s(Rates(np.arange(4.0), np.array([1e6, 2e6, 3e6, 4e6]), 4.0))
    1.0
    """
    if isinstance(trace, Opportunities) or len(trace.time_s) < 2:
        return None
    lengths = np.diff(trace.edges_s)
    usual = float(np.median(lengths))
    is_regular = float((np.abs(lengths - usual) <= usual / 4).mean()) >= 0.75
    recurs = len(np.unique(trace.rate_bps)) <= _FEW_VALUES * len(lengths)
    return usual if is_regular or not recurs else None


def to_rates(trace: Trace, step_s: float = 0.1) -> Rates:
    """Convert a trace to rates: the means of opportunities over `step_s`; a trace of rates is returned unchanged.

    >>> to_rates(Opportunities(np.array([50, 100, 200])), 0.1).rate_bps.tolist()
    [240000.0, 120000.0]
    """
    if isinstance(trace, Rates):
        return trace
    edges, rates = bins(trace, step_s)
    return Rates(edges[:-1], rates, trace.duration_s, trace.delay, trace.loss)


def to_opportunities(trace: Trace) -> Opportunities:
    """Convert a trace to opportunities, each when the link could have carried 1500 bytes more, in whole milliseconds.

    Their number is rounded, and their spacing adapted so that nothing is left over.  The last one is at the end, which
    in this format is the period, even if the trace ends in an outage.

    >>> to_opportunities(Rates(np.array([0.0, 0.004]), np.array([6e6, 0.0]), 0.006)).time_ms.tolist()
    [2, 6]
    """
    if isinstance(trace, Opportunities):
        return trace
    total = trace.bits_until(trace.edges_s)
    count = round(float(total[-1]) / OPPORTUNITY_BITS)
    if count > MOST_VALUES:
        raise TraceError(f"{count} opportunities are more than the {MOST_VALUES} that a trace may have")
    end_ms = round(trace.duration_s * 1000)
    if end_ms < 1:
        raise TraceError(f"a trace lasts at least 1 ms, not {trace.duration_s:g} s")
    # The first instant at which this much was carried, allowing for rounded sums: never within an outage or after it.
    bits = np.arange(1, count + 1, dtype=np.float64) * (float(total[-1]) / max(count, 1)) - _ROUNDING_BITS
    piece = np.clip(np.searchsorted(total, bits, side="left") - 1, 0, len(trace.rate_bps) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = np.nan_to_num((bits - total[piece]) / trace.rate_bps[piece], posinf=0.0, neginf=0.0)
    time_s = trace.time_s[piece] + within
    time_ms = np.ceil(time_s * 1000 - 1e-6).astype(np.int64)
    # A trace must not begin with 0, whose instant belongs to the end.
    inside = np.clip(time_ms, 1, end_ms)
    if len(inside) == 0:
        inside = np.array([end_ms])
    inside[-1] = end_ms
    return Opportunities(inside, trace.delay, trace.loss)


def with_delay(trace: Trace, delay: Delays | None) -> Trace:
    """A trace with the same capacity and these delays."""
    return replace(trace, delay=delay)
