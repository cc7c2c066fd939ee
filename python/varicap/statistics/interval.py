"""Means over replications with their confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over replications with its confidence interval, 95 % unless said; no interval if there is but one."""

    mean: float
    lo: float | None = None
    hi: float | None = None
    samples: int | None = field(default=None, compare=False)
    """How many samples the mean is of, if that is known."""

    @classmethod
    def of(cls, samples: "Array | Sequence[float]", confidence: float = _CONFIDENCE) -> Self:
        """The mean of independent samples.

        >>> interval = Interval.of([1.0, 2.0, 3.0])
        >>> interval.mean, round(interval.hi, 3)
        (2.0, 4.484)
        """
        values = np.asarray(samples, dtype=np.float64)
        mean = float(values.mean())
        if values.size < 2:
            return cls(mean, samples=values.size)
        half = float(_half_width(((values - mean) ** 2).sum(), values.size, confidence))
        return cls(mean, mean - half, mean + half, values.size)

    @classmethod
    def between(cls, one: "Array | Sequence[float]", other: "Array | Sequence[float]") -> Self:
        """By how much the mean of independent samples lies above that of others, whose variance may be another.

        Source: [law2015, §10.2.2], Welch's approximation.

        >>> interval = Interval.between([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
        >>> interval.mean, round(interval.hi, 3)  # of 2 degrees of freedom, as that of the first alone
        (1.0, 3.484)
        """
        from scipy.special import stdtrit  # slow to import

        both = [np.asarray(each, dtype=np.float64) for each in (one, other)]
        mean = float(both[0].mean() - both[1].mean())
        if min(each.size for each in both) < 2:
            return cls(mean)
        shares = np.array([each.var(ddof=1) / each.size for each in both])
        total = float(shares.sum())
        if total == 0.0:
            return cls(mean, mean, mean)
        freedom = total**2 / sum(share**2 / (each.size - 1) for share, each in zip(shares, both, strict=True))
        half = float(stdtrit(freedom, (1 + _CONFIDENCE) / 2)) * math.sqrt(total)
        return cls(mean, mean - half, mean + half)

    def to_dict(self) -> dict[str, float | None]:
        """For JSON, which has no NaN."""
        return {"mean": finite(self.mean), "lo": finite(self.lo), "hi": finite(self.hi)}


def intervals(values: Array) -> tuple[Array, Array, Array]:
    """Many means over replications at once, with the ends of their intervals; values that are not there do not count.

    `values` are of shape (points, replications, …).  With an infinite one the mean is infinite, and has no interval.

    >>> [ends.tolist() for ends in intervals(np.array([[1.0, np.nan, 3.0], [1.0, np.inf, 3.0]]))[:1]]
    [[2.0, inf]]
    """
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=1) / count
        squares = (np.where(known, values - mean[:, None], 0.0) ** 2).sum(axis=1)  # of infinite ones not a number
        half = _half_width(squares, count)
    half = np.where(count > 1, half, np.nan)
    return mean, mean - half, mean + half


def _half_width(squares: Any, count: Any, confidence: float = _CONFIDENCE) -> Any:
    """Half of Student's interval for the mean of `count` samples, from the sum of their squared deviations.

    Source: [law2015, §4.5].
    """
    from scipy.special import stdtrit  # slow to import, and nothing needs it before the first run has ended

    return stdtrit(count - 1, (1 + confidence) / 2) * np.sqrt(squares / (count - 1)) / np.sqrt(count)


def finite(value: float | None) -> float | None:
    """`value` for JSON, which has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None
