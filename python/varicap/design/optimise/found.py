"""What a design found, and what it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from varicap.design.optimise.demands import Demands
from varicap.design.optimise.search import Stopped
from varicap.design.optimise.space import Space
from varicap.results.study import Study
from varicap.results.summary import Point
from varicap.statistics import Interval, Verdict

Outcome: TypeAlias = Literal["meets", "misses", "undecided"]


@dataclass(frozen=True)
class Tried:
    """A point that was tried."""

    point: Point
    """Its values by path; a key that does not count there is left out."""
    runs: int
    """Replications that it is judged by."""
    columns: Mapping[str, Interval]
    """Each column that was asked for, in its unit, with its 95 % interval."""
    keys: Mapping[str, float]
    """Each objective that is a key, as a number."""
    verdict: Verdict
    """Whether it meets the constraints: the whole of each interval decides."""
    by_model: Mapping[str, float] | None = None
    """What analysis says of the columns, if a model applies."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "point": dict(self.point),
            "runs": self.runs,
            "columns": {name: value.to_dict() for name, value in self.columns.items()},
            "keys": dict(self.keys),
            "verdict": self.verdict,
            "by_model": None if self.by_model is None else dict(self.by_model),
        }


@dataclass(frozen=True)
class Without:
    """The scenario without the table that was designed."""

    path: str
    """Of the table."""
    runs: int
    columns: Mapping[str, Interval]


@dataclass(frozen=True, repr=False)
class Found:
    """The answer to a question of design, and what it rests on."""

    name: str
    """Of the scenario."""
    space: Space
    demands: Demands
    best: Tried | None
    """What is recommended: the best of those that meet the constraints; none where nothing does."""
    again: Mapping[str, Interval]
    """The columns of the best in other replications, which did not choose it; empty if the budget was spent."""
    confirmed: Verdict
    """What these say of the constraints."""
    nearest: Tried | None
    """Where nothing meets the constraints: what comes nearest, or may meet them."""
    front: tuple[Tried, ...]
    """Of several objectives: what no other point is better than in one and as good as in all, by the first."""
    tried: tuple[Tried, ...]
    """All points, in the order in which they were tried."""
    refused: int
    """Points that are no valid scenarios."""
    refused_because: tuple[str, ...]
    """Why, each reason once."""
    runs: int
    """Runs that the answer took."""
    budget: int
    stopped: Stopped
    """Why the search ended."""
    study: Study = field(compare=False)
    """All runs."""
    without: "Without | None" = None
    """What there is without what was designed, if the scenario can do without."""
    sentence: str = ""
    """The answer in words, in a few lines."""

    @property
    def outcome(self) -> Outcome:
        """Whether there is a design: *meets*; *undecided* if one may meet the demands; *misses* if none was found."""
        if self.best is not None:
            return "undecided" if self.confirmed == "misses" else "meets"
        return "misses" if self.nearest is None or self.nearest.verdict == "misses" else "undecided"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.name,
            "minimise": [one.text for one in self.demands.objectives if one.sense == "minimise"],
            "maximise": [one.text for one in self.demands.objectives if one.sense == "maximise"],
            "subject_to": [one.text for one in self.demands.constraints],
            "outcome": self.outcome,
            "answer": self.sentence,
            "best": None if self.best is None else self.best.to_dict(),
            "again": {name: value.to_dict() for name, value in self.again.items()},
            "confirmed": self.confirmed,
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
            "front": [one.to_dict() for one in self.front],
            "tried": [one.to_dict() for one in self.tried],
            "refused": self.refused,
            "refused_because": list(self.refused_because),
            "without": None
            if self.without is None
            else {
                "path": self.without.path,
                "runs": self.without.runs,
                "columns": {name: value.to_dict() for name, value in self.without.columns.items()},
            },
            "runs": self.runs,
            "budget": self.budget,
            "stopped": self.stopped,
        }

    def __repr__(self) -> str:
        return self.sentence
