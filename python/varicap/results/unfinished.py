"""Finished runs of a command while others go on, in the folder of its results: the same command goes on where it was.

```text
FOLDER/unfinished/     plan.json, parts/ and lock of `varicap.results.pieces`; gone once the results are written
```

A folder of that name that something else made is left alone.

A part has a line of JSON, the replication and the length of each run, and the bytes of the runs.  Runs of less than a
second leave none, since the folder is made when the first part is written.
"""

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import varicap._core as _core
from varicap._files import sha256
from varicap._folders import Folder, parsed
from varicap.results.manifest import Request
from varicap.results.pieces import UNFINISHED, AnotherError, InUseError, Pieces, StudyError, free, plan_in, reported

_EVERY_S = 1.0
"""Parts are written at this interval [s], and when runs are interrupted."""

_SUFFIX = ".runs"
_PLAN = {"version", "engine", "scenario", "seed", "traces"}
"""Keys of the plan of unfinished runs, in this version and in earlier ones."""

Runs = list[tuple[int, bytes]]
"""Replications, each with the bytes of which `_core.results` makes results."""


def plan_of(request: Request) -> dict[str, Any]:
    """What makes finished runs those of another command: everything but how many are wanted."""
    core = Path(_core.__file__).stat()
    return {
        "version": _core.__version__,
        # What is built twice of one version may still differ.
        "core": {"bytes": core.st_size, "mtime_ns": core.st_mtime_ns},
        "linux": platform.release() if request.engine == "kernel" and request.guest is None else None,
        "guest": None if request.guest is None else asdict(request.guest),
        "modules": dict(request.modules),
        "engine": request.engine,
        "kernel": request.kernel,
        "scenario": json.loads(request.scenario.to_json()),
        "seed": request.seed,
        "series": request.series,
        "packets": request.packets,
        "traces": {name: sha256(path) for name, path in request.scenario.trace_files()},
    }


def discard(folder: Path, request: Request, notify: Callable[[str], None]) -> None:
    """Remove the finished runs of a request from the folder of its results, which have been written.

    Those of another request remain, as do those of another process that is at work, and all of them while there are
    more than the request has: a request with more runs goes on with them.
    """
    place = folder / UNFINISHED
    pieces = Pieces(place, _SUFFIX, notify, is_inner=True)
    try:
        with reported(place):
            found = _ours(folder)
            if not found or found != (plan := plan_of(request)):
                return
        pieces.open(plan)
        if all(replication < request.runs for _, runs in pieces.whole(_runs_in) for replication in runs):
            pieces.remove()
    except InUseError:
        return
    except StudyError as error:
        notify(str(error))
    finally:
        pieces.close()


