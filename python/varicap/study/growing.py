"""A study whose points are chosen as it goes: what was found at some decides which come next.

It has the folder of a study, with ``points.json`` for the points so far, so that a search that was killed finds its
runs again, and what reads studies (`varicap report`, `plot`, `table`) reads it once it is published.
"""

import json
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import varicap._core as _core
from varicap._files import sha256
from varicap.errors import InterruptedSweep
from varicap.plugins import Extensions
from varicap.results.manifest import host, software
from varicap.results.study import STUDY_VERSION, Study
from varicap.results.summary import Point, Tables
from varicap.study.budget import Limits, check
from varicap.study.store import Folder, unpack
from varicap.study.work import NOTHING, Piece, Span, Task, described, execute, workers_on

ABSENT = "–"
"""Stands for the value of a key that a point does not have, where tables want one for each key."""


class Growing:
    """Runs of one scenario at points that are added while it is open; use `growing` to open one."""

    def __init__(
        self,
        base: _core.Scenario,
        store: Folder,
        points: list[Point],
        plan: Mapping[str, Any],
        workers: tuple[Executor, int],
        limits: Limits,
        heard: Callable[[Tables], None],
        kept: Path | None,
        piece_s: float,
        own: Extensions = NOTHING,
    ) -> None:
        self.base = base
        self.points = points
        self.there: dict[int, set[int]] = {}
        """Replications that are finished, by point."""
        self._text = base.to_json()
        self._template = _core.Template(self._text, base.name, base.base_dir, option="--vary")
        self._store, self._plan, self._workers, self._limits = store, plan, workers, limits
        self._heard, self._kept, self._piece_s, self._own = heard, kept, piece_s, own
        self._busy_s, self._begin = 0.0, time.perf_counter()
        self._digests: dict[str, str] = dict(plan["traces"])
        self._paths = dict(base.trace_files())
        self._exact: dict[int, bool] = {}
        self._take_up()

    def _take_up(self) -> None:
        self.points += self._store.read_points()
        found = self._store.read()
        self._note(found)
        if found["links"].num_rows:
            self._heard(found)

    def add(self, point: Point) -> int:
        """The number of a point, which is checked if it is new.  Raises `ScenarioError` and `LimitError`."""
        if point in self.points:
            return self.points.index(point)
        scenario = self._template.at(point)
        check(self._limits, len(self.points), point, scenario, self._workers[1])
        for name, path in dict(scenario.trace_files()).items():
            self._paths[name] = path
            if name not in self._digests:
                self._digests[name] = sha256(path)
        self._exact[len(self.points)] = scenario.draws_nothing
        self.points.append(point)
        self._store.write_points()
        return len(self.points) - 1

    def is_exact(self, number: int) -> bool:
        """Whether nothing is drawn at a point, so that all runs are one."""
        if number not in self._exact:
            self._exact[number] = self._template.at(self.points[number]).draws_nothing
        return self._exact[number]

    def missing(self, wanted: Mapping[int, range]) -> list[Span]:
        """Runs that are not there, in the order of points and replications."""
        spans: list[Span] = []
        for point, replications in wanted.items():
            for replication in replications:
                if replication in self.there.get(point, ()):
                    continue
                last = spans[-1] if spans else None
                if last is not None and last.point == point and last.first + last.count == replication:
                    spans[-1] = Span(point, last.first, last.count + 1)
                else:
                    spans.append(Span(point, replication, 1))
        return spans

    def run(self, wanted: Mapping[int, range], until: float = inf) -> None:
        """Make the runs of these points that are missing, and pass on what they found.

        After the instant `until` of `time.monotonic` [s] no more pieces of them are begun.
        """
        spans = self.missing(wanted)
        if not spans:
            return
        try:
            execute(self._task, spans, *self._workers, self._piece_s, self._keep, until)
        except KeyboardInterrupt:
            self._note(self._store.read())  # it may have come between a part and its count
            done = sum(map(len, self.there.values()))
            raise InterruptedSweep(done, done + sum(span.count for span in self.missing(wanted)), self._kept) from None

    def _task(self, spans: tuple[Span, ...]) -> Task:
        points = tuple(self.points[span.point] for span in spans)
        seed = self._plan["seed"]
        digests = tuple(self._digests.items())
        return Task(self._text, self.base.base_dir, seed, spans, points, digests, self._limits, own=self._own)

    def _keep(self, piece: Piece) -> None:
        self._store.keep(piece.name, piece.tables)
        self._busy_s += piece.busy_s
        found = unpack(piece.tables)
        self._note(found)
        self._heard(found)

    def _note(self, found: Tables) -> None:
        links = found["links"]
        for point, run in zip(links["point"].to_pylist(), links["replication"].to_pylist(), strict=True):
            self.there.setdefault(point, set()).add(run)

    def publish(self, points: Sequence[int], facts: Mapping[str, Any]) -> Study:
        """The runs of these points as a study, which is written into the folder if there is one."""
        tables = {kind: _of(rows, points) for kind, rows in self._store.read().items()}
        chosen = [point for number, point in enumerate(self.points) if number in set(points)]
        keys = list(dict.fromkeys(key for point in chosen for key, _ in point))
        filled = tuple(tuple((key, dict(self.points[number]).get(key, ABSENT)) for key in keys) for number in points)
        exact = frozenset(place for place, number in enumerate(points) if self.is_exact(number))
        study = Study(self.base.name, filled, tables, self._kept, exact)
        if self._kept is not None:
            manifest = {
                **self._plan,
                "points": [dict(point) for point in filled],
                "traces": self._digests,
                "trace_files": self._store.copy_traces(self._paths),
                **facts,
                "exact": sorted(exact),
                "busy_s": round(self._busy_s, 3),
                "wall_s": round(time.perf_counter() - self._begin, 3),
            }
            where = {"software": software(), "host": host()}
            self._store.publish(study, lambda digests: {**manifest, "tables": digests, **where})
        return study

    def describe(self, answer: Mapping[str, Any]) -> None:
        """Write what the runs were made for, and what they answer, beside them."""
        self._store.write_json("design.json", answer)


