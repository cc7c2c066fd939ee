"""A link to a constellation in low earth orbit that is reconfigured every 15 s.

Reconfigurations come at offset + k * interval: each assigns another satellite and another share of it.  Between two
of them the capacity is

    C(t) = min(peak, median * exp(L + F(t)))

where L is normal, one draw for each interval, and F is an Ornstein-Uhlenbeck process; the one-way delay is

    least + U + J(t)

where U is uniform up to a spread, one draw for each interval (the length of the path), and J is exponential, one draw
for every 10 ms (the schedule of the uplink's frames).  At a reconfiguration nothing is sent for an exponential time,
and for another one thereafter packets are lost, each with the same probability.

The interval of 15 s is what measurements of Starlink found [tanveer23]; the other numbers are plausible, not fitted.
"""

import numpy as np

from varicap.traces.files import DELAY_STEP_S
from varicap.traces.parameters import Satellite, checked, steps_of
from varicap.traces.randomness import Source, exponential, normal, ornstein_uhlenbeck, uniform
from varicap.traces.trace import Delays, Losses, Rates


def generate_leo(seed: int, duration_s: float, link: Satellite | None = None) -> Rates:
    """Capacity, delay and loss of a link to a constellation, in steps of 10 ms.

    >>> trace = generate_leo(seed=1, duration_s=60)
    >>> trace.duration_s, float(trace.rate_bps.max()) <= 250e6
    (60, True)
    """
    link = checked(link or Satellite())
    steps = steps_of(duration_s, DELAY_STEP_S)
    steps_of(duration_s, link.interval_s)
    source = Source(seed)
    time_s = np.arange(steps, dtype=np.float64) * DELAY_STEP_S
    interval = np.floor((time_s - link.offset_s) / link.interval_s + 1e-9).astype(np.int64)
    count = int(interval[-1] - interval[0]) + 1
    level = normal(source, count) * link.level_sigma
    way_s = uniform(source, count) * link.delay_spread_s
    silent_s = exponential(source, count) * link.outage_s
    here = interval - interval[0]
    fast = ornstein_uhlenbeck(source, steps, DELAY_STEP_S, link.fast_sigma, link.fast_time_s)
    rates = np.minimum(link.peak_bps, link.median_bps * np.exp(level[here] + fast))
    since_s = time_s - link.offset_s - interval * link.interval_s
    is_silent = since_s < silent_s[here] - DELAY_STEP_S / 2
    rates[is_silent] = 0.0
    delay_s = link.delay_s + way_s[here] + exponential(source, steps) * link.delay_jitter_s
    burst_s = exponential(source, count) * link.burst_s
    is_lossy = ~is_silent & (since_s < (silent_s + burst_s)[here] - DELAY_STEP_S / 2)
    loss = Losses(time_s, np.where(is_lossy, link.burst_loss, 0.0), duration_s)
    return Rates(time_s, rates, duration_s, Delays(time_s, delay_s * 1000, duration_s), loss)
