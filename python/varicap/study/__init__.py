"""Sweeps: one scenario at many points, in a folder that survives the death of the process.

```text
axes ──design──► points ──► runs in pieces of a second ──► folder (parts) ──► tables, summary, manifest
```
"""

import json
import os
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa
import pyarrow.compute as pc

import varicap._core as _core
from varicap import engines, plugins
from varicap._files import sha256
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.precision import more_runs
from varicap.engines.scenarios import AnyScenario, load
from varicap.errors import InterruptedSweep
from varicap.plugins import Make
from varicap.results.manifest import host, software
from varicap.results.pieces import StudyError
from varicap.results.study import STUDY_VERSION, Study
from varicap.results.summary import Point, Tables, widest
from varicap.statistics.progress import Progress, shown
from varicap.study.axes import Axis, Design, DesignError, axes_of, points
from varicap.study.budget import Limits, check
from varicap.study.store import Folder
from varicap.study.work import Piece, Span, Task, WorkersError, described, execute, workers_on

if TYPE_CHECKING:
    from varicap.engines.kernel import Clock, Mode
    from varicap.study.in_guests import Guests
    from varicap.study.models import ModelStudy

__all__ = ["Axis", "Design", "DesignError", "Study", "StudyError", "WorkersError", "points", "sweep"]


_CHECKED_TOGETHER = 512
"""Points that are checked in one call, which heeds Ctrl-C."""


@dataclass
class _Progress:
    """The progress of a study."""

    total: int
    done: int
    report: Progress | None

    def add(self, runs: int) -> None:
        self.done += runs
        if self.report is not None:
            self.report(self.done / max(self.total, 1), self.done, self.total)


