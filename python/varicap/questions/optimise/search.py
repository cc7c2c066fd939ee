"""The search: which points to run, how often, and when to stop.

```text
scatter, and the best by analysis ──► where next: halves of a line, Optuna, then steps around the best
        │                                  │
        └──────────── race: four runs each, twice as many while more of them may matter ◄──┘
```

Along one range the search halves the gaps beside the best; where it looks for the end of a range that a constraint
leaves, that is bisection.  Among several keys or listed values Optuna proposes half of the points, and steps around the
best, halved when none is better, find the rest.  All of it follows from the seed and from what runs found.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import Literal, Protocol, TypeAlias

import varicap._core as _core
from varicap.questions.optimise.candidates import Candidate, Standing
from varicap.questions.optimise.space import Place, Space
from varicap.questions.optimise.surface import least
from varicap.questions.optimise.trees import propose
from varicap.results.summary import Point

Stopped: TypeAlias = Literal["converged", "budget", "time"]

FIRST = 4
"""Replications of which a candidate has some to be judged by."""
_LINE = 9
"""Points of a line that are tried first."""
_BATCH = 4
_STEP, _LEAST_STEP = 1 / 8, 1 / 256
_APART = 1 / 512
"""Of a range, in which gaps between real numbers are not halved any more."""
_FOR_TREES = 0.55
"""Of the budget, for places that Optuna proposes."""
_MOST_LISTED = 64
"""Combinations of listed values up to which all are tried."""
_OLD = 6
"""Batches in a row without a new place, after which there is none."""


class Runs(Protocol):
    """Whoever makes runs."""

    def add(self, point: Point) -> int:
        """The number of a point; raises `ScenarioError` for one that is none."""
        ...

    def run(self, wanted: Mapping[int, range], until: float) -> None:
        """Make these replications of these points, as far as they are missing and begun by then."""
        ...

    def samples(self, number: int) -> Mapping[int, tuple[float, ...]]:
        """What replications of a point found."""
        ...


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How long a search may last, and what it follows from."""

    budget: int
    """Most runs."""
    seeds: int
    """Most replications of a point."""
    seed: int
    until: float = inf
    """When it is to end, by `time.monotonic` [s]."""


class _SpentError(Exception):
    """The budget, or the time, is spent."""


