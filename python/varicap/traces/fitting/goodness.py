"""How well a chain of rates describes a trace: what both say of the same four things.

- **marginal**: the distribution of the rate in a slot;
- **autocorrelation** of the rates of slots;
- **effective capacity**: the constant rate that the link carries if a backlog above x may occur with a probability of
  about exp(-delta x), measured over blocks of several lengths,

      Gamma_M(delta) = -1/(M delta) log E exp(-delta (C_1 + … + C_M)),

  for the chain exactly, for the trace as a mean over all blocks ([abr, eq. (25)]), and also for the chain that may
  change at any time, of the same rates, mean holding times and jumps;
- **outages**: how long the rate stays below a share of its mean.

A mean of exponentials is that of the few worst blocks where delta is large.  The curve of a trace ends where fewer than
ten blocks that do not overlap would carry as much weight as all (the effective sample size): beyond, it says how that
trace went, not how the link behaves.
"""

from dataclasses import dataclass, field

import numpy as np

from varicap.analyse.effective import ContinuousChain, SlottedChain
from varicap.traces.trace import Array

BLOCKS_S = (1.0, 5.0, 20.0)
"""Lengths of blocks [s] over which effective capacities are compared."""
OUTAGE_SHARE = 0.1
"""A slot is part of an outage if its rate is below this share of the mean."""
_FEWEST_BLOCKS = 10.0
_POINTS = 13
_ROUNDING = 1e-9
_MOST_LAG_S = 30.0
_MEMORY_S = 10.0
"""Longest lag at which autocorrelations are to agree [s]."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The trace and its fit, point by point."""

    x: Array
    trace: Array
    fit: Array


@dataclass(frozen=True, eq=False)
class Goodness:
    """Trace and fit side by side."""

    marginal: Curve
    """Share of slots (`trace`, `fit`) whose rate is at most `x` [b/s]."""
    distance: float
    """Largest distance between the two distributions (Kolmogorov and Smirnov)."""
    autocorrelation: Curve
    """Autocorrelation at lag `x` [s]."""
    effective: dict[float, Curve]
    """By length of a block [s]: effective capacity [b/s] at delta `x` [1/bit]."""
    error: float | None
    """Largest relative difference of the effective capacities; None if the trace is too short for any block."""
    outages: Curve
    """Share of outages that last longer than `x` [s]."""
    continuous: dict[float, Array] = field(default_factory=dict)
    """By length of a block [s]: effective capacity [b/s] of the continuous chain, at the same delta."""
    continuous_error: float | None = None
    """Its largest relative difference from the trace."""
    memory_error: float = 0.0
    """Largest difference of the autocorrelations, up to lags of 10 s."""
    memory_noise: float = 0.0
    """Twice the standard error of the trace's autocorrelation, if it is like the chain's.  [bartlett46]"""


def goodness(rates_bps: Array, chain: SlottedChain, share: Array, slot_s: float) -> Goodness:
    """Compare the rates of slots, shape (T,), with a chain of rates in b/s whose long-run shares are given."""
    effective = {
        block: _effective(rates_bps, chain, share, slot_s, round(block / slot_s))
        for block in BLOCKS_S
        if round(block / slot_s) >= 1 and len(rates_bps) * slot_s >= _FEWEST_BLOCKS * block
    }
    effective = {block: curve for block, curve in effective.items() if len(curve.x)}
    errors = [float(np.abs(curve.fit / curve.trace - 1).max()) for curve in effective.values()]
    generator = (chain.transition - np.eye(len(chain.capacity))) / slot_s
    held = ContinuousChain(chain.capacity, generator)
    continuous = {block: _of_continuous(held, curve.x, block) for block, curve in effective.items()}
    apart = [float(np.abs(continuous[block] / curve.trace - 1).max()) for block, curve in effective.items()]
    marginal = _marginal(rates_bps, chain, share)
    memory = _autocorrelation(rates_bps, chain, share, slot_s)
    near = (memory.x > 0) & (memory.x <= _MEMORY_S)
    return Goodness(
        marginal=marginal,
        distance=float(np.abs(marginal.trace - marginal.fit).max()),
        autocorrelation=memory,
        effective=effective,
        error=max(errors, default=None),
        outages=_outages(rates_bps, chain, share, slot_s),
        continuous=continuous,
        continuous_error=max(apart, default=None),
        memory_error=float(np.abs(memory.trace - memory.fit)[near].max(initial=0.0)),
        memory_noise=2 * float(np.sqrt((1 + 2 * (memory.fit[1:] ** 2).sum()) / len(rates_bps))),
    )


