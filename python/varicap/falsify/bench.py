"""Runs of a scenario under conditions: each once, kept in a folder, with the same random numbers for all."""

import hashlib
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import varicap._core as _core
from varicap import policies
from varicap._folders import Folder
from varicap.engines.scenarios import load
from varicap.evaluate.control import Control
from varicap.evaluate.solve import drawing_nothing
from varicap.falsify.conditions import Conditions, placed
from varicap.falsify.statement import Statement
from varicap.statistics import Interval, Progress

_KEPT = "runs.jsonl"
_MOST_KEPT = 1 << 30


class SpentError(Exception):
    """The budget of runs, or the time, is spent."""


@dataclass(eq=False)
class Tried:
    """Conditions, and what their runs found."""

    conditions: Conditions
    scenario: _core.Scenario
    key: str
    is_exact: bool
    """Whether nothing is drawn, so that all runs are one."""
    is_silent: bool
    """Whether nothing is drawn but by a control in Python, if that draws: runs that agree are one."""
    values: dict[int, float] = field(default_factory=dict)
    """By replication."""

    def first(self, runs: int) -> list[float]:
        """The values of the first runs."""
        return [self.values[run] for run in range(min(runs, len(self.values))) if run in self.values]


@dataclass
class Bench:
    """Whoever makes runs, counts them, and remembers."""

    base: Mapping[str, Any]
    base_dir: str
    statement: Statement
    controls: Sequence[Control]
    seed: int
    jobs: int | None
    kept: Folder | None
    budget: int
    until: float = math.inf
    """When no more are begun, by `time.monotonic` [s]."""
    progress: Progress | None = None
    spent: int = 0
    """Runs that were made, or would have been if they had not been there."""
    refused: int = 0
    """Conditions that are no scenario."""
    tried: dict[Conditions, Tried | None] = field(default_factory=dict)
    _there: dict[str, dict[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kept is not None and self.kept.is_file(_KEPT):
            for line in self.kept.read(_KEPT, _MOST_KEPT).splitlines():
                self._take_up(line)

    def _take_up(self, line: bytes) -> None:
        try:
            key, found = json.loads(line)
            values = {int(run): math.nan if value is None else float(value) for run, value in found.items()}
        except (ValueError, TypeError, AttributeError):
            return  # a line that a kill cut short
        self._there.setdefault(str(key), {}).update(values)

    def of(self, conditions: Conditions) -> Tried | None:
        """A scenario under conditions; None if that is none."""
        if conditions not in self.tried:
            self.tried[conditions] = self._loaded(conditions)
        return self.tried[conditions]

    def _loaded(self, conditions: Conditions) -> Tried | None:
        written = placed(self.base, conditions)
        try:
            scenario = load(written, base_dir=self.base_dir)
        except _core.LimitError:
            raise
        except _core.ScenarioError:
            self.refused += 1
            return None
        digests = [control.digest for control in self.controls]
        asked = [written, self.statement.text, self.seed, _core.__version__, digests]
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:24]
        silent = load(drawing_nothing(written), base_dir=self.base_dir).draws_nothing if self.controls else False
        return Tried(conditions, scenario, key, scenario.draws_nothing and not self.controls, silent)

    def run(self, wanted: Sequence[tuple[Tried, range]]) -> None:
        """Make the runs of these that are missing.  Raises `SpentError` before some of them if they would be too many.

        Of what draws nothing the first one stands for all.
        """
        todo: list[tuple[Tried, list[int]]] = []
        for one, runs in wanted:
            runs = range(1) if one.is_exact else runs
            new = [run for run in runs if run not in one.values]
            if not new:
                continue
            if self.spent + len(new) > self.budget:
                self._make(todo)
                raise SpentError
            self.spent += len(new)
            todo.append((one, new))
        self._make(todo)

    def _make(self, todo: Sequence[tuple[Tried, list[int]]]) -> None:
        missing = []
        for one, runs in todo:
            known = self._there.get(one.key, {})
            one.values |= {run: known[run] for run in runs if run in known}
            if left := [run for run in runs if run not in known]:
                missing.append((one, left))
        if not missing:
            return
        if time.monotonic() > self.until:
            raise SpentError
        # What is written in Python runs on one core.
        workers = 1 if self.controls else (self.jobs or os.cpu_count() or 1)
        with ThreadPoolExecutor(workers) as pool:
            for (one, _), values in zip(missing, pool.map(self._simulated, missing), strict=True):
                one.values |= values
                self._keep(one.key, values)
        if self.progress is not None:
            self.progress(min(1.0, self.spent / self.budget), self.spent, self.budget)

    def _simulated(self, job: tuple[Tried, list[int]]) -> dict[int, float]:
        one, runs = job
        used = self.used(one.scenario)
        values: dict[int, float] = {}
        for first, count in _spans(runs):
            results = _core.run(
                one.scenario,
                seed=self.seed,
                first=first,
                count=count,
                threads=1,
                controls=used or None,
                policies=policies.supplied(one.scenario),
            )
            values |= dict(zip(range(first, first + count), self.statement.values(results), strict=True))
        return values

    def used(self, scenario: _core.Scenario) -> dict[str, Any]:
        """The controls in Python that a scenario has, by name."""
        text = scenario.to_json()
        return {
            name: made
            for control in self.controls
            for name, made in control.made.items()
            if f'"custom":{json.dumps(name)}' in text
        }

    def _keep(self, key: str, values: Mapping[int, float]) -> None:
        self._there.setdefault(key, {}).update(values)
        if self.kept is not None and all(control.is_lasting for control in self.controls):
            plain = {str(run): value if math.isfinite(value) else None for run, value in values.items()}
            self.kept.append(_KEPT, (json.dumps([key, plain]) + "\n").encode())

    def worth(self, one: Tried) -> float:
        """The mean of its runs, where less is worse for the statement; infinite where a run has no value."""
        values = list(one.values.values())
        mean = math.fsum(values) / len(values) if values else math.nan
        return self.statement.sign * mean if math.isfinite(mean) else math.inf

    def interval(self, one: Tried, runs: range) -> Interval:
        """What these runs say."""
        values = [one.values[0]] if one.is_exact else [one.values[run] for run in runs]
        return self.statement.interval(values, is_exact=one.is_exact or (one.is_silent and len(set(values)) == 1))

    def is_broken(self, one: Tried, runs: range) -> bool:
        """Whether these runs surely refute the statement, by the whole interval."""
        return self.statement.bounds.verdict(self.interval(one, runs)) == "misses"


def _spans(runs: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of consecutive numbers: the first, and how many.

    >>> _spans([0, 1, 4])
    [(0, 2), (4, 1)]
    """
    found: list[tuple[int, int]] = []
    for run in runs:
        if found and sum(found[-1]) == run:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((run, 1))
    return found
