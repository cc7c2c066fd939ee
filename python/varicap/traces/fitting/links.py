"""Parameters of generated links that are like a trace, by the moments of its log-capacity.

Slots that belong to an outage are left out, also of pairs; the rest has the autocovariance of a sum of
Ornstein-Uhlenbeck processes,

    E y(t) y(t + l) = sigma_s² exp(-l / tau_s) + sigma_f² exp(-l / tau_f),        l > 0,

whose parameters a least-squares fit gives.  Lag 0 is left out: to it the spacing of opportunities adds a variance that
is the slots' and not the capacity's.
"""

import math
from typing import Any

import numpy as np

from varicap.traces.fitting.coverage import fit_coverage
from varicap.traces.fitting.goodness import OUTAGE_SHARE
from varicap.traces.parameters import Cellular, Satellite, TraceError
from varicap.traces.trace import Array, Trace, bins

_SLOT_S = 0.1
_LEAST_S = 30.0
_LEAST_INTERVAL_S = 1.0
_PEAK = 0.999
"""Quantile of the rates that is taken for the peak: the very largest would be an accident of their spacing."""


def fit_cellular(trace: Trace) -> Cellular:
    """Parameters of an LTE-like link: `varicap.traces.generate_lte` makes traces that vary alike.

    Raises `TraceError` for a trace shorter than half a minute, or without capacity.

    >>> from varicap.traces import Cellular, generate_lte_rates
    >>> found = fit_cellular(generate_lte_rates(1, 1200.0, Cellular(median_bps=8e6, peak_bps=100e6)))
    >>> 6e6 < found.median_bps < 10e6
    True
    """
    rates = _rates(trace)
    coverage = fit_coverage(rates, _SLOT_S)
    level, covered = _log_rates(rates)
    lags, covariance = _autocovariance(level, covered)
    slow, fast = _two_scales(lags, covariance)
    return Cellular(
        median_bps=float(np.exp(np.median(level[covered]))),
        peak_bps=float(np.quantile(rates, _PEAK)),
        slow_sigma=slow[0],
        slow_time_s=slow[1],
        fast_sigma=fast[0],
        fast_time_s=fast[1],
        outages_per_min=60 / coverage.covered_s if coverage.outages else 0.0,
        outage_s=coverage.outage_s,
    )


def fit_satellite(trace: Trace, interval_s: float = 15.0) -> Satellite:
    """Parameters of a link to satellites, reconfigured every `interval_s`: for `varicap.traces.generate_leo`.

    The first reconfiguration is where the means of intervals differ most.  Delays, if the trace has some, give the
    least delay, what an interval adds to it, and the jitter within.
    """
    rates = _rates(trace)
    if not interval_s >= _LEAST_INTERVAL_S:
        raise TraceError(f"reconfigurations are {_LEAST_INTERVAL_S:g} s or more apart, not {interval_s:g} s")
    if trace.duration_s < 4 * interval_s:
        raise TraceError(f"{trace.duration_s:g} s are too few intervals of {interval_s:g} s: four or more")
    level, covered = _log_rates(rates)
    size = round(interval_s / _SLOT_S)
    numbers = np.arange(len(rates))
    groups = [_groups(numbers.astype(np.float64) * _SLOT_S, offset * _SLOT_S, interval_s) for offset in range(size)]
    offset = int(np.argmax([_between(level, covered, group) for group in groups]))
    group = groups[offset]
    means = _group_means(level, covered, group)
    within = level - means[group - group[0]]
    lags, covariance = _autocovariance(within, covered & np.isfinite(within))
    sigma, time = _one_scale(lags, covariance, interval_s)
    delay = _delays(trace, interval_s, offset * _SLOT_S)
    outages = fit_coverage(rates, _SLOT_S)
    # Every reconfiguration has its outage, though some are too short to empty a slot.
    silent_s = outages.outages * outages.outage_s / max(1.0, trace.duration_s / interval_s)
    return Satellite(
        median_bps=float(np.exp(np.median(level[covered]))),
        peak_bps=float(np.quantile(rates, _PEAK)),
        interval_s=interval_s,
        offset_s=offset * _SLOT_S,
        level_sigma=float(np.nanstd(means)),
        fast_sigma=sigma,
        fast_time_s=time,
        outage_s=silent_s,
        **delay,
    )


