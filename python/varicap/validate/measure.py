"""Measures the table: each path in both engines, with as many seeds as it takes.

```text
round:   simulate all ──► kernel: slow links side by side ──► fast ones alone ──► invalid ones again ──► judge
  ▲                                                                                                       │
  └──────────────────────── more seeds where the interval of the goodput is too wide ◄────────────────────┘
```
"""

import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap import units
from varicap.engines import kernel as linux
from varicap.engines import sim
from varicap.engines.precision import more_runs
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.machine.doctor import congestion_controls
from varicap.statistics import finite
from varicap.statistics.progress import Progress, shown
from varicap.validate import rules
from varicap.validate.paths import CONTROLS, Case, cases, generate_traces, recorded, wanted
from varicap.validate.store import Flows, Store, Wanted
from varicap.validate.table import Measured, Validation, table_of

ATTEMPTS = 3
"""How often a run of the kernel is tried until it is valid: side by side, half as many beside it, alone."""

MAX_SEEDS = 10
MAX_TIME, MAX_TIME_QUICK = "2 h", "6 min"

_SPOILT = 0.1
"""From this share of invalid runs on, fewer go side by side for good."""
_SETUP_S = 1.5
"""What a run of the kernel takes beside its duration [s]."""
_SETTLED_S = 0.3
"""How far into a run the next one begins [s].

What a run sets up, namespaces and programs, delays the packets of others for a moment; a first round trip that is
measured then is remembered as the least one for the whole run, and moves a window that follows it.
"""
_RATCP = "ratcp in the kernel"
_BBR = "bbr"
_NEEDED = ("network namespaces", "TUN devices")


class _StoppedError(Exception):
    """The table is interrupted: a run ends at its next report."""


@dataclass
class _Job:
    """A seed of a case in the kernel."""

    case: Case
    scenario: _core.Scenario
    wanted: Wanted
    seed: int


def kernel(
    paths: Sequence[str] | None = None,
    *,
    quick: bool = False,
    traces: str | Path | None = None,
    folder: str | Path | None = None,
    max_seeds: int = MAX_SEEDS,
    max_time: str | None = None,
    jobs: int | None = None,
    any_revision: bool = False,
    progress: Progress | None = None,
) -> Validation:
    """Measure how well the simulator and Linux's own TCP (`stock`) agree, on some `paths` or all.

    Both run the same seeds, over the same capacity and with the same losses; runs are compared in pairs, with as many
    seeds, at most `max_seeds`, as bring the 95 % interval of the difference in goodput to 2 %.  `quick` measures fewer
    paths in shorter runs of a single seed.  `traces` is a folder with traces in Mahimahi's format, each of which
    becomes a path.  `folder` keeps the table, and every valid run of the kernel, so that an interrupted table resumes.
    Runs that another revision of varicap left there count with `any_revision`; the table names their revisions.
    No run begins that would not end within `max_time` (2 h; quick 6 min).  `jobs` runs of the kernel go side by
    side at most, fewer if some of them are not valid.

    Ctrl-C ends the measurement, and the result has what was finished; where a run raises an error, `folder` has it.
    Raises `MachineLacksError` where this machine has no kernel engine, and `varicap.validate.paths.PathError` for a
    path that does not exist.
    """
    more = {} if traces is None else recorded(traces)
    chosen = cases(paths, quick=quick, more=more)
    if jobs is not None and jobs < 1:
        raise ValueError(f"at least one run goes at a time, not {jobs}")
    if max_seeds < 1:
        raise ValueError(f"a path runs at least once, not {max_seeds} times")
    limit_s = units.seconds(max_time or (MAX_TIME_QUICK if quick else MAX_TIME))
    refused = _refused()
    left_out = {case: refused[case.control] for case in chosen if case.control in refused}
    chosen = [case for case in chosen if case not in left_out]
    place = None if folder is None else Path(folder)
    with tempfile.TemporaryDirectory(prefix="varicap-") as made, shown(progress, "validate kernel") as watched:
        generate_traces(Path(made))
        store = Store(place, any_revision)
        bench = _Bench(chosen, Path(made), store, limit_s, jobs or 4 * (os.cpu_count() or 1), watched)
        try:
            bench.measure(1 if quick else max_seeds)
        finally:
            # Also what was finished before a run raised an error.
            found = table_of(bench.measured, left_out | bench.left_out, quick=quick)
            found.revisions = bench.revisions
            found.interrupted = bench.interrupted
            if place is not None:
                found.save(place)
    return found


