"""Whether what was measured is what was asked for: the whole interval decides, not the mean.

*meets*: the interval lies within the bounds; *misses*: it lies outside; *undecided*: it reaches over a bound, there is
no interval, or it has no width only because the runs agree, which says nothing of others.  More replications narrow it
(`settle`), up to a number that the caller allows.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite, isinf
from typing import Any, Literal, TypeAlias, TypeVar

from varicap.statistics.interval import Interval, finite

Verdict: TypeAlias = Literal["meets", "misses", "undecided"]
Found = TypeVar("Found")

FEWEST = 4
"""Replications of which an interval says something."""
_MOST = 10**9
"""Replications that stand for any number."""
_HOPELESS = 4
"""An interval that seems to take this many times as many replications as are allowed is left undecided at once."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What is asked of a mean, in its unit: at least `low`, at most `high`."""

    low: float = -inf
    high: float = inf

    def verdict(self, value: Interval) -> Verdict:
        """What an interval says.

        >>> speed = Bounds(low=0.4)
        >>> [speed.verdict(Interval(0.5, low, 0.6)) for low in (0.41, 0.39)], speed.verdict(Interval(0.3, 0.2, 0.39))
        (['meets', 'undecided'], 'misses')
        >>> speed.verdict(Interval(0.5)), Bounds().verdict(Interval(0.5))
        ('undecided', 'meets')

        An infinite mean has no interval, and is outside of finite bounds.
        """
        if self.low == -inf and self.high == inf:
            return "meets"
        if isinf(value.mean) and not self.low <= value.mean <= self.high:
            return "misses"
        if value.lo is None or value.hi is None or value.agrees:
            return "undecided"
        if self.low <= value.lo and value.hi <= self.high:
            return "meets"
        return "misses" if value.hi < self.low or value.lo > self.high else "undecided"

    def shortfall(self, value: Interval) -> float:
        """By how much the mean is outside, as a share of the bound [1]; 0 inside.

        >>> Bounds(low=2.0).shortfall(Interval(1.5)), Bounds(high=2.0).shortfall(Interval(1.5))
        (0.25, 0.0)
        """
        edge = self.low if value.mean < self.low else self.high if value.mean > self.high else value.mean
        return abs(value.mean - edge) / abs(edge) if edge else abs(value.mean)

    def runs(self, value: Interval, done: int) -> int:
        """How many replications a verdict seems to take, if `done` gave this interval; `done` if there is one.

        Those of runs that agree may never differ: there is no number that would do.
        """
        if self.verdict(value) != "undecided":
            return done
        if value.agrees:
            return _MOST
        if value.lo is None or value.hi is None or not isfinite(value.mean) or done < FEWEST:
            return max(FEWEST, done + 1)
        gap = min(abs(value.mean - edge) for edge in (self.low, self.high))
        # An interval narrows with the square root of the replications; its farther end needs more than its nearer one.
        wanted = done * (value.near_reach / gap) ** 2 if gap else inf
        return ceil(min(max(wanted, done) * 1.2, _MOST - 1)) + 1

    def to_dict(self) -> dict[str, float | None]:
        """For JSON."""
        return {"low": finite(self.low), "high": finite(self.high)}


Asked: TypeAlias = tuple[Interval, Bounds]
"""A mean, and what is asked of it."""


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on all of several demands: one that is missed decides.

    >>> together(["meets", "undecided", "misses"]), together(["meets", "undecided"]), together([])
    ('misses', 'undecided', 'meets')
    """
    found = set(verdicts)
    return "misses" if "misses" in found else "undecided" if "undecided" in found else "meets"


def settle(
    measure: Callable[[int], Found], asked: Callable[[Found], Sequence[Asked]], *, runs: int, most: int
) -> Found:
    """Measure with `runs` replications; while that leaves the demands undecided, with more of them, at most `most`.

    `measure` makes so many replications, `asked` picks the means that count and what is asked of them.

    >>> noisy = lambda runs: Interval(0.5, 0.5 - 1 / runs, 0.5 + 1 / runs)
    >>> settle(noisy, lambda found: [(found, Bounds(low=0.4))], runs=5, most=40).lo > 0.4
    True
    """
    found = measure(runs)
    while runs < most:
        pairs = asked(found)
        if together(bounds.verdict(value) for value, bounds in pairs) != "undecided":
            break
        wanted = max(bounds.runs(value, runs) for value, bounds in pairs)
        if wanted > _HOPELESS * most:
            break
        # The estimate is rough: at most three times as many at once.
        runs = min(wanted, 3 * runs if runs >= FEWEST else wanted, most)
        found = measure(runs)
    return found


def judged(value: Interval, bounds: Bounds) -> dict[str, Any]:
    """A mean, what was asked of it and the verdict, for JSON."""
    return {"value": value.to_dict(), "bounds": bounds.to_dict(), "verdict": bounds.verdict(value)}