@dataclass
class Search:
    """The search for a design."""

    space: Space
    standing: Standing
    runs: Runs
    rules: Rules
    found: dict[Point, Candidate] = field(default_factory=dict)
    refused: dict[Point, _core.ScenarioError] = field(default_factory=dict)
    """Points that are no scenarios, such as a lower threshold above the upper one."""
    stopped: Stopped = "converged"
    _made: dict[int, int] = field(default_factory=dict)
    """Replications by candidate that count as spent."""
    _kept_back: int = 0

    @property
    def spent(self) -> int:
        """Runs that were made, or would have been if they had not been there."""
        return sum(self._made.values())

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates, in the order in which they were tried."""
        return list(self.found.values())

    @property
    def best(self) -> Candidate:
        """The best so far."""
        return self.standing.best(self.candidates)

    def go(self, first: Sequence[Place] = ()) -> None:
        """Search until the budget is spent or nothing is left to find; `first` are places to begin with."""
        several = len(self.standing.demands.objectives) > 1
        # What is kept back confirms the answer.
        room = self.rules.budget
        self._kept_back = room // 2 if several else min(2 * self.rules.seeds, room // 3)
        try:
            listed = self._listed()
            if listed:
                self.try_(listed)
            elif self.space.line:
                self._line(first, several)
            else:
                self._field(first, several)
        except _SpentError:
            pass
        self._kept_back = 0

    def confirm(self, chosen: Sequence[Candidate]) -> bool:
        """Raise candidates to all their replications; whether the budget was enough."""
        try:
            for runs in range(2 * FIRST, self.rules.seeds + FIRST, FIRST):
                self._make(dict.fromkeys(chosen, min(runs, self.rules.seeds)))
        except _SpentError:
            return False
        return all(one.runs >= self.rules.seeds for one in chosen)

    def again(self, one: Candidate) -> list[tuple[float, ...]]:
        """What as many other replications of a candidate find, which had no part in choosing it."""
        wanted = range(self.rules.seeds, 2 * self.rules.seeds)
        room = max(0, self.rules.budget - self.spent)
        wanted = range(wanted.start, min(wanted.stop, wanted.start + room))
        self.runs.run({one.number: wanted}, self.rules.until)
        found = self.runs.samples(one.number)
        made = [found[each] for each in wanted if each in found]
        self._made[-one.number - 1] = len(made)
        return made

    def try_(self, places: Iterable[Place]) -> list[Candidate]:
        """Race new places against the best; returns those that are scenarios."""
        new = []
        for place in places:
            at = self.space.snapped(place)
            point = self.space.point(at)
            if point in self.found or point in self.refused:
                continue
            try:
                number = self.runs.add(point)
            except _core.ScenarioError as error:
                self.refused[point] = error
                continue
            self.found[point] = Candidate(number, at, point)
            new.append(self.found[point])
        if new:
            try:
                self._make(dict.fromkeys(new, min(FIRST, self.rules.seeds)))
                self._race(new)
            finally:
                for one in new:
                    if not one.runs:
                        del self.found[one.point]
        return new

    def _race(self, new: Sequence[Candidate]) -> None:
        """More runs of candidates of which more may matter, and of the best."""
        several = len(self.standing.demands.objectives) > 1
        # Among several keys many points are nearly as good as the best: those have their last runs at the end.
        most = self.rules.seeds if self.space.line else max(2 * FIRST, self.rules.seeds // 2)
        most = min(most, self.rules.seeds)
        while not several:
            best = self.best
            open_ = [
                one for one in new if one is not best and one.runs < most and not self.standing.is_settled(one, best)
            ]
            wanted = {one: min(2 * one.runs, most) for one in open_}
            enough = max([min(2 * FIRST, most), *wanted.values()])
            if self.standing.verdict(best) == "undecided":
                enough = max(enough, min(2 * best.runs, most))
            if best.runs < enough:
                wanted = {best: enough, **wanted}  # first, in case the budget does not reach for all
            if not wanted:
                return
            self._make(wanted)

    def _make(self, wanted: Mapping[Candidate, int]) -> None:
        """Replications of candidates, as many as the budget still has, each in its turn."""
        if time.monotonic() > self.rules.until:
            self.stopped = "time"
            raise _SpentError
        room = self.rules.budget - self._kept_back - self.spent
        asked: dict[int, range] = {}
        cut = False
        for one, runs in wanted.items():
            more = runs - self._made.get(one.number, 0)
            if more <= 0:
                continue
            granted = min(more, room)
            cut |= granted < more
            if granted > 0:
                self._made[one.number] = self._made.get(one.number, 0) + granted
                asked[one.number] = range(self._made[one.number])
                room -= granted
        self.runs.run(asked, self.rules.until)
        for one in wanted:
            samples = self.runs.samples(one.number)
            made = self._made.get(one.number, 0)
            one.samples = {each: samples[each] for each in range(made) if each in samples}
            if len(one.samples) < made:
                self._made[one.number] = len(one.samples)
                self.stopped = "time"
        if self.stopped == "time":
            raise _SpentError
        if cut:
            self.stopped = "budget"
            raise _SpentError

    def _listed(self) -> list[Place]:
        """Every combination, where only listed values are varied, and not too many."""
        if any(variable.range is not None for variable in self.space.variables):
            return []
        sizes = [len(variable.choices) for variable in self.space.variables]
        combinations: list[tuple[int, ...]] = list(product(*(range(size) for size in sizes)))
        if len(combinations) > _MOST_LISTED:
            return []
        return [tuple((at + 0.5) / size for at, size in zip(each, sizes, strict=True)) for each in combinations]

    def _line(self, first: Sequence[Place], several: bool) -> None:
        """One range: points over all of it, then halves of the gaps beside the best."""
        even: list[Place] = [(number / (_LINE - 1),) for number in range(_LINE)]
        # By analysis something is known already: then the ends and the middle do.
        self.try_([*first, *(even[:: (_LINE - 1) // 2] if first and not several else even)])
        if not self.found:
            return
        while True:
            order = sorted(self.candidates, key=lambda one: one.place)
            good = self.standing.front(order) if several else [self.best]
            halves = [half for one in good or [self.best] for half in self._halves(order, order.index(one))]
            if not self.try_(halves):
                return

    def _halves(self, order: Sequence[Candidate], at: int) -> list[Place]:
        """The middles of the gaps on both sides of a candidate, where something lies between."""
        variable = self.space.variables[0]
        objective = self.standing.demands.objectives[0]
        met = self.standing.verdict(order[at]) == "meets"
        sides: tuple[int, ...] = (-1, 1)
        if len(self.standing.demands.objectives) == 1 and isinstance(objective.of, int) and met:
            # What is larger, or smaller, is worse for certain.
            sides = (-1,) if objective.sense == "minimise" else (1,)
        found: list[Place] = []
        for side in sides:
            if not 0 <= at + side < len(order):
                continue
            here, there = order[at].place[0], order[at + side].place[0]
            middle = variable.snapped((here + there) / 2)
            if not variable.numeric.whole and abs(here - there) <= 2 * _APART:
                continue
            if middle not in (here, there):
                found.append((middle,))
            elif variable.numeric.whole:
                low, high = sorted(round(variable.numeric.number(each)) for each in (here, there))
                if high - low > 1:
                    found.append((variable.numeric.share(low + (high - low) // 2),))
        return found

    def _field(self, first: Sequence[Place], several: bool) -> None:
        """Several keys, or listed values: a scatter, proposals, and steps around the best."""
        self.try_([*first, *self._scatter()])
        if not self.found:
            return
        for_all = self.rules.budget - self._kept_back
        until = for_all if several else _FOR_TREES * for_all
        old, batch, step = 0, 0, _STEP
        # Proposals without a new place, as of a listed value that has no keys, leave the steps.
        while old < _OLD or (step >= _LEAST_STEP and not several):
            batch += 1
            if old < _OLD and (self.spent < until or step < _LEAST_STEP):
                new = self.try_(propose(self.space, self._known(), _BATCH, self.rules.seed + batch))
                old = 0 if new else old + 1
                continue
            before = self.best
            self.try_(least(self.standing, self.candidates, before, 2 * step, self.rules.seed + batch))
            if self.best is before:
                self.try_(self.space.near(before.place, step))
            if self.best is before:
                step /= 2

    def _scatter(self) -> list[Place]:
        """Points over the whole space: each combination of listed values a few times, if they are not too many."""
        from scipy.stats import qmc

        choices = [len(variable.choices) for variable in self.space.variables if variable.choices]
        ranges = len(self.space.variables) - len(choices)
        combinations: list[tuple[int, ...]] = list(product(*(range(size) for size in choices)))
        if len(combinations) > _MOST_LISTED // 2:
            combinations = combinations[:: -(-len(combinations) // (_MOST_LISTED // 2))]
        each = max(1, -(-2 * (ranges + 1) // len(combinations))) if ranges else 1
        total = max(each * len(combinations), 1)
        spread = qmc.Sobol(max(ranges, 1), scramble=True, rng=self.rules.seed).random_base2((total - 1).bit_length())
        found: list[Place] = []
        for number, shares in enumerate(spread[:total]):
            chosen = iter(combinations[number % len(combinations)])
            sizes = iter(choices)
            numbers = iter(shares)
            found.append(
                tuple(
                    (next(chosen) + 0.5) / next(sizes) if variable.choices else float(next(numbers))
                    for variable in self.space.variables
                )
            )
        return found

    def _known(self) -> list[tuple[Place, tuple[float, ...], float]]:
        reference = max(self.candidates, key=lambda one: one.runs)
        known = []
        for one in self.candidates:
            values = self.standing.objectives(one, reference)
            if all(value < inf for value in values):
                missed = self.standing.violation(one)
                known.append((one.place, values, missed if self.standing.verdict(one) == "misses" else 0.0))
        return known