def _refused() -> dict[str, str]:
    """The controls that the kernel of this machine does not run, each with the reason."""
    if sys.platform != "linux":
        raise MachineLacksError("the kernel engine needs Linux")
    refused = {}
    for name, error, remedy in linux.probe():
        if error is None:
            continue
        if name in _NEEDED:
            raise MachineLacksError(f"the kernel engine: no {name}: {error}; {remedy} (`varicap doctor` says more)")
        if name == _RATCP:
            refused[CONTROLS[-1]] = f"{error}; {remedy}"
    if _BBR not in congestion_controls():
        refused[_BBR] = "this kernel has no bbr; `modprobe tcp_bbr` loads it where it is a module"
    return refused


class _Bench:
    """The measurement: what is there, what is to be run next, and how many runs go side by side."""

    def __init__(
        self, chosen: Sequence[Case], folder: Path, store: Store, limit_s: float, width: int, watched: Progress | None
    ) -> None:
        self.left_out: dict[Case, str] = {}
        self.interrupted = False
        self._chosen = chosen
        self._scenarios = {case.key: case.load(folder) for case in chosen}
        self._wanted = {case.key: wanted(case, self._scenarios[case.key]) for case in chosen}
        self._store = store
        self._end_s = time.monotonic() + limit_s
        self._width = width
        self._watched = watched
        self._stop = threading.Event()
        self._starting = threading.Lock()
        self._simulated: dict[tuple[str, int], Flows] = {}
        self._faults: dict[str, dict[int, list[str]]] = {}
        self._late: set[str] = set()
        self._done = self._planned = 0

    @property
    def measured(self) -> list[Measured]:
        """Each case with its pairs."""
        return [
            Measured(case, self._pairs(case), self._faults.get(case.key, {}), case.key in self._late)
            for case in self._chosen
        ]

    @property
    def revisions(self) -> list[str]:
        """The varicaps that made the runs of the kernel of which there are pairs, if this one did not make them all."""
        kept = (self._store.get(self._wanted[key], seed) for key, seed in self._simulated)
        made = {run.revision for run in kept if run is not None}
        return [] if made <= {each.revision for each in self._wanted.values()} else sorted(made)

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
        """By flow, the seeds that both engines have."""
        found: dict[str, list[rules.Pair]] = {name: [] for name in case.flows}
        for (key, seed), simulated in self._simulated.items():
            real = self._store.get(self._wanted[case.key], seed) if key == case.key else None
            if real is not None:
                for name, pairs in found.items():
                    pairs.append(rules.Pair(simulated[name], real.flows[name]))
        return found

    def _round(self, wanted: Iterable[tuple[Case, int]]) -> None:
        jobs = [_Job(case, self._scenarios[case.key], self._wanted[case.key], seed) for case, seed in wanted]
        jobs = [job for job in jobs if (job.case.key, job.seed) not in self._simulated]
        self._simulate(jobs)
        jobs = [job for job in jobs if self._store.get(job.wanted, job.seed) is None]
        self._planned += len(jobs)
        for attempt in range(ATTEMPTS):
            alone = [job for job in jobs if job.case.is_fast]
            beside = [job for job in jobs if not job.case.is_fast]
            last = attempt == ATTEMPTS - 1
            failed = self._run(beside, 1 if last else max(1, self._width >> attempt))
            if attempt == 0 and len(failed) > _SPOILT * len(beside):
                self._width = max(1, self._width // 2)
            jobs = failed + self._run(alone, 1)

    def _simulate(self, jobs: Sequence[_Job]) -> None:
        with _pool(os.cpu_count() or 1) as pool:
            found = pool.map(lambda job: _simulate(job.scenario, job.seed, job.case), jobs)
            for job, flows in zip(jobs, found, strict=True):
                self._simulated[job.case.key, job.seed] = flows

    def _run(self, jobs: Sequence[_Job], width: int) -> list[_Job]:
        """Run jobs in the kernel, `width` at a time; returns those whose runs were not valid."""
        waiting = iter(jobs)
        failed: list[_Job] = []
        under_way: dict[Future[tuple[Flows | None, list[str]]], _Job] = {}
        with _pool(width) as pool:
            try:
                while True:
                    while len(under_way) < width and (job := self._start(waiting)) is not None:
                        under_way[pool.submit(self._real, job)] = job
                    if not under_way:
                        return failed
                    ended, _ = wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in ended:
                        job = under_way.pop(future)
                        if not self._finish(job, *future.result()):
                            failed.append(job)
            except BaseException:
                self._stop.set()
                raise

    def _real(self, job: _Job) -> tuple[Flows | None, list[str]]:
        """The numbers of a run in the kernel, or what was wrong with it."""
        with ExitStack() as start:
            start.enter_context(self._starting)
            if self._stop.is_set():
                raise _StoppedError

            def heed(share: float, *_: object) -> None:
                if self._stop.is_set():
                    raise _StoppedError
                if share * job.case.duration_s >= _SETTLED_S:
                    start.close()

            try:
                summary = linux.run(job.scenario, seeds=1, seed=job.seed, kernel="stock", progress=heed).summary
            except (_core.RunError, NotApplicableError) as error:
                return None, [f"the run failed: {error}"]
        fidelity = summary["fidelity"]
        if not fidelity["valid"]:
            return None, list(fidelity["faults"])
        return numbers_of(summary, job.case), []

    def _start(self, waiting: Iterator[_Job]) -> _Job | None:
        """The next job for which there is time."""
        for job in waiting:
            if time.monotonic() + job.case.duration_s + _SETUP_S <= self._end_s:
                return job
            self._late.add(job.case.key)
        return None

    def _finish(self, job: _Job, flows: Flows | None, faults: list[str]) -> bool:
        if flows is None:
            self._faults.setdefault(job.case.key, {})[job.seed] = faults
            return False
        self._faults.get(job.case.key, {}).pop(job.seed, None)
        self._store.add(job.wanted, job.seed, job.case.key, flows)
        self._done += 1
        if self._watched is not None:
            self._watched(self._done / self._planned, self._done, self._planned)
        return True


@contextmanager
def _pool(width: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that are not given anything new once the block is left by an exception."""
    pool = ThreadPoolExecutor(width)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _simulate(scenario: _core.Scenario, seed: int, case: Case) -> Flows:
    return numbers_of(sim.run(scenario, seeds=1, seed=seed, jobs=1, progress=_silent).summary, case)


def _silent(_share: float, _done: int, _total: int) -> None:
    """Progress that nobody sees: notebooks show the table's, not that of each run."""


def numbers_of(summary: dict[str, Any], case: Case) -> Flows:
    """What is compared of each flow of a run; of a group, what it is together."""
    rows = {row["name"]: row for row in (*summary["flows"], *summary["groups"])}
    return {name: _numbers(rows[name]) for name in case.flows}


def _numbers(row: dict[str, Any]) -> dict[str, float | None]:
    parts = {"fct_p50_ms": row["fct_ms"]["p50"], "fct_p95_ms": row["fct_ms"]["p95"]}
    values = {name: parts[name] if name in parts else row[name] for name in rules.MEASURES}
    # Some measures come with an interval, which says nothing for one run.
    return {name: finite(value["mean"] if isinstance(value, dict) else value) for name, value in values.items()}
