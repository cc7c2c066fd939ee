"""The table over simulated time: every run is exact, and as many go side by side as there are cores.

```text
round:   a seed of a case: both sides' runs ──► numbers, and the segments compared ──► only these are kept
```

A run of a kernel is made again only if the store lacks its numbers, or what came of comparing its segments with those
of the other side: they are known by the digests of the two logs.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap.engines import kernel as linux
from varicap.errors import NotApplicableError
from varicap.results.result import Result
from varicap.statistics.progress import Progress
from varicap.validate import segments
from varicap.validate.bench import Bench, StoppedError, numbers_of, pool, simulate
from varicap.validate.paths import CONTROLS, Case
from varicap.validate.sides import Side
from varicap.validate.store import Flows, Store
from varicap.validate.table import Measured

MOST_PACKETS = 200_000
"""Of longer runs only so much is compared segment by segment, in runs of their own, so that logs take little memory."""

_PACKET_BITS = 12_000


@dataclass(frozen=True)
class _Run:
    """A run of one side."""

    flows: Flows
    digest: str
    """Of its log."""
    log: segments.Log | None
    """None of a run that was kept."""


class Simulated(Bench):
    """Runs of the simulator and of kernels in simulated time, or of two such kernels."""

    def __init__(
        self,
        chosen: Sequence[Case],
        folder: Path,
        store: Store,
        sides: tuple[Side, Side],
        end_s: float,
        width: int,
        watched: Progress | None,
    ) -> None:
        super().__init__(chosen, folder, store)
        self._sides = sides
        self._end_s = end_s
        self._width = width
        self._watched = watched
        self._found: dict[tuple[str, int], tuple[Flows, Flows, dict[str, Any]]] = {}
        self._made: set[str] = set()
        self._drawless: set[str] = set()
        self._done = self._planned = 0
        self._short = {case.key: _shortened(case, folder) for case in chosen}

    @property
    def measured(self) -> list[Measured]:
        """Each case with its pairs and with what came of comparing the segments."""
        found = super().measured
        return [
            Measured(
                each.case,
                each.pairs,
                each.faults,
                each.is_short,
                [compared for (key, _), (_, _, compared) in sorted(self._found.items()) if key == each.case.key],
                draws=each.case.key not in self._drawless,
            )
            for each in found
        ]

    @property
    def revisions(self) -> list[str]:
        """See `Bench.revisions`."""
        return [] if self._made <= {each.revision for each in self._wanted.values()} else sorted(self._made)

    def _runs(self, case: Case) -> Iterator[tuple[Flows, Flows]]:
        for key, seed in sorted(self._found):
            if key == case.key:
                base, other, _ = self._found[key, seed]
                yield base, other

    def _next(self, case: Case, had: int, max_seeds: int) -> int:
        if case.key in self._drawless:
            return had
        if had == 1 and max_seeds > 1 and self._draws_nothing(case):
            self._drawless.add(case.key)
            return had
        return super()._next(case, had, max_seeds)

    def _draws_nothing(self, case: Case) -> bool:
        """Whether another seed gives the same packets in the simulator: nothing is drawn at random then."""
        scenario = self._short[case.key] or self._scenarios[case.key]
        one, other = (segments.log_of(simulate(scenario, seed, packets=True).packets).digest for seed in (1, 2))
        return one == other

    def _round(self, wanted: Sequence[tuple[Case, int]]) -> None:
        jobs = [(case, seed) for case, seed in wanted if (case.key, seed) not in self._found]
        # The longest first, so that no core waits for the last of them.
        jobs.sort(key=lambda job: (-job[0].rate_mbps * job[0].duration_s, job[1]))
        self._planned += len(jobs)
        waiting = iter(jobs)
        under_way: dict[Future[bool], Case] = {}
        with pool(self._width) as threads:
            try:
                while True:
                    while len(under_way) < self._width and (job := self._start(waiting)) is not None:
                        under_way[threads.submit(self._measure, *job)] = job[0]
                    if not under_way:
                        return
                    ended, _ = wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in ended:
                        under_way.pop(future)
                        future.result()
                        self._done += 1
                        if self._watched is not None:
                            self._watched(self._done / self._planned, self._done, self._planned)
            except BaseException:
                self._stop.set()
                raise

    def _start(self, waiting: Iterator[tuple[Case, int]]) -> tuple[Case, int] | None:
        """The next job, if there is time for it."""
        for case, seed in waiting:
            if time.monotonic() < self._end_s:
                return case, seed
            self._late.add(case.key)
        return None

    def _measure(self, case: Case, seed: int) -> bool:
        """Run a seed on both sides, and compare them."""
        try:
            runs = [self._run(side, case, seed, anew=False) for side in self._sides]
            pair = runs[0].digest, runs[1].digest
            compared = self._store.compared(pair)
            if compared is None:
                runs = [
                    run if run.log is not None else self._run(side, case, seed, anew=True)
                    for side, run in zip(self._sides, runs, strict=True)
                ]
                pair = runs[0].digest, runs[1].digest
                compared = _compared(runs, case)
                self._store.add_compared(pair, compared)
        except (_core.RunError, NotApplicableError) as error:
            self._faults.setdefault(case.key, {})[seed] = [f"the run failed: {error}"]
            return False
        self._found[case.key, seed] = runs[0].flows, runs[1].flows, compared
        return True

    def _run(self, side: Side, case: Case, seed: int, *, anew: bool) -> _Run:
        if self._stop.is_set():
            raise StoppedError
        scenario, short, wanted = self._scenarios[case.key], self._short[case.key], self._wanted[case.key]
        if side.kernel is None:
            result = simulate(scenario, seed, packets=short is None)
            logged = result if short is None else simulate(short, seed, packets=True)
            log = segments.log_of(logged.packets)
            return _Run(numbers_of(result.summary, case), log.digest, log)
        kept = self._store.get(wanted, seed, side.kernel)
        if kept is not None and kept.log is not None and not anew:
            self._made.add(kept.revision)
            return _Run(kept.flows, kept.log, None)

        def heed(*_: object) -> None:
            if self._stop.is_set():
                raise StoppedError

        def run(of: _core.Scenario, packets: bool) -> Result:
            return linux.run(
                of,
                seeds=1,
                seed=seed,
                kernel="stock",
                clock="simulated",
                kernel_name=side.kernel.folder.name if side.kernel else None,
                packets=packets,
                jobs=1,
                progress=heed,
            )

        result = run(scenario, short is None)
        log = segments.log_of((result if short is None else run(short, True)).packets)
        flows = numbers_of(result.summary, case)
        self._store.add(wanted, seed, case.key, flows, side.kernel, log.digest)
        self._made.add(wanted.revision)
        return _Run(flows, log.digest, log)


def _compared(runs: Sequence[_Run], case: Case) -> dict[str, Any]:
    """By flow, what came of the segments."""
    one, other = (run.log for run in runs if run.log is not None)
    return {name: segments.compare(one, other, name).to_dict() for name in case.flows}


def _shortened(case: Case, folder: Path) -> _core.Scenario | None:
    """The scenario of a case whose runs send too many packets, as much of it as is compared segment by segment."""
    most_s = MOST_PACKETS * _PACKET_BITS / (case.rate_mbps * 1e6)
    if case.duration_s <= most_s:
        return None
    return case.lasting(most_s).load(folder)


def refused(sides: Sequence[Side]) -> dict[str, str]:
    """The controls that the kernels of some sides do not have, each with the reason."""
    return {
        control: f"the kernel {side.kernel.name} has no {control}"
        for side in sides
        for control in CONTROLS
        if side.kernel is not None and control not in side.kernel.controls
    }
