"""The folder of a study: what was asked, the finished runs, and the tables once all are finished.

```text
plan.json            what was asked; a command that asks for something else is refused
parts/               finished runs, each file written under another name and then renamed; it ends in its digest
*.damaged            what was found changed, set aside: its runs are repeated
flows.parquet …      the tables of all runs, written when all are done, the same bytes after any interruptions
manifest.json        the same facts for readers, with versions, host and digests
```
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from varicap.results.summary import KINDS, Tables

_MAGIC = b"varicap part 1\n"
"""Between the tables of a part and its digest."""


class StudyError(Exception):
    """A folder that cannot hold this study, and why.  Finished runs are kept."""


class Folder:
    """A study's folder, locked for one process at a time."""

    def __init__(self, path: Path, notify: Callable[[str], None] = lambda _: None) -> None:
        self.path = path
        self.parts = path / "parts"
        self._notify = notify
        self._plan = b""
        self._lock: IO[str] | None = None

    def open(self, plan: Mapping[str, Any]) -> None:
        """Make the folder, or take up the study in it; raises `StudyError` if it holds another one."""
        with _reported(self.path):
            self.parts.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / "lock").open("w")
            try:
                self._take_up(plan)
            except BaseException:
                self.close()
                raise

    def _take_up(self, plan: Mapping[str, Any]) -> None:
        if not _locked(self._lock):
            raise StudyError(f"{self.path}: another process is at work on this study")
        for unfinished in self.parts.glob(".*.tmp"):
            unfinished.unlink()
        file = self.path / "plan.json"
        text = json.dumps(plan, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        self._plan = text.encode()
        before = _plan_in(file) if file.exists() else None
        if before is not None:
            _refuse_another(file, before, json.loads(text))
            return
        if file.exists():
            self._set_aside(file, "not the plan of a study; it is written again")
        self._write(file, self._plan)

    def close(self) -> None:
        """Release the folder's lock."""
        if self._lock is not None:
            self._lock.close()

    def add(self, name: str, piece: bytes) -> None:
        """Keep a piece of finished runs: all of it or nothing."""
        with _reported(self.path):
            self._write(self.parts / f"{name}.arrow", piece + _MAGIC + self._digest(piece))

    def read(self) -> Tables:
        """All finished runs, in the order of points and replications; empty tables if there are none.

        A part that is not as it was written, or has runs that another has, is set aside as if it had never been.
        """
        pieces: list[Tables] = []
        known: set[tuple[int, int]] = set()
        with _reported(self.path):
            for file in sorted(self.parts.glob("*.arrow")):
                tables = self._part(file)
                if tables is None:
                    self._set_aside(file, "not as it was written; its runs are repeated")
                    continue
                runs = _runs(tables)
                if known & runs:
                    self._set_aside(file, "has runs that another part has")
                    continue
                known |= runs
                pieces.append(tables)
        return {kind: _sorted([piece[kind] for piece in pieces]) for kind in KINDS}

    def _part(self, file: Path) -> Tables | None:
        """The tables of a part of this study; None if it has another digest than that which it ends in."""
        piece, magic, digest = file.read_bytes().rpartition(_MAGIC)
        return unpack(piece) if magic and digest == self._digest(piece) else None

    def _digest(self, piece: bytes) -> bytes:
        """A digest of a part and of the plan that it belongs to."""
        return hashlib.sha256(self._plan + piece).hexdigest().encode()

    def _set_aside(self, file: Path, why: str) -> None:
        """Rename a file so that nothing reads it, and say so."""
        file.replace(file.with_name(f"{file.name}.damaged"))
        self._notify(f"{file}: {why} (kept as {file.name}.damaged)")

    def write_table(self, name: str, table: pa.Table) -> Path:
        """Write a table of the results."""
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        with _reported(self.path):
            return self._write(self.path / f"{name}.parquet", sink.getvalue().to_pybytes())

    def write_json(self, name: str, value: Any) -> Path:
        """Write an object as JSON."""
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        with _reported(self.path):
            return self._write(self.path / name, text.encode())

    def _write(self, path: Path, content: bytes) -> Path:
        """Write under a temporary name, and rename once all of it is on the disk."""
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        return path


def pack(tables: Tables) -> bytes:
    """Join several tables into one piece."""
    sink = pa.BufferOutputStream()
    for kind in KINDS:
        with pa.ipc.new_stream(sink, tables[kind].schema) as stream:
            stream.write_table(tables[kind])
    return bytes(sink.getvalue().to_pybytes())


def unpack(piece: bytes) -> Tables:
    """The tables of a piece."""
    source = pa.BufferReader(piece)
    return {kind: pa.ipc.open_stream(source).read_all() for kind in KINDS}


def _sorted(tables: list[pa.Table]) -> pa.Table:
    """Sort rows by point and replication; within a run they keep their order."""
    if not tables:
        return pa.table({"point": pa.array([], pa.int64()), "replication": pa.array([], pa.int64())})
    rows = pa.concat_tables(tables)
    place = pa.array(range(rows.num_rows), pa.int64())
    keys = [("point", "ascending"), ("replication", "ascending"), ("place", "ascending")]
    return rows.append_column("place", place).sort_by(keys).drop_columns(["place"]).combine_chunks()


def _runs(tables: Tables) -> set[tuple[int, int]]:
    """The point and the replication of each run."""
    links = tables["links"]
    return set(zip(links["point"].to_pylist(), links["replication"].to_pylist(), strict=True))


def _plan_in(file: Path) -> dict[str, Any] | None:
    """What was asked before; None if the file does not say."""
    try:
        plan = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None
    return plan if isinstance(plan, dict) else None


def _refuse_another(file: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Check that what was asked before is what is asked now."""
    keys = [key for key in dict.fromkeys((*before, *now)) if before.get(key) != now.get(key)]
    if keys:
        raise StudyError(
            f"{file.parent}: holds another study (it differs in: {', '.join(keys)}); choose another folder"
        )


@contextlib.contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Report what the file system refuses, with the folder's name."""
    try:
        yield
    except OSError as error:
        raise StudyError(f"{error.filename or path}: {error.strerror}; what was finished is kept") from error


def _locked(file: IO[str] | None) -> bool:
    """Try to take the lock, and say whether this process has it now; the lock ends with the process."""
    if file is None:
        return False
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
