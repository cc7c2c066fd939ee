"""Candidates of a search and their standing: what replications under common random numbers say of them.

Replication r of one candidate and of another meet the same channel, so that candidates are compared by the mean of
differences, replication by replication, and one that has fewer runs than another by what these are worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, nan

import numpy as np

from varicap.design.optimise.demands import Column, Demands
from varicap.design.optimise.space import Place, Space
from varicap.results.summary import Point, range_of
from varicap.statistics import MANY, Array, Interval, Verdict, together

FIRST = 4
"""Replications of which a candidate has some to be judged by."""
SAME = 0.002
"""Of the objective, by which candidates may differ and still be as good as each other."""


@dataclass(eq=False)
class Candidate:
    """A point, and what its runs found."""

    number: int
    """Of the point in the study."""
    place: Place
    point: Point
    samples: dict[int, tuple[float, ...]] = field(default_factory=dict)
    """By replication the values of the columns that are asked for, and how many chances the run is of each."""
    is_exact: bool = False
    """Whether nothing is drawn there, so that all runs are one."""

    @property
    def runs(self) -> int:
        """How many replications it has."""
        return len(self.samples)

    def array(self, replications: "Sequence[int] | None" = None) -> Array:
        """The values of replications, all by default, of shape (replications, columns and their chances)."""
        chosen = sorted(self.samples) if replications is None else replications
        return np.array([self.samples[each] for each in chosen], dtype=np.float64).reshape(len(chosen), -1)


def intervals_of(values: Array, columns: Sequence[Column], *, is_exact: bool) -> list[Interval]:
    """The interval of each column, from its values in runs, of shape (replications, columns).

    After them there may be as many numbers of chances, which a run is of a column that is a share.
    """
    if is_exact and len(values) > 1:
        return [Interval.exactly(float(value)) for value in values[0, : len(columns)]]
    counted = values[:, len(columns) :].mean(axis=0)
    return [
        Interval.of(values[:, at], within=range_of(one.measure), chances=counted[at] if counted.size else MANY)
        for at, one in enumerate(columns)
    ]


@dataclass(frozen=True)
class Standing:
    """How candidates compare, by what is asked."""

    space: Space
    demands: Demands
    enough: int = FIRST
    """Replications from which on a candidate is judged; one with fewer has been looked at only."""

    def interval(self, one: Candidate, column: Column) -> Interval:
        """A column of a candidate with its interval; all of its runs must have it."""
        found = intervals_of(one.array(), self.demands.columns, is_exact=one.is_exact)
        return found[self.demands.columns.index(column)]

    def verdict(self, one: Candidate) -> Verdict:
        """Whether a candidate meets all constraints."""
        if not one.runs or not np.isfinite(one.array()).all():
            return "misses"
        return together(each.bounds.verdict(self.interval(one, each.of)) for each in self.demands.constraints)

    def violation(self, one: Candidate) -> float:
        """By how much its means fall short of the constraints, each as a share of its bound; 0 within all."""
        if not one.runs or not np.isfinite(one.array()).all():
            return inf
        constraints = self.demands.constraints
        return float(sum(each.bounds.shortfall(self.interval(one, each.of)) for each in constraints))

    def objectives(self, one: Candidate, reference: Candidate) -> tuple[float, ...]:
        """What is to be minimised, as if the candidate had the runs of the reference."""
        found = []
        for each in self.demands.objectives:
            if isinstance(each.of, int):
                found.append(each.sign * self.key(one, each.of))
                continue
            found.append(each.sign * self.mean(one, reference, self.demands.columns.index(each.of)))
        return tuple(value if isfinite(value) else inf for value in found)

    def mean(self, one: Candidate, reference: Candidate, at: int) -> float:
        """The mean of a column, as if the candidate had the runs of the reference; NaN if they share none."""
        shared = sorted(one.samples.keys() & reference.samples.keys())
        if not shared:
            return nan
        if len(shared) == reference.runs:
            return float(one.array(shared)[:, at].mean())
        paired = (one.array(shared) - reference.array(shared))[:, at].mean()
        return float(reference.array()[:, at].mean() + paired)

    def key(self, one: Candidate, number: int) -> float:
        """The number of a varied key at a candidate."""
        within = self.space.variables[number].numeric
        value = within.number(one.place[number])
        return float(round(value)) if within.whole else value

    def rank(self, one: Candidate, reference: Candidate) -> tuple[float, ...]:
        """By which candidates are sorted, the best first: those that meet, then may meet, then miss the least.

        Those that were looked at only come last: what they promise has to be seen.
        """
        if one.runs < self.enough:
            return (3.0, *self.glance(one, one, reference))
        verdict = self.verdict(one)
        if verdict == "misses":
            return (2.0, self.violation(one), *self.objectives(one, reference))
        return (0.0 if verdict == "meets" else 1.0, *self.objectives(one, reference))

    def glance(self, one: Candidate, beside: Candidate, reference: Candidate, halves: float = 1.0) -> tuple[float, ...]:
        """By which candidates of few runs are sorted: how far means miss the constraints, then the objectives.

        Means are as if the candidate had the runs of the reference, by way of one beside it that is more like it and
        has more runs than it; and as uncertain: to meet a bound an interval has to lie within it, or so many halves.
        """
        if not one.runs or not np.isfinite(one.array()).all():
            return (inf, *(inf for _ in self.demands.objectives))

        def mean(column: Column) -> float:
            at = self.demands.columns.index(column)
            differs = self.mean(one, beside, at) - float(beside.array()[:, at].mean())
            return self.mean(beside, reference, at) + differs

        missed = 0.0
        for each in self.demands.constraints:
            known, half = self.interval(reference, each.of), 0.0
            if reference.runs >= self.enough and known.lo is not None and known.hi is not None:
                half = halves * (known.hi - known.lo) / 2
            middle = mean(each.of)
            missed += max(each.bounds.shortfall(Interval(end)) for end in (middle - half, middle + half))
        values = [
            each.sign * (self.key(one, each.of) if isinstance(each.of, int) else mean(each.of))
            for each in self.demands.objectives
        ]
        return tuple(value if isfinite(value) else inf for value in (missed, *values))

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """The first by rank; of two that are alike the one that was tried before."""
        reference = max(candidates, key=lambda one: one.runs)
        return min(candidates, key=lambda one: self.rank(one, reference))

    def is_settled(self, one: Candidate, best: Candidate) -> bool:
        """Whether more runs of a candidate would not matter beside the best: it misses, is worse, or is as good."""
        if one.runs < 2:
            return False
        verdict, of_best = self.verdict(one), self.verdict(best)
        if verdict == "misses" and (of_best != "misses" or self.violation(one) > self.violation(best)):
            return True
        objective = self.demands.objectives[0]
        if isinstance(objective.of, int):
            by = objective.sign * (self.key(one, objective.of) - self.key(best, objective.of))
            return by > 0 and of_best == "meets"
        at = self.demands.columns.index(objective.of)
        shared = sorted(one.samples.keys() & best.samples.keys())
        if of_best == "misses" or len(shared) < 2:
            return False
        paired = objective.sign * (one.array(shared) - best.array(shared))[:, at]
        are_exact = one.is_exact and best.is_exact
        by_how_much = Interval.exactly(float(paired[0])) if are_exact else Interval.of(paired)
        if by_how_much.lo is None or by_how_much.hi is None:
            return False
        if by_how_much.lo > 0 and not by_how_much.agrees:
            return True
        scale = SAME * abs(float(best.array(shared)[:, at].mean()))
        return verdict == of_best and max(abs(by_how_much.lo), abs(by_how_much.hi)) <= scale

    def front(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Those that no other of as good a verdict is better than in one objective and as good as in all."""
        if not candidates:
            return []
        reference = max(candidates, key=lambda one: one.runs)
        met = [one for one in candidates if self.verdict(one) != "misses"]
        there = [(one, self.objectives(one, reference)) for one in met]
        kept = [
            (one, values)
            for one, values in there
            if not any(
                other is not one and all(a <= b for a, b in zip(theirs, values, strict=True)) and theirs != values
                for other, theirs in there
            )
        ]
        return [one for one, _ in sorted(kept, key=lambda pair: pair[1])]