class Unfinished:
    """The finished runs of a command; `with` releases the folder in the end."""

    def __init__(
        self,
        folder: Path,
        plan: Mapping[str, Any],
        notify: Callable[[str], None],
        restore: Callable[[list[bytes]], object] = lambda _: None,
    ) -> None:
        """Take up what a folder has of runs that are to `restore` without a `RunError`."""
        self.folder = folder
        self._restore = restore
        self.there: dict[int, bytes] = {}
        """What was finished before, by replication."""
        self._plan = plan
        self._notify = notify
        self._pieces: Pieces | None = Pieces(folder / UNFINISHED, _SUFFIX, notify, is_inner=True)
        self._is_open = False
        self._waiting: Runs = []
        self._written_s = time.monotonic()
        if is_unfinished(folder) and self._open():
            self._read()

    def __enter__(self) -> "Unfinished":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._pieces is not None:
            self._pieces.close()

    @property
    def keeps(self) -> bool:
        """Whether there is a place for runs, as far as is known."""
        return self._pieces is not None

    def add(self, runs: Sequence[tuple[int, bytes]]) -> None:
        """Keep runs: in memory for a second at most, if more of them come."""
        self._waiting += runs
        if time.monotonic() - self._written_s >= _EVERY_S:
            self.write()

    def write(self) -> None:
        """Write what is only in memory."""
        self._written_s = time.monotonic()
        if not self._waiting or not self._open() or self._pieces is None:
            return
        runs, self._waiting = sorted(self._waiting), []
        head = json.dumps([[replication, len(run)] for replication, run in runs])
        self._pieces.add(f"{runs[0][0]:07d}", b"\n".join([head.encode(), b"".join(run for _, run in runs)]))

    def _open(self) -> bool:
        """Whether runs can be kept: the folder is made, or taken up, when this is first asked."""
        if self._is_open or self._pieces is None:
            return self._is_open
        place = self._pieces.path
        with reported(place):
            is_usable = not is_unfinished(self.folder) or _ours(self.folder) is not None
        if not is_usable:
            self._notify(f"{place}: not a folder of unfinished runs; these runs are not kept until they are done")
            self._pieces = None
            return False
        try:
            self._pieces.open(self._plan)
        except InUseError:
            self._notify(f"{place}: of another process that is at work; these runs are not kept until they are done")
            self._pieces = None
            return False
        except AnotherError as error:
            moved = free(place)
            with reported(place), Folder(self.folder) as outer:
                outer.move(place.name, moved.name)
            self._notify(f"{place}: runs of another command (it differs in: {', '.join(error.keys)}), now in {moved}")
            return False
        self._is_open = True
        return True

    def _read(self) -> None:
        assert self._pieces is not None  # noqa: S101 - it is open
        for name, runs in self._pieces.whole(self._restorable):
            if self.there.keys() & runs.keys():
                self._pieces.set_aside(self._pieces.parts, name, "has runs that another part has")
            else:
                self.there |= runs

    def _restorable(self, piece: bytes) -> dict[int, bytes]:
        """The bytes of each run.  Raises ``ValueError`` for what is no part, or of which no results can be made."""
        runs = _runs_in(piece)
        for replication, run in runs.items():
            try:
                self._restore([run])
            except _core.RunError as error:
                raise ValueError(f"run {replication} is none ({error})") from None
        return runs


def is_unfinished(folder: Path) -> bool:
    """Whether a folder, which need not exist, has one of unfinished runs, or another of that name.

    Raises `FolderError` for a link of that name.
    """
    if not folder.is_dir():
        return False
    with Folder(folder) as there:
        return there.is_folder(UNFINISHED)


def _ours(folder: Path) -> dict[str, Any] | None:
    """The plan of unfinished runs in a folder; None if there are none.

    Something else of the same name may hold what nobody can replace.  A process that ended at once wrote no plan.
    """
    if not is_unfinished(folder):
        return None
    with Folder(folder) as outer, outer.within(UNFINISHED) as place:
        if place.is_file("plan.json"):
            plan = plan_in(place) or {}
            return plan if plan.keys() >= _PLAN else None
        names = set(place.names())
        is_begun = names <= {"lock", "parts", ".plan.json.tmp"} and not ("lock" in names and place.read("lock"))
        if not is_begun or not place.is_folder("parts"):
            return {} if is_begun else None
        with place.within("parts") as parts:
            return None if parts.names() else {}


def _runs_in(piece: bytes) -> dict[int, bytes]:
    """The bytes of each run.  Raises ``ValueError`` for what is no part."""
    head, _, rest = piece.partition(b"\n")
    runs = {}
    begin = 0
    lengths = parsed(head)
    if not isinstance(lengths, list) or not all(_is_pair(each) for each in lengths):
        raise ValueError("not the lengths of runs")
    for replication, length in lengths:
        runs[replication] = rest[begin : begin + length]
        begin += length
    if begin != len(rest):
        raise ValueError("not as long as its runs")
    return runs


def _is_pair(value: Any) -> bool:
    """Whether a value is a replication and the length of its run."""
    return isinstance(value, list) and len(value) == 2 and all(type(each) is int and each >= 0 for each in value)