@overload
def sweep(
    scenario: AnyScenario,
    over: Mapping[str, Sequence[str] | str] | Sequence[Axis] = ...,
    *,
    engine: Literal["sim", "kernel"] = ...,
    kernel: "Mode | None" = ...,
    clock: "Clock | None" = ...,
    kernel_name: str | None = ...,
    modules: Sequence[str | Path] | None = ...,
    controls: Mapping[str, Make] | None = ...,
    queues: Mapping[str, Make] | None = ...,
    design: Design = ...,
    count: int | None = ...,
    seeds: int | None = ...,
    seed: int | None = ...,
    precision: float | None = ...,
    max_seeds: int = ...,
    overrides: Mapping[str, str] | Sequence[tuple[str, str]] = ...,
    folder: str | Path | None = ...,
    on: str | None = ...,
    executor: Executor | None = ...,
    jobs: int | None = ...,
    max_memory: str | None = ...,
    max_time: str | None = ...,
    piece_s: float = ...,
    progress: Progress | None = ...,
    notify: Callable[[str], None] = ...,
) -> Study: ...
@overload
def sweep(
    scenario: AnyScenario,
    over: Mapping[str, Sequence[str] | str] | Sequence[Axis] = ...,
    *,
    engine: Literal["model"],
    design: Design = ...,
    count: int | None = ...,
    seed: int | None = ...,
    overrides: Mapping[str, str] | Sequence[tuple[str, str]] = ...,
    folder: str | Path | None = ...,
    progress: Progress | None = ...,
) -> "ModelStudy": ...
def sweep(
    scenario: AnyScenario,
    over: Mapping[str, Sequence[str] | str] | Sequence[Axis] = (),
    *,
    engine: engines.Engine = "sim",
    kernel: "Mode | None" = None,
    clock: "Clock | None" = None,
    kernel_name: str | None = None,
    modules: Sequence[str | Path] | None = None,
    controls: Mapping[str, Make] | None = None,
    queues: Mapping[str, Make] | None = None,
    design: Design = "product",
    count: int | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    precision: float | None = None,
    max_seeds: int = 1000,
    overrides: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    folder: str | Path | None = None,
    on: str | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    piece_s: float = 1.0,
    progress: Progress | None = None,
    notify: Callable[[str], None] = warnings.warn,
) -> "Study | ModelStudy":
    """Run a scenario at many points, `seeds` times each, under the same random numbers at every point.

    `over` has values by dotted path, combined by `design` (see `points`; `count` is for latin and sobol).  With a
    `folder` a study that was killed resumes where it stopped: finished runs are kept, none is repeated, and the tables
    are the same bytes as if nothing had happened.  `precision` adds runs until every interval of goodput and
    utilisation is within that share of its mean.  Runs use this machine's cores, `on` ``local:N`` processes or a Dask
    scheduler, or any `executor` of `concurrent.futures` with `jobs` workers, in pieces that keep a worker busy for
    `piece_s`.  What is found damaged in the folder is set aside, reported to `notify`, and computed again; a trace that
    changes while runs go on ends the study.  A process that runs pieces may grow by `max_memory`, and each run may take
    `max_time`; a point that would exceed them by an estimate is refused before the study begins, and one that does so
    ends it, with what was finished kept: `LimitError` names the point.  Ctrl-C raises
    `varicap.errors.InterruptedSweep`, a `KeyboardInterrupt`, which reports how many runs are kept, and where.

    `controls` and `queues` bring what is written in Python, as `varicap.run` explains; other processes get it by value
    where it is of a file that `varicap.plugins` has read, and as pickling does otherwise.  Such runs go on one core
    unless `jobs` or `on` says more.  A folder resumes only with the same files.

    With ``engine="kernel"`` Linux's own TCP answers, in the simulated time of the kernel `kernel_name`, under the same
    random numbers: `kernel` and `modules` are as `varicap.run` explains them.  A run in a guest begins with a boot, and
    its limits are those of the guest: its processor time and its memory.

    With ``engine="model"`` the model engine answers at each point instead, in this process and without runs: the result
    has a `table` with a row for each point and flow, which a `folder` gets as ``models.parquet``.  Of the options it
    uses those that choose points.  Raises `NotApplicableError` if no model fits at any point.

    Raises `DesignError`, `StudyError`, `WorkersError`, and `ScenarioError` for the first point that is invalid.

    >>> study = sweep("examples/fixed.toml", {"flows.reno.tcp.congestion": ["reno", "cubic"]}, seeds=2,
    ...     overrides={"duration": "15 s"})
    >>> [row["flows.reno.tcp.congestion"] for row in study.summary.to_pylist() if row["measure"] == "goodput_bps"]
    ['reno', 'cubic']
    """
    if engine != "kernel" and any(each is not None for each in (kernel, clock, kernel_name, modules)):
        raise ValueError(f"`kernel`, `clock`, `kernel_name` and `modules` are for engine='kernel', not {engine!r}")
    base = load(scenario, overrides)
    axes = axes_of(over) if isinstance(over, Mapping) else list(over)
    base_seed = base.seed if seed is None else seed
    chosen = points(axes, design, count, base_seed)
    text = base.to_json()
    template = _core.Template(text, base.name, base.base_dir, option="--over")
    if engine == "model":
        from varicap.study.models import save, solve_all

        with shown(progress, base.name) as watched:
            answered = solve_all(base, chosen, partial(_at, template), watched)
        return answered if folder is None else save(answered, base, Path(folder))
    if engine not in engines.ENGINES:
        raise ValueError(f"the engine of a sweep is one of {', '.join(engines.ENGINES)}, not {engine!r}")
    guests: Guests | None = None
    if engine == "kernel":
        from varicap.study import in_guests

        guests = in_guests.chosen(kernel, clock, kernel_name, modules)
    own = plugins.used(json.loads(text), controls, queues, [pair for point in chosen for pair in point])
    if own and engine != "kernel" and on is None and executor is None:
        jobs = jobs or 1
    runs = base.seeds if seeds is None else seeds
    limits = Limits(max_memory, max_time, uuid.uuid4().hex)
    at_a_time = 1 if on is not None or executor is not None else min(jobs or os.cpu_count() or 1, runs * len(chosen))
    used, exact = _checked(template, chosen, limits, at_a_time)
    traces = dict(base.trace_files()) | used
    plan: dict[str, Any] = {
        "study_version": STUDY_VERSION,
        "scenario": json.loads(text),
        "points": [dict(point) for point in chosen],
        "seed": base_seed,
        "traces": {name: sha256(path) for name, path in traces.items()},
        **({} if guests is None else guests.described()),
        **described(own),
    }
    digests = tuple(plan["traces"].items())
    wanted = {"seeds": runs, "precision": precision, "max_seeds": max_seeds if precision else None}

    def make(spans: tuple[Span, ...]) -> Task:
        at = tuple(chosen[span.point] for span in spans)
        return Task(text, base.base_dir, base_seed, spans, at, digests, limits, guests, own)

    with tempfile.TemporaryDirectory() as scratch:
        store = Folder(Path(scratch) if folder is None else Path(folder), chosen, notify)
        store.open(plan)
        try:
            copies = {} if folder is None else store.copy_traces(traces)
            workers = nullcontext((executor, jobs or 1)) if executor is not None else workers_on(on, jobs)
            begin = time.perf_counter()
            with shown(progress, base.name) as watched:
                tables, busy = _run_all(
                    *(store, make, len(chosen), wanted, exact, workers, piece_s, watched),
                    None if folder is None else store.path,
                )
            facts = {
                **plan,
                **wanted,
                "trace_files": copies,
                "exact": sorted(exact),
                "busy_s": round(busy, 3),
                "wall_s": round(time.perf_counter() - begin, 3),
            }
            study = Study(base.name, tuple(chosen), tables, None if folder is None else store.path, exact)
            if folder is not None:
                where = {"software": software(), "host": host()}
                store.publish(study, lambda digests: {**facts, "tables": digests, **where})
        finally:
            store.close()
    return study


