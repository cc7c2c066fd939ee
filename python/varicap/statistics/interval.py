"""Means over replications with their confidence intervals.

Runs are few and their laws are skewed: a timeout here, a large transfer there.  Student's interval then covers the
mean less often than it says, as does the one that corrects it for skewness where there is none, so that an interval is
both: from the lower of their lower ends to the higher of their upper ones.  No end is outside of the range of what is
measured.  `docs/background/statistics.md` has how often intervals cover, measured by `tools/interval_coverage.py`;
`results/interval.rs` of the crate `varicap-experiment` computes the intervals of a summary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Range: TypeAlias = Literal["any", "amount", "count", "share", "quantile"]
"""Which values a measure can have in a run: any number; zero or more; a number of events; zero to one; a quantile of a
histogram."""

_RANGES = get_args(Range)
_CONFIDENCE = 0.95
_RARE = 1e-3
"""What makes a share that is nearly one incomplete is rare, within this distance of one."""
MANY = 1000.0
"""Chances that a run counts as of what makes a share of time or packets incomplete, such as a timeout."""
_HALF_A_BUCKET = 1 / 64
"""Half a bucket of a histogram, as a share of its value: what quantiles that agree may differ by."""


@dataclass(frozen=True)
class Interval:
    """A mean over replications with its confidence interval, 95 % unless said; no interval if there is but one."""

    mean: float
    lo: float | None = None
    hi: float | None = None
    samples: int | None = field(default=None, compare=False)
    """How many samples the mean is of; none if that is not known, or the number is exact."""

    @classmethod
    def of(
        cls,
        samples: "Array | Sequence[float]",
        confidence: float = _CONFIDENCE,
        *,
        within: Range = "any",
        chances: float = MANY,
    ) -> Self:
        """The mean of independent samples of a measure with this range; a sample of a share is so many `chances`.

        >>> interval = Interval.of([1.0, 2.0, 3.0])
        >>> interval.mean, round(interval.hi, 3)
        (2.0, 4.484)

        Of skewed samples it reaches farther where their tail is, and never out of the range:

        >>> interval = Interval.of([0.0, 0.0, 0.0, 0.0, 1.0], within="amount")
        >>> interval.lo, interval.mean, round(interval.hi, 2)
        (0.0, 0.2, 1.55)
        """
        values = np.asarray(samples, dtype=np.float64)
        if values.size < 2 or not np.isfinite(values).all():
            end = None if values.size < 2 else math.nan
            return cls(float(values.mean()), end, end, values.size)
        mean, low, high = (float(each[0]) for each in intervals(values.reshape(1, -1), within, confidence, chances))
        return cls(mean, low, high, values.size)

    @classmethod
    def exactly(cls, value: float) -> Self:
        """A number that no run had to estimate.

        >>> Interval.exactly(2.0).agrees
        False
        """
        return cls(value, value, value)

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
            return cls(mean, mean, mean, min(each.size for each in both))
        freedom = total**2 / sum(share**2 / (each.size - 1) for share, each in zip(shares, both, strict=True))
        half = float(stdtrit(freedom, (1 + _CONFIDENCE) / 2)) * math.sqrt(total)
        return cls(mean, mean - half, mean + half)

    @classmethod
    def share(cls, holds: "NDArray[np.bool_] | Sequence[bool]") -> Self:
        """The share of independent runs in which something holds.

        >>> all_of_six = Interval.share([True] * 6)
        >>> all_of_six.mean, round(all_of_six.lo, 2), all_of_six.hi
        (1.0, 0.54, 1.0)
        """
        seen = np.asarray(holds, dtype=np.bool_)
        return cls(float(seen.mean()), *binomial(int(seen.sum()), seen.size), seen.size)

    @property
    def agrees(self) -> bool:
        """Whether it has no width because its samples agree, which says nothing of others: it decides nothing.

        >>> Interval.of([2.0, 2.0, 2.0]).agrees, Interval.of([0.0, 0.0, 0.0], within="count").agrees
        (True, False)
        """
        return self.samples is not None and self.lo is not None and self.lo == self.hi

    @property
    def reach(self) -> float:
        """How far its farther end is from the mean; infinite if there is no interval."""
        if self.lo is None or self.hi is None:
            return math.inf
        return max(self.mean - self.lo, self.hi - self.mean)

    @property
    def near_reach(self) -> float:
        """How far its nearer end is from the mean: with more runs, what skewness adds to the other side goes first."""
        if self.lo is None or self.hi is None:
            return math.inf
        return min(self.mean - self.lo, self.hi - self.mean)

    def to_dict(self) -> dict[str, float | None]:
        """For JSON, which has no NaN."""
        return {"mean": finite(self.mean), "lo": finite(self.lo), "hi": finite(self.hi)}


def intervals(
    values: Array,
    ranges: "Range | Sequence[Range]" = "any",
    confidence: float = _CONFIDENCE,
    chances: "float | Array" = MANY,
) -> tuple[Array, Array, Array]:
    """Many means over replications at once, with the ends of their intervals; values that are not there do not count.

    `values` are of shape (points, replications, …); `ranges` is one for all, or one for each place of the last axis.
    With an infinite value the mean is infinite, and has no interval.  Where shares are all nothing, or all complete,
    their intervals are those of `chances` in a run, one number for all or of the shape of the means.

    >>> [ends.tolist() for ends in intervals(np.array([[1.0, np.nan, 3.0]]))[:1]]
    [[2.0]]
    >>> [ends.tolist() for ends in intervals(np.array([[1.0, np.inf], [np.inf, np.inf]]))]
    [[inf, inf], [nan, nan], [nan, nan]]
    >>> _, low, high = intervals(np.ones((1, 10, 2)), ["share", "amount"])
    >>> low.round(4).tolist(), high.tolist()
    ([[0.9996, 1.0]], [[1.0, 1.0]])
    """
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    least, most = (of(np.where(known, values, end), axis=1) for of, end in ((np.min, np.inf), (np.max, -np.inf)))
    agree = least == most
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(agree, least, np.where(known, values, 0.0).sum(axis=1) / count)
        apart = np.where(known, values - mean[:, None], 0.0)
        below, above = _reaches((apart**2).sum(axis=1), (apart**3).sum(axis=1), count, confidence)
        low, high = (np.where(agree, mean, end) for end in (mean - below, mean + above))
        numbers = _RANGES.index(ranges) if isinstance(ranges, str) else np.array([_RANGES.index(one) for one in ranges])
        low, high = _within(numbers, mean, low, high, count, most, agree, np.maximum(chances, 1.0))
        is_known = (count > 1) & np.isfinite(mean)
    return mean, np.where(is_known, low, np.nan), np.where(is_known, high, np.nan)


def _reaches(squares: Any, cubes: Any, count: Any, confidence: float) -> tuple[Any, Any]:
    """How far an interval reaches below and above the mean of `count` samples, from sums over their deviations.

    Source: [law2015, §4.5] (Student), [hall92] (his statistic, transformed so that it has no skewness).
    """
    from scipy.special import stdtrit  # slow to import, and nothing needs it before the first run has ended

    reach = stdtrit(count - 1, (1 + confidence) / 2) / np.sqrt(count)
    deviation = np.sqrt(squares / (count - 1))
    skewness = count * np.sqrt(count - 1) / (count - 2) * cubes / squares**1.5
    skewness = np.where((count > 2) & (squares > 0.0), skewness, 0.0)

    def skewed(end: Any) -> Any:
        # 3 (cbrt(1 + g w) - 1) / g, also where the skewness g is zero.
        shifted = end - skewness / (6 * count)
        root = np.cbrt(1 + skewness * shifted)
        return 3 * shifted / (root**2 + root + 1)

    return deviation * np.maximum(reach, skewed(reach)), deviation * np.maximum(reach, -skewed(-reach))


def _within(
    numbers: Any, mean: Array, low: Array, high: Array, count: Any, most: Array, agree: NDArray[np.bool_], each: Any
) -> tuple[Array, Array]:
    """The ends of intervals within their ranges, which are places in `_RANGES`.

    Runs that agree show no scatter.  Where the range says what else may happen, their interval has it; else it has no
    width, and says nothing of other runs.
    """
    amount, events, share, quantile = (numbers == place for place in range(1, 5))
    low = np.where(agree & quantile, mean * (1 - _HALF_A_BUCKET), low)
    high = np.where(agree & quantile, mean * (1 + _HALF_A_BUCKET), high)
    none = agree & (mean == 0.0)
    high = np.where(none & events, poisson(0.0)[1] / count, high)
    chances = count * each
    high = np.where(none & share, np.minimum(poisson(0.0)[1] / chances, 1.0), high)
    nearly = share & (mean <= 1.0) & (1.0 - mean < _RARE)
    few, many = poisson(np.where(nearly, chances * (1.0 - mean), 0.0))
    low = np.where(nearly, np.minimum(low, 1.0 - many / chances), low)
    high = np.where(nearly, np.maximum(high, 1.0 - few / chances), high)
    low = np.where((low < 0.0) & (amount | events | share | quantile), 0.0, low)
    # Where a run is beyond one, as the meaning of a few shares allows, nothing bounds the mean from above.
    return low, np.where(share & (most <= 1.0), np.minimum(high, 1.0), high)


def poisson(seen: Any) -> tuple[Any, Any]:
    """The 95 % interval of a Poisson mean of which `seen` events were counted, within one percent of the exact one.

    Source: [breslow87, §2.3], Byar's approximation.

    >>> [round(float(end), 2) for end in poisson(5.0)], round(float(poisson(0.0)[1]), 2)
    ([1.61, 11.67], 3.67)
    """
    normal = 1.959963984540054

    def end(count: Any, normal: float) -> Any:
        return count * (1 - 1 / (9 * count) + normal / (3 * np.sqrt(count))) ** 3

    few = np.where(seen > 0.0, np.maximum(end(np.maximum(seen, 1e-9), -normal), 0.0), 0.0)
    return few, end(seen + 1.0, normal)


def binomial(successes: int, of: int) -> tuple[float, float]:
    """The 95 % interval of the probability of a success, of which so many runs had one.

    Source: [clopper34], the exact one.

    >>> [round(end, 2) for end in binomial(3, 3)], [round(end, 2) for end in binomial(10, 20)]
    ([0.29, 1.0], [0.27, 0.73])
    """
    from scipy.special import betaincinv  # slow to import

    outside = (1 - _CONFIDENCE) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, of - successes + 1, outside))
    high = 1.0 if successes == of else float(betaincinv(successes + 1, of - successes, 1 - outside))
    return low, high


def finite(value: float | None) -> float | None:
    """`value` for JSON, which has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None
