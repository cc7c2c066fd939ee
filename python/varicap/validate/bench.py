"""What is to be measured of a table, and what is there: seeds are added until the intervals are narrow."""

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap.engines import sim
from varicap.engines.precision import more_runs
from varicap.results.result import Result
from varicap.statistics import finite
from varicap.validate import rules
from varicap.validate.paths import Case, wanted
from varicap.validate.store import Flows, Store
from varicap.validate.table import Measured


class StoppedError(Exception):
    """The table is interrupted: a run ends at its next report."""


class Bench(ABC):
    """A measurement: which cases have which runs, and which are to be run next."""

    def __init__(self, chosen: Sequence[Case], folder: Path, store: Store) -> None:
        self.left_out: dict[Case, str] = {}
        self.interrupted = False
        self._chosen = chosen
        self._scenarios = {case.key: case.load(folder) for case in chosen}
        self._wanted = {case.key: wanted(case, self._scenarios[case.key]) for case in chosen}
        self._store = store
        self._stop = threading.Event()
        self._faults: dict[str, dict[int, list[str]]] = {}
        self._late: set[str] = set()

    @abstractmethod
    def _round(self, wanted: Sequence[tuple[Case, int]]) -> None:
        """Run seeds of cases, as far as they have not been."""

    @abstractmethod
    def _runs(self, case: Case) -> Iterator[tuple[Flows, Flows]]:
        """The seeds of a case that both sides have."""

    @property
    @abstractmethod
    def revisions(self) -> list[str]:
        """The varicaps that made the kept runs of which there are pairs, if this one did not make them all."""

    @property
    def measured(self) -> list[Measured]:
        """Each case with its pairs."""
        return [
            Measured(case, self._pairs(case), self._faults.get(case.key, {}), case.key in self._late)
            for case in self._chosen
        ]

    def measure(self, max_seeds: int) -> None:
        """Run seed after seed until the intervals are narrow; Ctrl-C leaves what is there."""
        wanted = dict.fromkeys((case.key for case in self._chosen), 1)
        asked: dict[str, int] = {}
        try:
            while wanted != asked:
                pending = [case for case in self._chosen if wanted[case.key] > asked.get(case.key, 0)]
                self._round([(case, seed) for case in pending for seed in range(1, wanted[case.key] + 1)])
                asked = dict(wanted)
                for case in pending:
                    wanted[case.key] = self._next(case, wanted[case.key], max_seeds)
        except KeyboardInterrupt:
            self.interrupted = True
        except BaseException:
            self.interrupted = True
            raise
        for case in self._chosen:
            if case.key in self._late and not any(self._pairs(case).values()) and not self._faults.get(case.key):
                self.left_out[case] = "there was no time left for it"

    def _next(self, case: Case, had: int, max_seeds: int) -> int:
        """How many seeds a case needs, as far as is known after `had` of them."""
        if case.key in self._late or case in self.left_out:
            return had
        widths = [rules.half_width(rules.goodput_difference(pairs)) for pairs in self._pairs(case).values() if pairs]
        if had < rules.FEWEST:
            return min(rules.FEWEST, max_seeds)
        if not widths:
            return had  # of so many seeds none was valid, and each was repeated
        if math.isinf(max(widths)):
            return min(had + 1, max_seeds)  # nothing says yet how many it takes
        return min(had + more_runs(max(widths), rules.GOODPUT, had), max_seeds)

    def _pairs(self, case: Case) -> dict[str, list[rules.Pair]]:
        """By flow, the seeds that both sides have."""
        runs = list(self._runs(case))
        return {name: [rules.Pair(base[name], other[name]) for base, other in runs] for name in case.flows}


@contextmanager
def pool(width: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that are not given anything new once the block is left by an exception."""
    threads = ThreadPoolExecutor(width)
    try:
        yield threads
    finally:
        threads.shutdown(wait=True, cancel_futures=True)


def simulate(scenario: _core.Scenario, seed: int, *, packets: bool = False) -> Result:
    """A seed in the simulator, with nobody to see its progress: notebooks show that of the table."""
    return sim.run(scenario, seeds=1, seed=seed, jobs=1, packets=packets, progress=silent)


def silent(_share: float, _done: int, _total: int) -> None:
    """Progress that nobody sees."""


def numbers_of(summary: dict[str, Any], case: Case) -> Flows:
    """What is compared of each flow of a run; of a group, what it is together."""
    rows = {row["name"]: row for row in (*summary["flows"], *summary["groups"])}
    return {name: _numbers(rows[name]) for name in case.flows}


def _numbers(row: dict[str, Any]) -> dict[str, float | None]:
    parts = {"fct_p50_ms": row["fct_ms"]["p50"], "fct_p95_ms": row["fct_ms"]["p95"]}
    values = {name: parts[name] if name in parts else row[name] for name in rules.MEASURES}
    # Some measures come with an interval, which says nothing for one run.
    return {name: finite(value["mean"] if isinstance(value, dict) else value) for name, value in values.items()}
