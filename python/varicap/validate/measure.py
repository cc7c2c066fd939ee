"""Measures the table: each path in both engines, with as many seeds as it takes.

In simulated time (`varicap.validate.simulated`) every run is exact, and any number go side by side.  In real time:

```text
round:   simulate all ──► kernel: slow links side by side ──► fast ones alone ──► invalid ones again ──► judge
  ▲                                                                                                       │
  └──────────────────────── more seeds where the interval of the goodput is too wide ◄────────────────────┘
```
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import varicap._core as _core
from varicap import kernels, units
from varicap.engines import kernel as linux
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.machine.doctor import congestion_controls
from varicap.statistics.progress import Progress, shown
from varicap.validate.bench import Bench, StoppedError, numbers_of, pool, simulate
from varicap.validate.paths import CONTROLS, Case, cases, generate_traces, recorded
from varicap.validate.sides import KERNEL, SIM, Side, real_kernel
from varicap.validate.simulated import Simulated, refused
from varicap.validate.store import Flows, Store, Wanted
from varicap.validate.table import Validation, table_of

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
    clock: linux.Clock | None = None,
    kernel_name: str | Sequence[str] | None = None,
    folder: str | Path | None = None,
    max_seeds: int = MAX_SEEDS,
    max_time: str | None = None,
    jobs: int | None = None,
    any_revision: bool = False,
    progress: Progress | None = None,
) -> Validation:
    """Measure how well the simulator and Linux's own TCP (`stock`) agree, on some `paths` or all.

    Both run the same seeds, over the same capacity and with the same losses; runs are compared in pairs, with as many
    seeds, at most `max_seeds`, as bring the 95 % interval of the difference in goodput to 2 %; one is enough where the
    next gives the same.  `quick` measures fewer paths in shorter runs of a single seed.  `traces` is a folder with
    traces in Mahimahi's format, each of which becomes a path.  `folder` keeps the table, and every valid run of a
    kernel, so that an interrupted table resumes.  Runs that another revision of varicap left there count with
    `any_revision`; the table names their revisions.

    In simulated time, which is the default where a kernel was built for it, the kernel is the one called `kernel_name`,
    by default the newest; two names compare two kernels with each other.  Each row then also says whether the segments
    are identical, and which is the first that is not (`varicap.validate.segments`).  Runs go `jobs` at a time, by
    default one on each core.  With the `clock` ``real`` it is the kernel that runs here; `jobs` of its runs go side by
    side at most, by default four on each core, fewer if some of them are not valid.

    No run begins that would not end within `max_time` (2 h; quick 6 min).  Ctrl-C ends the measurement, and the result
    has what was finished; where a run raises an error, `folder` has it.  Raises `MachineLacksError` where this machine
    has no kernel engine, or no kernel of that name, and `varicap.validate.paths.PathError` for a path that does not
    exist.
    """
    more = {} if traces is None else recorded(traces)
    sides = sides_of(clock, kernel_name)
    release = sides[1].release or (sides[1].kernel.release if sides[0] == SIM and sides[1].kernel else None)
    chosen = cases(paths, quick=quick, more=more, release=release)
    if jobs is not None and jobs < 1:
        raise ValueError(f"at least one run goes at a time, not {jobs}")
    if max_seeds < 1:
        raise ValueError(f"a path runs at least once, not {max_seeds} times")
    limit_s = units.seconds(max_time or (MAX_TIME_QUICK if quick else MAX_TIME))
    is_real = sides[1].kernel is None
    lacking = _refused() if is_real else refused(sides)
    left_out = {case: lacking[case.control] for case in chosen if case.control in lacking}
    chosen = [case for case in chosen if case not in left_out]
    place = None if folder is None else Path(folder)
    with tempfile.TemporaryDirectory(prefix="varicap-") as made, shown(progress, "validate kernel") as watched:
        generate_traces(Path(made))
        store = Store(place, any_revision)
        end_s = time.monotonic() + limit_s
        bench: Bench
        if is_real:
            width = jobs or 4 * (os.cpu_count() or 1)
            bench = _RealTime(chosen, Path(made), store, end_s, width, watched)
        else:
            bench = Simulated(chosen, Path(made), store, sides, end_s, jobs or os.cpu_count() or 1, watched)
        try:
            bench.measure(1 if quick else max_seeds)
        finally:
            # Also what was finished before a run raised an error.
            found = table_of(bench.measured, left_out | bench.left_out, quick=quick, sides=sides)
            found.revisions = bench.revisions
            found.interrupted = bench.interrupted
            if place is not None:
                found.save(place)
    return found


def sides_of(clock: linux.Clock | None = None, names: str | Sequence[str] | None = None) -> tuple[Side, Side]:
    """What is compared with what: the simulator with a kernel, or two kernels in simulated time.

    Raises ``ValueError`` where these are not what can be compared, `MachineLacksError` where there is no such kernel.
    """
    called = [names] if isinstance(names, str) else list(names or ())
    if len(called) > 2:
        raise ValueError(f"one kernel is compared with the simulator, or two with each other, not {len(called)}")
    if len(set(called)) < len(called):
        raise ValueError(f"the kernel {called[0]} is not compared with itself")
    if not kernels.is_simulated(clock, called[0] if called else None):
        return SIM, real_kernel()
    if len(called) == 2:
        first, second = found = [kernels.find(name) for name in called]
        if first == second:
            raise ValueError(f"the kernel {first.name} is not compared with itself")
        keys = [kernel.name if first.name != second.name else kernel.folder.name for kernel in found]
        return Side(keys[0], first), Side(keys[1], second)
    return SIM, Side(KERNEL, kernels.find(called[0] if called else None))


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


class _RealTime(Bench):
    """Runs of the kernel that runs here, in real time: as many side by side as leave them valid."""

    def __init__(
        self, chosen: Sequence[Case], folder: Path, store: Store, end_s: float, width: int, watched: Progress | None
    ) -> None:
        super().__init__(chosen, folder, store)
        self._end_s = end_s
        self._width = width
        self._watched = watched
        self._starting = threading.Lock()
        self._simulated: dict[tuple[str, int], Flows] = {}
        self._done = self._planned = 0

    @property
    def revisions(self) -> list[str]:
        """See `Bench.revisions`."""
        kept = (self._store.get(self._wanted[key], seed) for key, seed in self._simulated)
        made = {run.revision for run in kept if run is not None}
        return [] if made <= {each.revision for each in self._wanted.values()} else sorted(made)

    def _runs(self, case: Case) -> Iterator[tuple[Flows, Flows]]:
        for (key, seed), simulated in self._simulated.items():
            real = self._store.get(self._wanted[case.key], seed) if key == case.key else None
            if real is not None:
                yield simulated, real.flows

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
        with pool(os.cpu_count() or 1) as threads:
            found = threads.map(lambda job: _simulate(job.scenario, job.seed, job.case), jobs)
            for job, flows in zip(jobs, found, strict=True):
                self._simulated[job.case.key, job.seed] = flows

    def _run(self, jobs: Sequence[_Job], width: int) -> list[_Job]:
        """Run jobs in the kernel, `width` at a time; returns those whose runs were not valid."""
        waiting = iter(jobs)
        failed: list[_Job] = []
        under_way: dict[Future[tuple[Flows | None, list[str]]], _Job] = {}
        with pool(width) as threads:
            try:
                while True:
                    while len(under_way) < width and (job := self._start(waiting)) is not None:
                        under_way[threads.submit(self._real, job)] = job
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
                raise StoppedError

            def heed(share: float, *_: object) -> None:
                if self._stop.is_set():
                    raise StoppedError
                if share * job.case.duration_s >= _SETTLED_S:
                    start.close()

            try:
                summary = linux.run(
                    job.scenario, seeds=1, seed=job.seed, kernel="stock", clock="real", progress=heed
                ).summary
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


def _simulate(scenario: _core.Scenario, seed: int, case: Case) -> Flows:
    return numbers_of(simulate(scenario, seed).summary, case)