def _of(rows: pa.Table, points: Sequence[int]) -> pa.Table:
    """The rows of some points, numbered in their order."""
    if not rows.num_rows:
        return rows
    place = {number: at for at, number in enumerate(points)}
    numbers = rows["point"].to_pylist()
    kept = [at for at, number in enumerate(numbers) if number in place]
    chosen = rows.take(pa.array(kept, pa.int64()))
    renumbered = pa.array([place[numbers[at]] for at in kept], pa.int64())
    at = chosen.schema.get_field_index("point")
    chosen = chosen.set_column(at, chosen.schema.field("point"), renumbered)
    order = pa.array(range(chosen.num_rows), pa.int64())
    keys = [("point", "ascending"), ("replication", "ascending"), ("place", "ascending")]
    return chosen.append_column("place", order).sort_by(keys).drop_columns(["place"]).combine_chunks()


@contextmanager
def growing(
    base: _core.Scenario,
    asked: Mapping[str, Any],
    heard: Callable[[Tables], None],
    *,
    seed: int,
    folder: str | Path | None = None,
    on: str | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    max_memory: str | None = None,
    max_time: str | None = None,
    piece_s: float = 1.0,
    own: Extensions = NOTHING,
    notify: Callable[[str], None] = warnings.warn,
) -> Iterator[Growing]:
    """A study that is open for points; a `folder` takes up what is in it if it was `asked` the same.

    `heard` gets the tables of all runs that are finished, those of a folder first.
    """
    plan = {
        "study_version": STUDY_VERSION,
        "scenario": json.loads(base.to_json()),
        "asked": dict(asked),
        "seed": seed,
        "traces": {name: sha256(path) for name, path in dict(base.trace_files()).items()},
        **described(own),
    }
    limits = Limits(max_memory, max_time, uuid.uuid4().hex)
    with ExitStack() as stack:
        scratch = Path(folder) if folder is not None else Path(stack.enter_context(TemporaryDirectory()))
        points: list[Point] = []
        store = Folder(scratch, points, notify, is_planned=False)
        store.open(plan)
        stack.callback(store.close)
        if executor is not None:
            workers = executor, jobs or 1
        else:
            workers = stack.enter_context(workers_on(on, jobs or (None if on else 1 if own else os.cpu_count())))
        kept = None if folder is None else store.path
        yield Growing(base, store, points, plan, workers, limits, heard, kept, piece_s, own)
