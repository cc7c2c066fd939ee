"""Statistics of a trace: its rates, its outages, how fast and how much it varies."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from varicap.traces.parameters import TraceError
from varicap.traces.trace import Array, Opportunities, Trace, Understood, bins, mean_rate_bps, sample_s

SCALES_S = (0.01, 0.1, 1.0, 10.0)
_QUANTILES = (0, 5, 25, 50, 75, 95, 100)
_FEWEST_BINS = 4
_MOST_BINS = 4_000_000


@dataclass(frozen=True)
class Outages:
    """Times without capacity."""

    least_s: float
    """Duration below which an outage does not count [s]."""
    count: int
    total_s: float
    """Total duration of the outages [s]."""
    longest_s: float


@dataclass(frozen=True)
class Info:
    """A trace in numbers."""

    kind: str
    """The kind of trace, ``opportunities`` or ``rates``."""
    values: int
    """How many opportunities or rates the trace has."""
    duration_s: float
    mean_bps: float
    step_s: float
    """Time over which the rates below are means [s]."""
    quantiles_bps: Mapping[str, float]
    """Quantiles of the rates, from the least (p0) to the greatest (p100) [b/s]."""
    outages: Outages
    correlation_s: float | None
    """Lag at which the autocorrelation of the rates falls below 1/e; None if they do not vary [s]."""
    variation: Mapping[str, float]
    """Standard deviation of the rates over their mean [1], by the time in s over which they are means."""
    delay_ms: Mapping[str, float] | None
    """Least, mean and greatest one-way delay [ms], if it was recorded."""
    loss: Mapping[str, float] | None
    """Mean and greatest probability of loss, and share of time in which there is any [1], if it has losses."""
    understood: Understood | None = None
    """What was understood of the file, and what was found wrong."""

    def to_dict(self) -> dict[str, Any]:
        """The same as an object, as ``varicap trace info --json`` prints it."""
        return asdict(self)


def info(trace: Trace, step_s: float = 0.1, outage_s: float = 0.1) -> Info:
    """Describe a trace in numbers: rates as means over `step_s`, outages that last `outage_s` or longer.

    The trace is treated as a cycle, as a link does.  Opportunities are a point process: over times that hold only a
    few of them, the variation and the correlation include those of their spacing.

    >>> from varicap.traces import generate_steps
    >>> found = info(generate_steps([8e6, 0.0], [3.0, 1.0], 8.0))
    >>> found.mean_bps, found.outages.count, found.outages.longest_s
    (6000000.0, 2, 1.0)
    """
    _, rates = bins(trace, _within(trace, step_s))
    quantiles = np.percentile(rates, _QUANTILES)
    # Within a row of a log nothing varies.
    shortest = (sample_s(trace) or 0.0) * 0.999
    scales = [
        scale for scale in SCALES_S if scale >= shortest and _FEWEST_BINS <= trace.duration_s / scale <= _MOST_BINS
    ]
    values = len(trace.time_ms) if isinstance(trace, Opportunities) else len(trace.time_s)
    return Info(
        kind="opportunities" if isinstance(trace, Opportunities) else "rates",
        values=values,
        duration_s=trace.duration_s,
        mean_bps=mean_rate_bps(trace),
        step_s=_within(trace, step_s),
        # Sums leave digits that are only rounding errors.
        quantiles_bps={f"p{share}": round(float(value), 3) for share, value in zip(_QUANTILES, quantiles, strict=True)},
        outages=_outages(trace, outage_s),
        correlation_s=correlation_s(rates, _within(trace, step_s)),
        variation={f"{scale:g}": _variation(bins(trace, scale)[1]) for scale in scales},
        delay_ms=_delays(trace),
        loss=_losses(trace),
        understood=trace.understood,
    )


def correlation_s(rates: Array, step_s: float) -> float | None:
    """Lag at which the autocorrelation of a cycle of values falls below 1/e, interpolated between two steps [s].

    >>> round(correlation_s(np.repeat([1.0, 3.0], 50), 0.1) or 0.0, 3)  # a triangle: 1 - 4 lag / 10 s
    1.58
    """
    apart = rates - rates.mean()
    if len(rates) < _FEWEST_BINS or float(np.abs(apart).max()) <= 1e-9 * max(float(np.abs(rates).max()), 1e-300):
        return None
    spectrum = np.abs(np.fft.rfft(apart)) ** 2
    correlation = np.fft.irfft(spectrum, len(rates))[: len(rates) // 2 + 1]
    correlation = correlation / correlation[0]
    (below,) = np.nonzero(correlation < np.exp(-1.0))
    if len(below) == 0:
        return None
    first = int(below[0])
    before, after = correlation[first - 1], correlation[first]
    return float((first - 1 + (before - np.exp(-1.0)) / (before - after)) * step_s)


def _within(trace: Trace, step_s: float) -> float:
    """The step, limited to the length of the trace."""
    if not step_s > 0:
        raise TraceError(f"a step is longer than 0 s, not {step_s:g} s")
    if trace.duration_s / step_s > _MOST_BINS:
        raise TraceError(
            f"steps of {step_s:g} s are too short for a trace of {trace.duration_s:g} s: {_MOST_BINS} at most, so that "
            f"`--step '{trace.duration_s / _MOST_BINS:.2g} s'` or more will do"
        )
    return min(step_s, trace.duration_s)


def _outages(trace: Trace, least_s: float) -> Outages:
    if isinstance(trace, Opportunities):
        times_s = trace.ordered_ms / 1000
        gaps = np.diff(times_s, prepend=times_s[-1] - trace.duration_s)
    else:
        gaps = _silent(trace.rate_bps, np.diff(trace.edges_s))
    long = gaps[(gaps >= least_s - 1e-9) & (gaps > 0)]
    return Outages(least_s, len(long), float(long.sum()), float(long.max(initial=0.0)))


def _silent(rates: Array, lengths: Array) -> Array:
    """Duration of each time without capacity, joining adjacent pieces, also around the end of the cycle."""
    is_silent = rates == 0
    if is_silent.all():
        return np.array([lengths.sum()])
    turn = int(np.argmin(is_silent))  # the first piece with capacity, which no outage spans
    is_silent, lengths = np.roll(is_silent, -turn), np.roll(lengths, -turn)
    number = np.cumsum(np.diff(is_silent.astype(np.int64), prepend=0) == 1)
    return np.bincount(number[is_silent], lengths[is_silent])[1:].astype(np.float64)


def _variation(rates: Array) -> float:
    mean = float(rates.mean())
    return round(float(rates.std()) / mean, 9) if mean > 0 else 0.0


def _delays(trace: Trace) -> dict[str, float] | None:
    delay = trace.delay
    if delay is None:
        return None
    lengths = np.diff(np.append(delay.time_s, delay.duration_s))
    mean = float((delay.delay_ms * lengths).sum() / lengths.sum())
    return {"least": float(delay.delay_ms.min()), "mean": mean, "greatest": float(delay.delay_ms.max())}


def _losses(trace: Trace) -> dict[str, float] | None:
    if trace.loss is None:
        return None
    loss = trace.loss.loss
    share = np.diff(np.append(trace.loss.time_s, trace.loss.duration_s)) / trace.loss.duration_s
    # Sums leave digits that are only rounding errors.
    found = {"mean": (loss * share).sum(), "greatest": loss.max(), "share_of_time": share[loss > 0].sum()}
    return {name: round(float(value), 12) for name, value in found.items()}