def _checked(
    template: _core.Template, chosen: Sequence[Point], limits: Limits, at_a_time: int
) -> tuple[dict[str, Path], frozenset[int]]:
    """The traces of the points, each of which can be read and has runs within the limits, and which draw nothing."""
    traces: dict[str, Path] = {}
    exact: set[int] = set()
    first = 0
    while first < len(chosen):
        some = chosen[first : first + _CHECKED_TOGETHER]
        fitting, used, silent = template.fitting(some, budget=limits.budget(), at_a_time=at_a_time)
        traces |= used
        exact |= {first + place for place in silent}
        if fitting < len(some):
            # What is wrong with the first that does not fit.
            found = _at(template, some[fitting])
            check(limits, first + fitting, some[fitting], found, at_a_time)
            # Nothing any more: a file has come meanwhile.
            traces |= found.trace_files()
            exact |= {first + fitting} if found.draws_nothing else set()
            fitting += 1
        first += fitting
    return traces, frozenset(exact)


def _at(template: _core.Template, point: Point) -> _core.Scenario:
    """The scenario at a point; a mistake there is reported with the point."""
    try:
        return template.at(point)
    except _core.ScenarioError as error:
        where = "at the point " + ", ".join(f"{path}={value}" for path, value in point)
        raised = _core.ScenarioError(f"{error}; {where}")
        vars(raised).update(vars(error))
        raised.shown = f"{error.shown}\n  = {where}"
        raise raised from None


def _run_all(
    store: Folder,
    make: Callable[[tuple[Span, ...]], Task],
    count: int,
    wanted: Mapping[str, Any],
    exact: frozenset[int],
    workers: Any,
    piece_s: float,
    progress: Progress | None,
    kept: Path | None,
) -> tuple[Tables, float]:
    """Run what is missing, and more runs where a precision requires them; return all runs that were wanted."""
    busy = 0.0
    target = dict.fromkeys(range(count), int(wanted["seeds"]))
    with workers as (executor, number):
        while True:
            tables = store.read()
            missing = _missing(tables["links"], target)
            total = sum(target.values())
            shown = _Progress(total, total - sum(span.count for span in missing), progress)
            shown.add(0)

            def keep(piece: Piece, shown: _Progress = shown) -> None:
                nonlocal busy
                store.keep(piece.name, piece.tables)
                busy += piece.busy_s
                shown.add(sum(span.count for span in piece.spans))

            try:
                execute(make, missing, executor, number, piece_s, keep)
            except KeyboardInterrupt:
                # By what is there: it may have come between a part and its count.
                left = sum(span.count for span in _missing(store.read()["links"], target))
                raise InterruptedSweep(total - left, total, kept) from None
            tables = _only(store.read() if missing else tables, target)
            more = _more(tables, target, wanted, exact)
            if more == target:
                return tables, busy
            target = more


def _missing(links: pa.Table, target: Mapping[int, int]) -> list[Span]:
    """Runs that are wanted and missing, in order."""
    there = set(zip(links["point"].to_pylist(), links["replication"].to_pylist(), strict=True))
    spans: list[Span] = []
    for point, runs in target.items():
        for replication in range(runs):
            if (point, replication) in there:
                continue
            last = spans[-1] if spans else None
            if last is not None and last.point == point and last.first + last.count == replication:
                spans[-1] = Span(point, last.first, last.count + 1)
            else:
                spans.append(Span(point, replication, 1))
    return spans


def _only(tables: Tables, target: Mapping[int, int]) -> Tables:
    """The runs that are wanted; a folder may hold more, from an earlier command with more seeds."""
    most = pa.array([target[point] for point in sorted(target)], pa.int64())

    def wanted(rows: pa.Table) -> pa.Table:
        return rows.filter(pc.less(rows["replication"].cast(pa.int64()), most.take(rows["point"])))

    return {kind: wanted(rows) if rows.num_rows else rows for kind, rows in tables.items()}


def _more(tables: Tables, target: dict[int, int], wanted: Mapping[str, Any], exact: frozenset[int]) -> dict[int, int]:
    """How many runs each point needs for the precision, as far as the runs so far show."""
    if wanted["precision"] is None:
        return target
    grown = dict(target)
    for point, width in widest(tables, exact).items():
        more = more_runs(width, wanted["precision"], target[point])
        grown[point] = min(target[point] + more, max(target[point], wanted["max_seeds"]))
    return grown