def _rates(trace: Trace) -> Array:
    if trace.duration_s < _LEAST_S:
        raise TraceError(f"{trace.duration_s:g} s are too short to fit a link: {_LEAST_S:g} s or more")
    _, rates = bins(trace, _SLOT_S)
    if not rates.any():
        raise TraceError("the trace has no capacity at all")
    return rates


def _log_rates(rates: Array) -> tuple[Array, Any]:
    """Logarithms of the rates, and which slots have coverage; neighbours of an outage have only a part of theirs."""
    silent = rates < OUTAGE_SHARE * float(rates.mean())
    covered = ~(silent | np.roll(silent, 1) | np.roll(silent, -1))
    if np.count_nonzero(covered) < _LEAST_S / _SLOT_S / 3:
        raise TraceError("the trace is hardly ever covered: too few slots have capacity and covered neighbours")
    with np.errstate(divide="ignore"):
        return np.log(rates), covered


def _autocovariance(level: Array, covered: Any) -> tuple[Array, Array]:
    """Lags [s] from one slot on, and the autocovariance there, over pairs of which both are covered."""
    apart = np.where(covered, level - np.mean(level[covered]), 0.0)
    size = 2 * len(level)
    power = np.fft.irfft(np.abs(np.fft.rfft(apart, size)) ** 2, size)
    pairs = np.fft.irfft(np.abs(np.fft.rfft(covered.astype(float), size)) ** 2, size)
    most = min(len(level) // 4, round(60 / _SLOT_S))
    places = np.arange(1, most + 1)
    return places.astype(np.float64) * _SLOT_S, power[1 : most + 1] / np.maximum(pairs[1 : most + 1], 1.0)


def _two_scales(lags: Array, covariance: Array) -> tuple[tuple[float, float], tuple[float, float]]:
    """Standard deviation and correlation time of the slow and of the fast part."""
    from scipy.optimize import least_squares  # slow to import

    total = max(float(covariance[0]), 1e-6)

    def error(logs: Array) -> Array:
        slow, slow_s, fast, fast_s = np.exp(logs)
        # Small lags tell more: they are means of more pairs that are alike.
        return np.asarray((slow * np.exp(-lags / slow_s) + fast * np.exp(-lags / fast_s) - covariance) / np.sqrt(lags))

    low = np.log([total * 1e-4, 1.0, total * 1e-4, _SLOT_S / 2])
    high = np.log([total * 4, 120.0, total * 4, 2.0])
    found = least_squares(error, np.log([total / 2, 8.0, total / 2, 0.3]), bounds=(low, high))
    slow, slow_s, fast, fast_s = np.exp(found.x).tolist()
    return (math.sqrt(slow), slow_s), (math.sqrt(fast), fast_s)


def _one_scale(lags: Array, covariance: Array, most_s: float) -> tuple[float, float]:
    """The same of a single part, by its first two lags."""
    first, second = float(covariance[0]), float(covariance[1])
    if first <= 0:
        return 0.0, _SLOT_S
    keep = min(max(second / first, 1e-3), 0.999)
    time = min(-_SLOT_S / math.log(keep), most_s)
    return math.sqrt(first * math.exp(float(lags[0]) / time)), time


def _groups(time_s: Array, offset_s: float, interval_s: float) -> Any:
    """The number of the interval that each instant is in."""
    return np.floor((time_s - offset_s) / interval_s + 1e-9).astype(np.int64)


def _group_means(level: Array, covered: Any, group: Any) -> Array:
    first = int(group[0])
    count = np.bincount(group[covered] - first, minlength=int(group[-1]) - first + 1)
    total = np.bincount(group[covered] - first, level[covered], minlength=len(count))
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.where(count > 0, count, np.nan))


def _between(level: Array, covered: Any, group: Any) -> float:
    """Variance of the means of whole intervals."""
    return float(np.nanvar(_group_means(level, covered, group)))


def _delays(trace: Trace, interval_s: float, offset_s: float) -> dict[str, float]:
    """Least delay, spread over intervals and jitter within [s]; without delays nothing, which means the defaults."""
    if trace.delay is None:
        return {}
    time_s = np.arange(0, trace.duration_s, _SLOT_S)
    delay_s = trace.delay.at(time_s) / 1000
    group = _groups(time_s, offset_s, interval_s)
    least = np.array([delay_s[group == each].min() for each in np.unique(group)])
    mean = np.array([delay_s[group == each].mean() for each in np.unique(group)])
    return {
        "delay_s": float(least.min()),
        "delay_spread_s": float(least.max() - least.min()),
        "delay_jitter_s": float((mean - least).mean()),
    }
