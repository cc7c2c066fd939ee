"""Runs of a study: in pieces of about a second, by any executor, each run once."""

import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import varicap._core as _core
from varicap import policies
from varicap._files import sha256
from varicap._printable import PrintableError
from varicap.errors import NotApplicableError
from varicap.plugins import Extensions
from varicap.results.pieces import StudyError
from varicap.results.summary import KINDS, Point, Tables
from varicap.results.tables import arrow, plain
from varicap.study.budget import NO_LIMITS, Limits, named, where
from varicap.study.store import pack

if TYPE_CHECKING:
    from varicap.study.in_guests import Guests


NOTHING = Extensions()


def described(own: Extensions) -> dict[str, Any]:
    """What is written in Python, for the plan of a study.

    What no file defines may be another thing next time, and makes each study one of its own.
    """
    if not own:
        return {}
    return {"plugins": {name: origin or {"unknown": uuid.uuid4().hex} for name, origin in own.origins.items()}}


class WorkersError(PrintableError):
    """The workers that should execute the runs cannot be reached, or lack something."""


@dataclass(frozen=True)
class Span:
    """Replications `first` to `first + count - 1` of a point."""

    point: int
    first: int
    count: int


@dataclass(frozen=True)
class Task:
    """Runs for a worker, with all that it needs; traces are read from `base_dir` on the worker's machine."""

    scenario: str
    base_dir: str
    seed: int
    spans: tuple[Span, ...]
    points: tuple[Point, ...]
    """The point of each span."""
    traces: tuple[tuple[str, str], ...] = ()
    """The digest of each trace of the study, by its name in the scenario."""
    limits: Limits = NO_LIMITS
    guests: "Guests | None" = None
    """The kernel that runs them; None is the simulator."""
    own: Extensions = NOTHING
    """What is written in Python."""


@dataclass(frozen=True)
class Piece:
    """The results of finished runs."""

    spans: tuple[Span, ...]
    tables: bytes
    busy_s: float
    """Time that the simulations took [s]."""

    @property
    def name(self) -> str:
        """The name of the piece; no other piece begins with the same run."""
        return f"{self.spans[0].point:07d}-{self.spans[0].first:07d}"


class _StoppedError(Exception):
    """The study was interrupted while the runs of a piece went on."""


_thread = threading.local()
"""In a thread of this process: `stop`, which is set when runs are to end."""


def _heed(stop: threading.Event) -> None:
    _thread.stop = stop


def _go_on(_share: float, _done: int) -> None:
    """Raise `_StoppedError`, which ends the runs of a piece, if the study was interrupted."""
    stop = getattr(_thread, "stop", None)
    if stop is not None and stop.is_set():
        raise _StoppedError


def run(task: Task) -> Piece:
    """Simulate the runs of a task; it gives the same tables wherever and however often it runs."""
    points = dict(zip((span.point for span in task.spans), task.points, strict=True))
    if task.guests is not None:
        return _in_guests(task, task.guests)
    try:
        found, used, busy = _template(task.scenario, task.base_dir).run(
            [(span.point, points[span.point], span.first, span.count) for span in task.spans],
            seed=task.seed,
            budget=task.limits.budget(),
            policies=policies.supplied,
            controls=task.own.controls or None,
            queues=task.own.queues or None,
            progress=_go_on,
        )
    except _core.LimitError as error:
        if error.point is None:
            raise
        raise named(error, error.point, points[error.point]) from None
    _refuse_other_traces(task, dict(used))
    tables = {kind: arrow(plain(columns)) for kind, columns in zip(KINDS, found, strict=True)}
    return Piece(task.spans, pack(tables), busy)


def _in_guests(task: Task, guests: "Guests") -> Piece:
    """Run a task's runs in guests, one after the other."""
    from varicap.engines.guests import Limits as OfGuests
    from varicap.study import in_guests

    template = _template(task.scenario, task.base_dir)
    tables: list[Tables] = []
    busy = 0.0
    for span, point in zip(task.spans, task.points, strict=True):
        scenario = template.at(point)
        _refuse_other_traces(task, dict(scenario.trace_files()))
        try:
            found, took = in_guests.run(
                guests,
                span.point,
                scenario,
                range(span.first, span.first + span.count),
                task.seed,
                lambda: OfGuests(task.limits.max_memory, task.limits.max_time),
                lambda: _go_on(0.0, 0),
            )
        except _core.LimitError as error:
            raise named(error, span.point, point) from None
        except NotApplicableError as error:
            raise NotApplicableError(f"{where(span.point, point)}: {error}") from None
        tables.append(found)
        busy += took
    joined = {kind: pa.concat_tables([each[kind] for each in tables]) for kind in KINDS}
    return Piece(task.spans, pack(joined), busy)


@lru_cache(maxsize=4)
def _template(text: str, base_dir: str) -> _core.Template:
    """The scenario of a study, whose text each process parses once."""
    return _core.Template(text, "scenario", base_dir)


