"""Finished work in a folder that survives the death of the process: what was asked, and parts that end in a digest.

```text
plan.json            what was asked; a folder that was asked for something else is refused
parts/               finished runs, each file written under another name and then renamed; it ends in its digest
*.damaged            what was found changed, set aside: its runs are repeated
lock                 held by the process that is at work on it
```

Digests show what was changed by accident; they have no key, and whoever forges a part can make one for it.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from varicap._folders import Folder, parsed
from varicap._printable import PrintableError, printable
from varicap.results.names import UNFINISHED, refuse_foreign

__all__ = ["UNFINISHED", "AnotherError", "InUseError", "Pieces", "StudyError", "free", "plan_in", "reported"]

T = TypeVar("T")

_PLAN = "plan.json"
_MAGIC = b"varicap part 1\n"
"""Between the content of a part and its digest."""
_MOST_PART = 4_000_000_000
"""Bytes of a part: the runs of a second."""


class StudyError(PrintableError):
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

    def __init__(
        self, path: Path, suffix: str, notify: Callable[[str], None] = lambda _: None, *, is_inner: bool = False
    ) -> None:
        """A folder that somebody named or, if it `is_inner`, one in such a folder."""
        self.path = path
        self._is_inner = is_inner
        self._suffix = suffix
        self._notify = notify
        self._plan = b""
        self._held = contextlib.ExitStack()
        self._lock: BinaryIO | None = None

    def open(self, plan: Mapping[str, Any]) -> None:
        """Make the folder, or take up what is in it; raises `StudyError` if that is something else.

        Raises `FolderError` where what has a name of ours is no file or folder.
        """
        with reported(self.path):
            try:
                opened = Folder.inner if self._is_inner else Folder
                self.folder = self._held.enter_context(opened(self.path, make=True))
                refuse_foreign(self.folder)
                self.parts = self._held.enter_context(self.folder.within("parts", make=True))
                self._parts()
                self._parts(".tmp")
                self._take_up(plan)
            except BaseException:
                self.close()
                raise

    def _take_up(self, plan: Mapping[str, Any]) -> None:
        self._lock = self.folder.lock("lock")
        if self._lock is None:
            raise InUseError(f"{self.path}: another process is at work on this study")
        self._held.callback(self._lock.close)
        for name in self._parts(".tmp"):
            self.parts.remove(name)
        text = json.dumps(plan, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        self._plan = text.encode()
        before = plan_in(self.folder)
        if before is not None:
            _refuse_another(self.path, before, json.loads(text))
            return
        if self.folder.is_file(_PLAN):
            self.set_aside(self.folder, _PLAN, "not the plan of a study; it is written again")
        self.folder.write(_PLAN, self._plan, lasting=True)

    def close(self) -> None:
        """Release the folder's lock."""
        self._held.close()

    def remove(self) -> None:
        """Remove what was written here, and the folder if nothing else is in it.

        The plan remains beside what is damaged, which belongs to it.
        """
        with reported(self.path):
            for part in self._parts():
                self.parts.remove(part)
            if self.parts.names():
                return
            self.folder.remove_folder("parts")
            for name in (_PLAN, f"{_PLAN}.damaged", "lock"):
                self.folder.remove(name)
            is_empty = not self.folder.names()
            self.close()
            if is_empty:
                with Folder(self.path.parent) as above:
                    above.remove_folder(self.path.name)

    def add(self, name: str, piece: bytes) -> None:
        """Keep a piece of finished runs: all of it or nothing."""
        with reported(self.path):
            self.parts.write(f"{name}{self._suffix}", piece + _MAGIC + self._digest(piece), lasting=True)

    def whole(self, read: Callable[[bytes], T]) -> Iterator[tuple[str, T]]:
        """What can be `read` from the pieces, by the names of their files.

        What is not as it was written is set aside, and so is what raises ``ValueError``: no process of ours wrote that.
        """
        with reported(self.path):
            for name in self._parts():
                piece, magic, digest = self.parts.read(name, _MOST_PART).rpartition(_MAGIC)
                try:
                    if not magic or digest != self._digest(piece):
                        raise ValueError("not as it was written")
                    found = read(piece)
                except ValueError as error:
                    self.set_aside(self.parts, name, f"{error}; its runs are repeated")
                else:
                    yield name, found

    def _parts(self, suffix: str | None = None) -> list[str]:
        """The names of the parts, or of other files among them; each is a file."""
        ending = suffix or self._suffix
        return [name for name in self.parts.names() if name.endswith(ending) and self.parts.is_file(name)]

    def _digest(self, piece: bytes) -> bytes:
        """A digest of a part and of the plan that it belongs to."""
        return hashlib.sha256(self._plan + piece).hexdigest().encode()

    def set_aside(self, folder: Folder, name: str, why: str) -> None:
        """Rename a file so that nothing reads it, and say so."""
        folder.move(name, f"{name}.damaged")
        self._notify(printable(f"{folder.path / name}: {why} (kept as {name}.damaged)"))


def free(place: Path) -> Path:
    """The first free name beside a folder: its own with a number."""
    return next(path for number in count(1) if not (path := place.with_name(f"{place.name}-{number}")).exists())


def plan_in(folder: Folder) -> dict[str, Any] | None:
    """What was asked before; None if no file says so."""
    text = folder.read(_PLAN) if folder.is_file(_PLAN) else b""
    try:
        plan = parsed(text)
    except ValueError:
        return None
    return plan if isinstance(plan, dict) else None


def _refuse_another(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Check that what was asked before is what is asked now."""
    keys = [key for key in dict.fromkeys((*before, *now)) if before.get(key) != now.get(key)]
    if keys:
        raise AnotherError(folder, keys)


@contextlib.contextmanager
def reported(path: Path) -> Iterator[None]:
    """Report what the file system refuses, with the folder's name."""
    try:
        yield
    except OSError as error:
        raise StudyError(f"{error.filename or path}: {error.strerror}; what was finished is kept") from error
