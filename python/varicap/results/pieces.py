"""Finished work in a folder that survives the death of the process: what was asked, and parts that end in a digest.

```text
plan.json            what was asked; a folder that was asked for something else is refused
parts/               finished runs, each file written under another name and then renamed; it ends in its digest
*.damaged            what was found changed, set aside: its runs are repeated
lock                 held by the process that is at work on it
```
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import IO, Any

UNFINISHED = "unfinished"
"""The folder, in that of a command's results, of the runs that it has finished while others go on."""

_MAGIC = b"varicap part 1\n"
"""Between the content of a part and its digest."""


class StudyError(Exception):
    """A folder that cannot hold this study, and why.  Finished runs are kept."""


class InUseError(StudyError):
    """A folder on which another process is at work."""


class AnotherError(StudyError):
    """A folder that was asked for something else."""

    def __init__(self, folder: Path, keys: list[str]) -> None:
        differs = ", ".join(keys)
        super().__init__(f"{folder}: holds another study (it differs in: {differs}); choose another folder")
        self.keys = keys
        """What differs."""


class Pieces:
    """A folder of finished work, locked for one process at a time."""

    def __init__(self, path: Path, suffix: str, notify: Callable[[str], None] = lambda _: None) -> None:
        self.path = path
        self.parts = path / "parts"
        self._suffix = suffix
        self._notify = notify
        self._plan = b""
        self._lock: IO[str] | None = None

    def open(self, plan: Mapping[str, Any]) -> None:
        """Make the folder, or take up what is in it; raises `StudyError` if that is something else."""
        with reported(self.path):
            self.parts.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / "lock").open("w")
            try:
                self._take_up(plan)
            except BaseException:
                self.close()
                raise

    def _take_up(self, plan: Mapping[str, Any]) -> None:
        if not _locked(self._lock):
            raise InUseError(f"{self.path}: another process is at work on this study")
        for unfinished in self.parts.glob(".*.tmp"):
            unfinished.unlink()
        file = self.path / "plan.json"
        text = json.dumps(plan, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        self._plan = text.encode()
        before = plan_in(file) if file.exists() else None
        if before is not None:
            _refuse_another(file, before, json.loads(text))
            return
        if file.exists():
            self.set_aside(file, "not the plan of a study; it is written again")
        self.write(file, self._plan)

    def close(self) -> None:
        """Release the folder's lock."""
        if self._lock is not None:
            self._lock.close()

    def remove(self) -> None:
        """Remove what was written here, and the folder if nothing else is in it.

        The plan remains beside what is damaged, which belongs to it.
        """
        with reported(self.path):
            for part in self.parts.glob(f"*{self._suffix}"):
                part.unlink()
            if any(self.parts.iterdir()):
                return
            self.parts.rmdir()
            self.close()
            for name in ("plan.json", "plan.json.damaged", "lock"):
                (self.path / name).unlink(missing_ok=True)
            if not any(self.path.iterdir()):
                self.path.rmdir()

    def add(self, name: str, piece: bytes) -> None:
        """Keep a piece of finished runs: all of it or nothing."""
        with reported(self.path):
            self.write(self.parts / f"{name}{self._suffix}", piece + _MAGIC + self._digest(piece))

    def whole(self) -> Iterator[tuple[Path, bytes]]:
        """The pieces, by the names of their files; what is not as it was written is set aside."""
        with reported(self.path):
            for file in sorted(self.parts.glob(f"*{self._suffix}")):
                piece, magic, digest = file.read_bytes().rpartition(_MAGIC)
                if magic and digest == self._digest(piece):
                    yield file, piece
                else:
                    self.set_aside(file, "not as it was written; its runs are repeated")

    def _digest(self, piece: bytes) -> bytes:
        """A digest of a part and of the plan that it belongs to."""
        return hashlib.sha256(self._plan + piece).hexdigest().encode()

    def set_aside(self, file: Path, why: str) -> None:
        """Rename a file so that nothing reads it, and say so."""
        file.replace(file.with_name(f"{file.name}.damaged"))
        self._notify(f"{file}: {why} (kept as {file.name}.damaged)")

    def write(self, path: Path, content: bytes) -> Path:
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


def free(place: Path) -> Path:
    """The first free name beside a folder: its own with a number."""
    return next(path for number in count(1) if not (path := place.with_name(f"{place.name}-{number}")).exists())


def plan_in(file: Path) -> dict[str, Any] | None:
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
        raise AnotherError(file.parent, keys)


@contextlib.contextmanager
def reported(path: Path) -> Iterator[None]:
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
