"""The link of a user who moves from cell to cell.

In each cell the capacity rises from the edge to the middle and falls again, symmetrically in its logarithm,

    C(t) = edge * (peak / edge)^sin(pi u) * exp(F(t)),   u = share of the cell that was crossed,

where F is an Ornstein-Uhlenbeck process.  The time to cross a cell is uniform about its mean; at each border nothing is
sent for an exponential time, the handover, and for another one thereafter packets are lost, each with the same
probability.  The one-way delay is that of the cell, uniform.  The channel is plausible; it is not fitted to any one
network.
"""

import numpy as np

from varicap.traces.parameters import Cells, TraceError, checked, steps_of
from varicap.traces.randomness import Source, exponential, ornstein_uhlenbeck, uniform
from varicap.traces.trace import Delays, Losses, Rates

_STEP_S = 0.010


def generate_handover(seed: int, duration_s: float, link: Cells | None = None) -> Rates:
    """Capacity, delay and loss of a link that is handed over from cell to cell, in steps of 10 ms.

    >>> generate_handover(seed=1, duration_s=60).duration_s
    60
    """
    link = checked(link or Cells())
    if not 0 <= link.crossing_spread < 1:
        raise TraceError(f"the spread of crossing times is a share from 0 to 1, not {link.crossing_spread:g}")
    steps = steps_of(duration_s, _STEP_S)
    steps_of(duration_s, link.crossing_s * (1 - link.crossing_spread))
    source = Source(seed)
    time_s = np.arange(steps, dtype=np.float64) * _STEP_S
    most = int(np.ceil(duration_s / (link.crossing_s * (1 - link.crossing_spread)))) + 2
    spread = (2 * uniform(source, most) - 1) * link.crossing_spread
    # The user is already moving: the first border is anywhere in the first cell.
    first_s = -float(uniform(source, 1)[0]) * link.crossing_s
    borders = first_s + np.concatenate([[0.0], np.cumsum(link.crossing_s * (1 + spread))])
    gaps_s = exponential(source, len(borders)) * link.gap_s
    cell = np.searchsorted(borders, time_s, side="right") - 1
    way = (time_s - borders[cell]) / np.diff(borders, append=np.inf)[cell]
    fast = ornstein_uhlenbeck(source, steps, _STEP_S, link.fast_sigma, link.fast_time_s)
    rates = link.edge_bps * np.exp(np.log(link.peak_bps / link.edge_bps) * np.sin(np.pi * way) + fast)
    since_s = np.where(cell > 0, time_s - borders[cell], np.inf)
    is_silent = since_s < gaps_s[cell] - _STEP_S / 2
    rates[is_silent] = 0.0
    delay_s = link.delay_s + uniform(source, len(borders)) * link.delay_spread_s
    burst_s = exponential(source, len(borders)) * link.burst_s
    is_lossy = ~is_silent & (since_s < (gaps_s + burst_s)[cell] - _STEP_S / 2)
    loss = Losses(time_s, np.where(is_lossy, link.burst_loss, 0.0), duration_s)
    return Rates(time_s, rates, duration_s, Delays(time_s, delay_s[cell] * 1000, duration_s), loss)
