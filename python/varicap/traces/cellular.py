"""An LTE-like link.

While there is coverage, the capacity follows

    C(t) = min(peak, median * exp(S(t) + F(t)))

where S and F are independent Ornstein-Uhlenbeck processes: S is slow (shadowing as the user moves, the load of the
cell), F is fast (the fading that the scheduler does not remove).  Coverage is lost at the epochs of a Poisson process,
for exponential times, and C(t) = 0 until it returns.  Opportunities to deliver one 1500-byte packet form a Poisson
process of intensity C(t) / 12 000 bits, on the 1 ms grid of the file format.

This generates plausible channels; it is not fitted to any one network.
"""

import numpy as np
from numpy.typing import NDArray

from varicap.traces.parameters import Cellular, checked, steps_of
from varicap.traces.randomness import Source, exponential, ornstein_uhlenbeck, poisson_epochs
from varicap.traces.trace import OPPORTUNITY_BITS, Opportunities, Rates

_STEP_S = 0.010  # the capacity is constant over a step, which is short compared with every time constant below


def generate_lte_rates(seed: int, duration_s: float, link: Cellular | None = None) -> Rates:
    """The capacity C(t) of an LTE-like link, in steps of 10 ms.

    >>> bool(generate_lte_rates(seed=1, duration_s=30).rate_bps.max() <= Cellular().peak_bps)
    True
    """
    return _rates(Source(seed), duration_s, checked(link or Cellular()))


def generate_lte(seed: int, duration_s: float, link: Cellular | None = None) -> Opportunities:
    """Delivery opportunities of an LTE-like link, a Poisson process whose rate follows the capacity C(t).

    >>> times = generate_lte(seed=1, duration_s=30).time_ms
    >>> int(times[-1])
    30000
    >>> bool((generate_lte(seed=1, duration_s=30).time_ms == times).all())
    True
    """
    source = Source(seed)
    rates = _rates(source, duration_s, checked(link or Cellular()))
    end_ms = round(duration_s * 1000)
    mean_count = np.concatenate([[0.0], np.cumsum(rates.rate_bps * (_STEP_S / OPPORTUNITY_BITS))])
    epochs = poisson_epochs(source, float(mean_count[-1]))
    times_s = np.interp(epochs, mean_count, np.arange(len(mean_count)) * _STEP_S)
    times_ms = np.ceil(times_s * 1000).astype(np.int64)
    # The file's period is its last number; the first must not be 0, an instant that belongs to the end.
    times_ms = times_ms[(times_ms >= 1) & (times_ms < end_ms)]
    return Opportunities(np.append(times_ms, end_ms))


def _rates(source: Source, duration_s: float, link: Cellular) -> Rates:
    steps = steps_of(duration_s, _STEP_S)
    slow = ornstein_uhlenbeck(source, steps, _STEP_S, link.slow_sigma, link.slow_time_s)
    fast = ornstein_uhlenbeck(source, steps, _STEP_S, link.fast_sigma, link.fast_time_s)
    capacity = np.minimum(link.peak_bps, link.median_bps * np.exp(slow + fast))
    capacity[~_coverage(source, steps, link)] = 0.0
    return Rates(np.arange(steps, dtype=np.float64) * _STEP_S, capacity, duration_s)


def _coverage(source: Source, steps: int, link: Cellular) -> NDArray[np.bool_]:
    """Whether there is coverage, for each step."""
    covered = np.ones(steps, dtype=np.bool_)
    if link.outages_per_min <= 0.0:
        return covered
    mean_covered_s = 60.0 / link.outages_per_min
    steps_of(steps * _STEP_S, (mean_covered_s + link.outage_s) / 100)
    now_s = 0.0
    while True:
        to_outage, in_outage = exponential(source, 2)
        begin_s = now_s + float(to_outage) * mean_covered_s
        now_s = begin_s + float(in_outage) * link.outage_s
        if begin_s >= steps * _STEP_S:
            return covered
        covered[round(begin_s / _STEP_S) : round(now_s / _STEP_S)] = False
