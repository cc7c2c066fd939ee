"""Capacity traces that varicap makes itself.

The model of a cellular link: while there is coverage, the capacity follows

    C(t) = min(peak, median * exp(S(t) + F(t)))

where S and F are independent Ornstein-Uhlenbeck processes: S is slow (shadowing as the user moves, the load of the
cell), F is fast (what fading leaves after the scheduler).  Coverage is lost at the epochs of a Poisson process, for
exponential times, and C(t) = 0 until it is back.  Opportunities to deliver one 1500-byte packet form a Poisson process
of intensity C(t) / 12 000 bits, on the 1 ms grid of the file format.

This is a generator of plausible channels, not a fit to one network.  Random bits come straight from PCG64DXSM, whose
output NumPy guarantees for all versions, so that a seed names a trace for good.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OPPORTUNITY_BITS = 12_000
_STEP_S = 0.010  # the capacity is constant over a step: short against every time constant below


@dataclass(frozen=True, kw_only=True)
class Cellular:
    """Parameters of an LTE-like link."""

    median_bps: float = 5e6
    """Median capacity while there is coverage [b/s]."""
    peak_bps: float = 20e6
    """Capacity at the best modulation, which is never exceeded [b/s]."""
    slow_sigma: float = 0.5
    """Standard deviation of the slow part of the log-capacity [1]."""
    slow_time_s: float = 8.0
    """Correlation time of the slow part [s]."""
    fast_sigma: float = 0.5
    """Standard deviation of the fast part of the log-capacity [1]."""
    fast_time_s: float = 0.25
    """Correlation time of the fast part [s]."""
    outages_per_min: float = 2.0
    """Losses of coverage per minute of coverage [1/min]."""
    outage_s: float = 0.5
    """Mean duration of a loss of coverage [s]."""


DOWN = Cellular()
UP = Cellular(median_bps=2e6, peak_bps=8e6)


def generate_lte(seed: int, duration_s: float, link: Cellular = DOWN) -> NDArray[np.int64]:
    """Times of delivery opportunities [ms], non-decreasing, the last one at the end of the trace.

    >>> times = generate_lte(seed=1, duration_s=30)
    >>> int(times[-1])
    30000
    >>> bool((generate_lte(seed=1, duration_s=30) == times).all())
    True
    """
    end_ms = round(duration_s * 1000)
    if end_ms < 1:
        raise ValueError(f"a trace lasts at least 1 ms, not {duration_s} s")
    source = np.random.PCG64DXSM(seed)
    steps = int(np.ceil(end_ms / 1000 / _STEP_S))
    slow = _ornstein_uhlenbeck(source, steps, link.slow_sigma, link.slow_time_s)
    fast = _ornstein_uhlenbeck(source, steps, link.fast_sigma, link.fast_time_s)
    capacity = np.minimum(link.peak_bps, link.median_bps * np.exp(slow + fast))
    capacity[~_coverage(source, steps, link)] = 0.0
    mean_count = np.concatenate([[0.0], np.cumsum(capacity * (_STEP_S / OPPORTUNITY_BITS))])
    epochs = _unit_poisson(source, float(mean_count[-1]))
    times_s = np.interp(epochs, mean_count, np.arange(steps + 1) * _STEP_S)
    times_ms = np.ceil(times_s * 1000).astype(np.int64)
    # The file's period is its last number, and its first must not be 0: that instant belongs to the end.
    times_ms = times_ms[(times_ms >= 1) & (times_ms < end_ms)]
    return np.append(times_ms, end_ms)


def write(path: Path, times_ms: NDArray[np.int64]) -> None:
    """Write opportunities in Mahimahi's format: one time in ms a line."""
    path.write_text("\n".join(map(str, times_ms.tolist())) + "\n", encoding="ascii", newline="\n")


def mean_rate_bps(times_ms: NDArray[np.int64]) -> float:
    """Mean capacity of a trace of 1500-byte opportunities [b/s]."""
    return float(len(times_ms) * OPPORTUNITY_BITS * 1000 / times_ms[-1])


def write_pair(stem: Path, seed: int, duration_s: float) -> tuple[Path, Path]:
    """Write ``stem.down`` and ``stem.up``, and ``stem.txt`` that says how (the format has no comments)."""
    lines = [
        f"Made by varicap.traces.write_pair(stem, seed={seed}, duration_s={duration_s:g}); licence: as varicap.",
        "A line is an opportunity to deliver 1500 bytes, in ms (Mahimahi's format). The model: see varicap.traces.",
    ]
    paths = []
    for number, (direction, link) in enumerate([("down", DOWN), ("up", UP)]):
        times_ms = generate_lte(2 * seed + number, duration_s, link)
        path = stem.with_name(f"{stem.name}.{direction}")
        write(path, times_ms)
        paths.append(path)
        parameters = ", ".join(f"{key} = {value:g}" for key, value in _numbers(link).items())
        lines.append(f"{path.name}: mean {mean_rate_bps(times_ms) / 1e6:.2f} Mb/s; {parameters}")
    stem.with_name(f"{stem.name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return paths[0], paths[1]


def _numbers(link: Cellular) -> dict[str, Any]:
    return asdict(link)


def _uniform(source: np.random.PCG64DXSM, count: int) -> Array:
    """`count` numbers in (0, 1], from the top 53 bits of each draw."""
    raw = np.asarray(source.random_raw(count), dtype=np.uint64)
    return ((raw >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53


def _normal(source: np.random.PCG64DXSM, count: int) -> Array:
    """`count` standard normal numbers, by the method of Box and Muller."""
    radius = np.sqrt(-2.0 * np.log(_uniform(source, count)))
    return np.asarray(radius * np.cos(2.0 * np.pi * _uniform(source, count)))


def _ornstein_uhlenbeck(source: np.random.PCG64DXSM, steps: int, sigma: float, time_s: float) -> Array:
    """A stationary Gaussian path with standard deviation `sigma` and correlation exp(-t / time_s)."""
    keep = float(np.exp(-_STEP_S / time_s))
    noise = (_normal(source, steps) * sigma * np.sqrt(1.0 - keep**2)).tolist()
    value = float(_normal(source, 1)[0]) * sigma
    path = np.empty(steps)
    for step, innovation in enumerate(noise):
        path[step] = value
        value = keep * value + innovation
    return path


def _coverage(source: np.random.PCG64DXSM, steps: int, link: Cellular) -> NDArray[np.bool_]:
    """Whether there is coverage in each step."""
    covered = np.ones(steps, dtype=np.bool_)
    if link.outages_per_min <= 0.0:
        return covered
    mean_covered_s = 60.0 / link.outages_per_min
    now_s = 0.0
    while True:
        to_outage, in_outage = -np.log(_uniform(source, 2))
        begin_s = now_s + float(to_outage) * mean_covered_s
        now_s = begin_s + float(in_outage) * link.outage_s
        if begin_s >= steps * _STEP_S:
            return covered
        covered[round(begin_s / _STEP_S) : round(now_s / _STEP_S)] = False


def _unit_poisson(source: np.random.PCG64DXSM, end: float) -> Array:
    """Epochs below `end` of a Poisson process of intensity 1."""
    chunks = [np.zeros(0)]
    last = 0.0
    while last < end:
        count = max(16, int((end - last) * 1.05))
        chunk = last + np.cumsum(-np.log(_uniform(source, count)))
        chunks.append(chunk)
        last = float(chunk[-1])
    epochs = np.concatenate(chunks)
    return epochs[epochs < end]
