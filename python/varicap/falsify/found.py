"""What a search for a path that breaks a control found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import varicap._core as _core
from varicap.falsify.conditions import Conditions, words
from varicap.falsify.statement import Statement
from varicap.statistics import Interval


@dataclass(frozen=True)
class Confirmation:
    """What other runs, or another engine, say of the path that was found."""

    how: str
    verdict: str
    value: Interval | None
    why: str
    """How many runs it is from, or why there is none."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        value = None if self.value is None else self.value.to_dict()
        return {"how": self.how, "verdict": self.verdict, "value": value, "why": self.why}


@dataclass(frozen=True)
class Apart:
    """A path on which a model and the simulator differ."""

    conditions: Conditions
    by_model: float
    by_simulation: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"path": words(self.conditions), "model": self.by_model, "simulation": self.by_simulation}


@dataclass(frozen=True)
class Theory:
    """What analysis says of the paths within the bounds."""

    asked: int
    """Paths of which a model spoke."""
    worst: Apart | None
    """The path that is the worst by the model."""
    farthest: Apart | None
    """The path of those simulated on which both differ most."""
    bound: float | None
    """What holds for every path within the bounds, by a proof; None if there is none."""
    because: str
    """The proof's idea and its assumptions, or why there is none."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "asked": self.asked,
            "worst": None if self.worst is None else self.worst.to_dict(),
            "farthest": None if self.farthest is None else self.farthest.to_dict(),
            "bound": self.bound,
            "because": self.because,
        }


@dataclass(frozen=True)
class Found:
    """The worst path within the bounds, and the simplest one that surely refutes the statement, if any does."""

    name: str
    statement: Statement
    worst: Conditions
    worst_value: Interval
    as_written: Interval | None
    """What the file's own path gives."""
    shrunk: Conditions | None
    """None: no path was found that surely refutes the statement."""
    value: Interval | None
    scenario: Mapping[str, Any] | None
    """That of the shrunk path, as a file has it."""
    confirmations: tuple[Confirmation, ...]
    theory: Theory
    spent: int
    budget: int
    paths: int
    """Different paths that were tried."""
    refused: int
    """Paths within the bounds that are no scenario."""
    runs: int
    """Of each path that is judged."""
    seed: int
    measured_s: float
    """The time that is measured of each run, after the warm-up [s]."""
    sentence: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether a path was found that surely refutes the statement."""
        return self.shrunk is not None

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap falsify --json`` prints it."""
        return {
            "name": self.name,
            "version": _core.__version__,
            "statement": self.statement.text,
            "broken": self.is_broken,
            "sentence": self.sentence,
            "worst": {"path": words(self.worst), "value": self.worst_value.to_dict()},
            "as_written": None if self.as_written is None else self.as_written.to_dict(),
            "shrunk": None
            if self.shrunk is None or self.value is None
            else {"path": words(self.shrunk), "value": self.value.to_dict()},
            "confirmations": [one.to_dict() for one in self.confirmations],
            "theory": self.theory.to_dict(),
            "spent": self.spent,
            "budget": self.budget,
            "paths": self.paths,
            "refused": self.refused,
            "runs": self.runs,
            "seed": self.seed,
            "scenario": None if self.scenario is None else dict(self.scenario),
        }