def _marginal(rates: Array, chain: SlottedChain, share: Array) -> Curve:
    """Both distributions just before and at each of their steps."""
    # Rates that differ by their rounding are one.
    grain = float(rates.max()) * _ROUNDING
    rates, capacity = (np.rint(each / grain) * grain for each in (rates, chain.capacity))
    steps = np.unique(np.concatenate([rates, capacity]))
    x = np.repeat(steps, 2)
    sides = ("left", "right")

    def below(values: Array, weight: Array) -> Array:
        order = np.argsort(values, kind="stable")
        total = np.concatenate([[0.0], np.cumsum(weight[order])])
        found = np.empty(len(x))
        for place, side in enumerate(sides):
            found[place::2] = total[np.searchsorted(values[order], steps, side=side)]  # type: ignore[call-overload]
        return found

    return Curve(x, below(rates, np.full(len(rates), 1 / len(rates))), below(capacity, share))


def _autocorrelation(rates: Array, chain: SlottedChain, share: Array, slot_s: float) -> Curve:
    lags = np.arange(min(len(rates) // 4, round(_MOST_LAG_S / slot_s)) + 1)
    apart = rates - rates.mean()
    power = np.abs(np.fft.rfft(apart)) ** 2
    trace = np.fft.irfft(power, len(rates))[lags]
    level = chain.capacity - float(share @ chain.capacity)
    fit, ahead = np.empty(len(lags)), level
    for lag in lags:
        fit[lag] = float((share * level) @ ahead)
        ahead = chain.transition @ ahead
    return Curve(lags.astype(np.float64) * slot_s, _normalised(trace), _normalised(fit))


def _normalised(covariance: Array) -> Array:
    return covariance / covariance[0] if covariance[0] > 0 else np.zeros(len(covariance))


def _effective(rates: Array, chain: SlottedChain, share: Array, slot_s: float, block: int) -> Curve:
    work = rates * slot_s
    total = np.concatenate([[0.0], np.cumsum(np.concatenate([work, work[: block - 1]]))])
    sums = total[block:] - total[:-block]
    spread = float(sums.std())
    if not spread > 0:
        return Curve(*(np.zeros(0),) * 3)
    x, trace, fit = [], [], []
    for delta in np.geomspace(0.05, 20.0, _POINTS) / spread:
        weight = np.exp(-delta * (sums - sums.min()))
        if weight.sum() ** 2 / (weight**2).sum() / block < _FEWEST_BLOCKS:
            break
        x.append(delta)
        trace.append((sums.min() - np.log(weight.mean()) / delta) / (block * slot_s))
        fit.append(_of_chain(chain, share, slot_s, block, delta))
    return Curve(np.array(x), np.array(trace), np.array(fit))


def _of_chain(chain: SlottedChain, share: Array, slot_s: float, block: int, delta: float) -> float:
    """Effective capacity of a chain over blocks of so many slots [b/s]: share (D P)^(M-1) D 1, with the scale apart."""
    work = chain.capacity * slot_s
    tilt, ahead, log = np.exp(-delta * (work - work.min())), np.ones(len(work)), 0.0
    for slot in range(block):
        ahead = tilt * (chain.transition @ ahead if slot else ahead)
        log, ahead = log + float(np.log(ahead.max())), ahead / ahead.max()
    log += float(np.log(share @ ahead))
    return float((work.min() - log / (delta * block)) / slot_s)


def _of_continuous(chain: ContinuousChain, deltas: Array, block_s: float) -> Array:
    """Effective capacity over blocks of so long [b/s]: share exp((Q - delta R) t) 1, by squaring, the scale apart."""
    from scipy.linalg import expm  # slow to import

    least, found = float(chain.capacity.min()), np.empty(len(deltas))
    halvings = 20
    for place, delta in enumerate(deltas):
        tilted = chain.generator - np.diag(delta * (chain.capacity - least))
        ahead, log = expm(tilted * (block_s / 2**halvings)), 0.0
        for _ in range(halvings):
            largest = float(ahead.max())
            ahead, log = (ahead / largest) @ (ahead / largest), 2 * (log + np.log(largest))
        log += float(np.log(chain.share @ ahead.sum(axis=1)))
        found[place] = least - log / (delta * block_s)
    return found


def _outages(rates: Array, chain: SlottedChain, share: Array, slot_s: float) -> Curve:
    low = OUTAGE_SHARE * float(rates.mean())
    lengths = runs_below(rates, low)
    slots = np.arange(int(lengths.max(initial=1)) + 1)
    trace = np.array([float((lengths > k).mean()) if len(lengths) else 0.0 for k in slots])
    silent = chain.capacity < low
    fit = np.zeros(len(slots))
    if silent.any() and not silent.all():
        begin = (share * ~silent) @ chain.transition * silent
        left = begin / begin.sum()
        for k in slots:
            fit[k] = left.sum()
            left = (left @ chain.transition) * silent
    return Curve(slots.astype(np.float64) * slot_s, trace, fit)


def runs_below(rates: Array, low: float) -> Array:
    """Lengths of the runs of slots below `low`, in a cycle [slots]."""
    silent = rates < low
    if silent.all() or not silent.any():
        return np.array([float(len(rates))] if silent.all() else [])
    silent = np.roll(silent, -int(np.argmin(silent)))
    change = np.flatnonzero(np.diff(np.concatenate([[False], silent, [False]]).astype(np.int8)))
    return (change[1::2] - change[::2]).astype(np.float64)
