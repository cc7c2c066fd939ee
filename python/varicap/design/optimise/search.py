"""The search: which points to run, how often, and when to stop.

```text
scatter, and the best by analysis ──► where next: halves of a line, Optuna, then steps around the best
        │                                  │
        └──────────── race: four runs each, twice as many while more of them may matter ◄──┘
```

Where ranges stand beside listed values and the budget is short, a sieve comes first: each combination of these is
looked at with one run at a few values of its ranges, and the better half goes on with twice the runs.  From then on new
places have a run or two, and those that look better than the best are raced.

Along one range the search halves the gaps beside the best; where it looks for the end of a range that a constraint
leaves, that is bisection.  Among several keys or listed values Optuna proposes half of the points, and steps around the
best, halved when none is better, find the rest.  All of it follows from the seed and from what runs found.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal, Protocol, TypeAlias

import varicap._core as _core
from varicap.design.optimise.candidates import FIRST, Candidate, Standing
from varicap.design.optimise.places import around, between, choices, every, scatter, strata
from varicap.design.optimise.space import Place, Space
from varicap.design.optimise.surface import least
from varicap.design.optimise.trees import propose
from varicap.results.summary import Point

Stopped: TypeAlias = Literal["converged", "budget", "time"]

_LINE = 9
"""Points of a line that are tried first."""
_BATCH = 4
_STEP, _LEAST_STEP = 1 / 8, 1 / 256
_APART = 1 / 512
"""Of a range, in which gaps between real numbers are not halved any more."""
_FOR_TREES = 0.55
"""Of the budget, for places that Optuna proposes."""
_VALUES = 8
"""Values of the ranges at most at which each combination of listed values is looked at first."""
_AMPLE = 12
"""Places for each combination of listed values that make a sieve needless."""
_SAFE = 2.0
"""Halves of an interval by which a bound is kept where there are runs for one more confirmation only."""
_OLD = 6
"""Batches in a row without a new place, after which there is none."""


class Runs(Protocol):
    """Whoever makes runs."""

    def add(self, point: Point) -> int:
        """The number of a point; raises `ScenarioError` for one that is none."""
        ...

    def is_exact(self, number: int) -> bool:
        """Whether nothing is drawn at a point, so that all runs are one."""
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
    _refused_at: set[Place] = field(default_factory=set)
    stopped: Stopped = "converged"
    _made: dict[int, int] = field(default_factory=dict)
    """Replications by candidate that count as spent."""
    _kept_back: int = 0
    _looked: bool = False
    """Whether some candidates were looked at only."""

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
            listed = every(self.space)
            if listed:
                self.try_(listed)
            elif self.space.line:
                self._line(first, several)
            else:
                self._field(first, several)
        except _SpentError:
            pass
        self._kept_back = 0
        if self._looked and self.stopped != "time":
            self._rescue()

    def confirm(self, chosen: Sequence[Candidate]) -> bool:
        """Raise candidates to all their replications; whether the budget was enough."""
        try:
            for runs in range(2 * FIRST, self.rules.seeds + FIRST, FIRST):
                self._make(dict.fromkeys(chosen, min(runs, self.rules.seeds)))
        except _SpentError:
            return False
        return all(one.runs >= self.rules.seeds for one in chosen)

    def choice(self, left: Sequence[Candidate]) -> Candidate:
        """The one of these to confirm next.

        After a sieve many have few runs.  Once one has all of its own, the others are judged by what they differ from
        it: else a value next to it would be asked, run by run, and found to miss as well.
        """
        best, seeds = self.standing.best(left), self.rules.seeds
        if not self._looked or self._reference.runs < seeds:
            return best
        verdicts = {one: self.standing.verdict(one) for one in left}
        if any(one.runs >= seeds and verdict == "meets" for one, verdict in verdicts.items()):
            return best
        safe = [
            one
            for one, verdict in verdicts.items()
            if one.runs < seeds and verdict != "misses" and self._glance(one, _SAFE)[0] == 0
        ]
        return min(safe, key=self._glance, default=best)

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
        new = self._begun(places, FIRST)
        if new:
            self._race(new)
        return new

    def _begun(self, places: Iterable[Place], runs: int) -> list[Candidate]:
        """New places with so many runs each; returns those that are scenarios."""
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
                self._refused_at.add(at)
                continue
            self.found[point] = Candidate(number, at, point, is_exact=self.runs.is_exact(number))
            new.append(self.found[point])
        if new:
            try:
                self._make(dict.fromkeys(new, min(runs, self.rules.seeds)))
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

    def _line(self, first: Sequence[Place], several: bool) -> None:
        """One range: points over all of it, then halves of the gaps beside the best."""
        even: list[Place] = [(number / (_LINE - 1),) for number in range(_LINE)]
        # By analysis something is known already: then the ends and the middle do.
        self.try_([*first, *(even[:: (_LINE - 1) // 2] if first and not several else even)])
        if not self.found:
            return
        while True:
            good = self.standing.front(self.candidates) if several else [self.best]
            halves = [half for one in good or [self.best] for half in self._halves(one)]
            refused = len(self.refused)
            if not self.try_(halves) and len(self.refused) == refused:
                return

    def _halves(self, one: Candidate) -> list[Place]:
        """The middles of the gaps on both sides of a candidate, where something lies between.

        What was refused bounds a gap as well: what is allowed may reach nearly there.
        """
        order = sorted({*(each.place for each in self.candidates), *self._refused_at})
        at = order.index(one.place)
        variable = self.space.variables[0]
        objective = self.standing.demands.objectives[0]
        met = self.standing.verdict(one) == "meets"
        sides: tuple[int, ...] = (-1, 1)
        if len(self.standing.demands.objectives) == 1 and isinstance(objective.of, int) and met:
            # What is larger, or smaller, is worse for certain.
            sides = (-1,) if objective.sense == "minimise" else (1,)
        found: list[Place] = []
        for side in sides:
            if not 0 <= at + side < len(order):
                continue
            here, there = order[at][0], order[at + side][0]
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
        """Several keys, or listed values: a scatter or a sieve, proposals, and steps around the best."""
        for_all = self.rules.budget - self._kept_back
        until = for_all if several else _FOR_TREES * for_all
        sorts = [] if several else choices(self.space, int(until) // 4)
        if for_all >= _AMPLE * FIRST * len(sorts):
            sorts = []  # the scatter, which has more runs for each place, can afford enough places
        if sorts:
            self.try_(first)
            self._looked = True
            self._sift(sorts, min(_VALUES, int(until) // 2 // len(sorts)))
        else:
            self.try_([*first, *scatter(self.space, self.rules.seed)])
        if not self.found:
            return
        old, batch, step = 0, 0, _STEP
        # Proposals without a new place, as of a listed value that has no keys, leave the steps.
        while old < _OLD or (step >= _LEAST_STEP and not several):
            batch += 1
            before = self.best
            # After a sieve the best of it is worth a step first, and then each second time.
            turn = not sorts or batch % 2 == 0 or step < _LEAST_STEP
            if turn and old < _OLD and (self.spent < until or step < _LEAST_STEP):
                places = propose(self.space, self._known(), _BATCH, self.rules.seed + batch)
                new = self._look(places, 1) if sorts else self.try_(places)
                old = 0 if new else old + 1
                step = _STEP if sorts and self.best is not before else step
                continue
            if sorts and len(self.space.free(before.place)) == 1:
                if not self._look(self._around(before, step, batch), FIRST // 2) and self.best is before:
                    # All its runs, which it needs in the end, tell how near to a bound others may be.
                    self._make({before: self.rules.seeds})
                    self._raise()
                    if self.best is before:
                        self._raise(halves=0.0)  # what means allow may do
            else:
                self.try_(least(self.standing, self.candidates, before, 2 * step, self.rules.seed + batch))
                if self.best is before:
                    self.try_(self.space.near(before.place, step))
            if self.best is before:
                step /= 2

    def _sift(self, sorts: Sequence[Place], values: int) -> None:
        """Successive halving of the combinations of listed values [jamieson16].

        Each is looked at once at a few values of its ranges, then around the best of these; the better half of the
        combinations goes on with twice the runs, until one is left that has had as many as others are judged by.
        """
        self._begun([each for sort in sorts for each in strata(self.space, sort, values, self.rules.seed)], 1)
        left = [sort for sort in (self.space.choice(each) for each in sorts) if self._of(sort)]
        runs, step = 1, 1 / values
        enough = min(FIRST, self.rules.seeds)
        while left:
            step /= 2
            new = [each for sort in left for each in self._around(self._leading(sort), step, runs)]
            self._begun(new, runs)
            runs = min(2 * runs, enough)
            self._make({self._leading(sort): runs for sort in left})
            if runs == enough and len(left) <= 2:
                break
            order = sorted(left, key=lambda sort: self._glance(self._leading(sort)))
            left = order[: max(2, (len(order) + 1) // 2)]
        # Now it is known how near to a bound they may be: what is best within that, of each that is left.
        safest = [self._leading(sort) for sort in left]
        self._make(dict.fromkeys(safest, enough))
        self._race(safest)
        self._raise()

    def _rescue(self) -> None:
        """Where nothing meets yet there is nothing to confirm: what was kept back goes to the safest, one by one."""
        try:
            while self.standing.verdict(self.best) != "meets":
                left = [
                    one
                    for one in self.candidates
                    if one.runs < self.rules.seeds
                    and (one.runs < self.standing.enough or self.standing.verdict(one) == "undecided")
                ]
                if not left:
                    return
                safest = min(left, key=self._glance)
                self._make({safest: min(max(self.standing.enough, 2 * safest.runs), self.rules.seeds)})
        except _SpentError:
            pass

    def _look(self, places: Sequence[Place], runs: int) -> list[Candidate]:
        """Look at new places, and race those that look better than the best; returns those that are scenarios."""
        new = self._begun(places, runs)
        self._raise()
        return new

    def _raise(self, halves: float = 1.0) -> None:
        """Race what was looked at only and looks better than the best, the most promising first."""
        while True:
            best = self.best
            bar: tuple[float, ...] = (inf, inf)
            met = self.standing.verdict(best) == "meets"
            if met:
                bar = (0.0, *self.standing.objectives(best, self._reference))
            looks = [
                one for one in self.candidates if one.runs < self.standing.enough and self._glance(one, halves) < bar
            ]
            if not looks:
                return
            first = min(looks, key=self._glance)
            promising = self._glance(first)[0] == 0
            if not promising:
                # More runs of the best tell how near to a bound others may be.
                self._race([])
                first = min(looks, key=self._glance)
            self._make({first: self.standing.enough})
            self._race([first])
            if not met and not promising:
                return  # nothing may meet at all

    @property
    def _reference(self) -> Candidate:
        return max(self.candidates, key=lambda one: one.runs)

    def _glance(self, one: Candidate, halves: float = 1.0) -> tuple[float, ...]:
        # What is near and has the same listed values differs by little, and by as much in each replication.
        alike = [each for each in self._of(self.space.choice(one.place)) if each.runs >= self.standing.enough]
        free = self.space.free(one.place)
        beside = min(
            alike,
            key=lambda each: sum(abs(each.place[at] - one.place[at]) for at in free),
            default=one,
        )
        return self.standing.glance(one, beside, self._reference, halves)

    def _of(self, sort: Place) -> list[Candidate]:
        """The candidates with these listed values."""
        return [one for one in self.candidates if self.space.choice(one.place) == sort]

    def _leading(self, sort: Place) -> Candidate:
        return min(self._of(sort), key=self._glance)

    def _around(self, one: Candidate, reach: float, turn: int) -> list[Place]:
        """Places around a candidate, among the others with its listed values."""
        others = self._of(self.space.choice(one.place))
        seed = self.rules.seed + one.number + turn
        free = self.space.free(one.place)
        if len(free) > 1:
            return [*around(self.space, one.place, reach, seed), *least(self.standing, others, one, 2 * reach, seed)]
        if not free:
            return []
        order = sorted(others, key=lambda each: each.place[free[0]])
        at = order.index(one)
        sides = order[max(0, at - 1) : at] + order[at + 1 : at + 2]
        # Between what meets and what would be better if it did lies what is best.
        shares = [each.place[free[0]] for each in sides if self._tempts(each, one)]
        if shares:
            return [place for share in shares for place in between(self.space, one.place, share)]
        shares = [order[at - 1].place[free[0]] if at else 0.0, order[at + 1].place[free[0]] if order[at + 1 :] else 1.0]
        halves = [place for share in shares for place in between(self.space, one.place, share)]
        return halves + least(self.standing, others, one, 2 * reach, seed)

    def _tempts(self, one: Candidate, beside: Candidate) -> bool:
        """Whether one misses and would be better than one that does not."""
        missed, *value = self._glance(one)
        here, *beside_value = self._glance(beside)
        return here == 0 < missed and value < beside_value

    def _known(self) -> list[tuple[Place, tuple[float, ...], float]]:
        reference = self._reference
        known = []
        for one in self.candidates:
            values = self.standing.objectives(one, reference)
            if all(value < inf for value in values):
                missed = self.standing.violation(one)
                few = one.runs < self.standing.enough
                known.append((one.place, values, missed if few or self.standing.verdict(one) == "misses" else 0.0))
        return known
