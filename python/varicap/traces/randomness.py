"""Random numbers of generated traces.

Random bits come straight from PCG64DXSM, whose output NumPy guarantees for all versions, so that a seed identifies a
trace permanently.
"""

import numpy as np

from varicap.traces.trace import Array

Source = np.random.PCG64DXSM


def uniform(source: Source, count: int) -> Array:
    """`count` numbers in (0, 1], from the top 53 bits of each draw."""
    raw = np.asarray(source.random_raw(count), dtype=np.uint64)
    return ((raw >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53


def exponential(source: Source, count: int) -> Array:
    """`count` exponentially distributed numbers with mean 1."""
    return -np.log(uniform(source, count))


def normal(source: Source, count: int) -> Array:
    """`count` standard normal numbers, by the method of Box and Muller."""
    radius = np.sqrt(-2.0 * np.log(uniform(source, count)))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniform(source, count)))


def ornstein_uhlenbeck(source: Source, steps: int, step_s: float, sigma: float, time_s: float) -> Array:
    """A stationary Gaussian path with standard deviation `sigma` and correlation exp(-t / time_s)."""
    keep = float(np.exp(-step_s / time_s))
    noise = (normal(source, steps) * sigma * np.sqrt(1.0 - keep**2)).tolist()
    value = float(normal(source, 1)[0]) * sigma
    path = np.empty(steps)
    for step, innovation in enumerate(noise):
        path[step] = value
        value = keep * value + innovation
    return path


def poisson_epochs(source: Source, end: float) -> Array:
    """Epochs below `end` of a Poisson process of intensity 1."""
    chunks = [np.zeros(0)]
    last = 0.0
    while last < end:
        count = max(16, int((end - last) * 1.05))
        chunk = last + np.cumsum(exponential(source, count))
        chunks.append(chunk)
        last = float(chunk[-1])
    epochs = np.concatenate(chunks)
    return epochs[epochs < end]