def _refuse_other_traces(task: Task, used: Mapping[str, Path]) -> None:
    """Raise `StudyError` if a trace that was read is not the one that the study began with."""
    planned = dict(task.traces)
    for name, path in used.items():
        try:
            same = sha256(path) == planned[name]
        except OSError:
            same = False
        if not same:
            raise StudyError(
                f"{path}: the trace is not the one that the study began with; what was finished is kept: "
                "put the trace back, or choose another folder"
            )


def execute(
    make: Callable[[tuple[Span, ...]], Task],
    spans: Iterable[Span],
    executor: Executor,
    workers: int,
    piece_s: float,
    done: Callable[[Piece], None],
    until: float = inf,
) -> None:
    """Hand out the runs of `spans`, and pass each finished piece to `done`, in the order in which they finish.

    A piece keeps a worker busy for `piece_s`: long compared with handing it out, short enough to lose.  After a run
    that exceeded a limit, and after the instant `until` of `time.monotonic` [s], no more pieces are handed out, and
    those that no worker has begun are taken back; those under way are finished first, with all of their runs.
    """
    pending = deque(spans)
    pieces = _Pieces(pending, workers, piece_s)
    running: set[Future[Piece]] = set()
    exceeded: _core.LimitError | None = None
    try:
        while running or (pending and exceeded is None):
            left_s = until - time.monotonic()
            if left_s <= 0:
                pending.clear()
                running = {future for future in running if not future.cancel()}
            while pending and exceeded is None and len(running) < 2 * workers:
                running.add(executor.submit(run, make(pieces.take())))
            if not running:
                break
            # Woken at the instant, too: a worker that is done would begin the next piece that waits for it.
            timeout = min(left_s, threading.TIMEOUT_MAX) if left_s > 0 else None
            finished, running = wait(running, timeout, FIRST_COMPLETED)
            for future in finished:
                try:
                    piece = future.result()
                except _core.LimitError as error:
                    exceeded = exceeded or error
                    running = {other for other in running if not other.cancel()}
                    continue
                pieces.learn(piece)
                done(piece)
    except BaseException:
        for future in running:
            future.cancel()
        raise
    if exceeded is not None:
        raise _core.LimitError(f"{exceeded}; what was finished is kept") from exceeded


_MOST_WORKERS = 4096
_LEAST_S = 0.02
"""What is shared out further would take longer to keep than to simulate [s]."""


class _Pieces:
    """Cuts spans into pieces of a given duration, estimated from the runs before."""

    def __init__(self, pending: deque[Span], workers: int, piece_s: float = 1.0) -> None:
        self.piece_s = piece_s
        self.pending = pending
        self.left = sum(span.count for span in pending)
        self.workers = workers
        self.run_s: float | None = None

    def learn(self, piece: Piece) -> None:
        each = piece.busy_s / sum(span.count for span in piece.spans)
        self.run_s = each if self.run_s is None else 0.7 * self.run_s + 0.3 * each

    def take(self) -> tuple[Span, ...]:
        """The next runs: as many as a piece holds, but no more than an equal share of what is left, if that is long."""
        many, few = (1, 1) if self.run_s is None else (int(s / max(self.run_s, 1e-6)) for s in (self.piece_s, _LEAST_S))
        room = max(1, min(many, max(few, -(-self.left // (2 * self.workers)))))
        taken = []
        while room and self.pending:
            span = self.pending.popleft()
            if span.count > room:
                self.pending.appendleft(Span(span.point, span.first + room, span.count - room))
                span = Span(span.point, span.first, room)
            taken.append(span)
            room -= span.count
            self.left -= span.count
        return tuple(taken)


@contextmanager
def workers_on(on: str | None, jobs: int | None) -> Iterator[tuple[Executor, int]]:
    """An executor for the runs, and how many run at a time: cores, ``local:N`` processes, or ``tcp://host:port``."""
    if on is None:
        count = jobs or os.cpu_count() or 1
        stop = threading.Event()
        # The engine releases the interpreter's lock.
        pool = ThreadPoolExecutor(count, initializer=_heed, initargs=(stop,))
        try:
            yield pool, count
        except KeyboardInterrupt:
            # Runs end at their next pause, which is not waited for.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()
        return
    try:
        import distributed
    except ImportError:
        raise WorkersError("--on needs Dask: install varicap[cluster]") from None
    with _client(distributed, on) as client:
        client.wait_for_workers(1, timeout=60)
        count = sum(client.nthreads().values())
        yield client.get_executor(pure=False, retries=10), max(1, count)


def _workers(on: str, number: str) -> int:
    if not (number.isascii() and number.isdigit() and 1 <= int(number[:10]) <= _MOST_WORKERS):
        raise ValueError(f"`{number}` is not a number of processes from 1 to {_MOST_WORKERS}")
    return int(number)


@contextmanager
def _client(distributed: Any, on: str) -> Iterator[Any]:
    kind, _, rest = on.partition(":")
    try:
        if kind == "local":
            count = _workers(on, rest)
            with (
                distributed.LocalCluster(
                    count, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield client
        else:
            with distributed.Client(on, timeout=5) as client:
                yield client
    except (OSError, ValueError, TimeoutError) as error:
        raise WorkersError(f"--on {on}: {error or 'nobody answers'}") from error
