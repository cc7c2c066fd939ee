"""Folders of ours, though others may have made or changed them: results, studies, unfinished runs, pages, traces.

A folder that somebody names may be a link; in it no link is followed, and nothing but files and folders is touched.  A
folder is held open, and what is in it is reached from there: nobody can put a link in the place of what was looked at.
Files are read up to a bound, and written under another name, then renamed: there is the old file or the new one.

Systems without such handles (Windows) look at the kind of a file, and then open it by its path.
"""

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO

from varicap._printable import PrintableError

MOST_TEXT = 200_000_000
"""Bytes of a file of ours that is read at once, such as a manifest; that of a sweep of a million points has fewer."""
MOST_TABLE = 4_000_000_000
"""Bytes of a table or a trace, which is not read at once."""

_MOST_DEPTH = 64
_HAS_HANDLES = {os.open, os.stat, os.mkdir, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd
_SAFE = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
"""A link is not followed, and a pipe not waited for."""
_OF_FOLDERS = sum(getattr(os, flag, 0) for flag in ("O_DIRECTORY", "O_CLOEXEC"))
_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link, which is not followed",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_MOST_WRITERS = 100
_NO_LOCKS = {getattr(errno, name, None) for name in ("ENOLCK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL")}
"""What file systems answer that have no locks: nobody else can have one."""
_LETTERS = 60
"""Of the name of a file that are in its temporary one: names may not be much longer than their longest."""


class FolderError(PrintableError, ValueError):
    """A folder that does not hold what varicap writes, or a file in it that is none, and why."""


class Folder:
    """A folder, held open; ``with`` closes it."""

    def __init__(self, path: str | Path, *, make: bool = False) -> None:
        """Open a folder that somebody named, which may be a link; with `make`, it need not exist."""
        self.path = Path(path)
        if make:
            self.path.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(self.path, os.O_RDONLY | _OF_FOLDERS) if _HAS_HANDLES else None

    @staticmethod
    def inner(path: Path, *, make: bool = False) -> "Folder":
        """Open a folder that lies in one of ours, and so must not be a link."""
        with Folder(path.parent, make=make) as outer:
            return outer.within(path.name, make=make)

    def within(self, name: str, *, make: bool = False) -> "Folder":
        """Open a folder in this one, which must not be a link."""
        if make and not self.is_folder(name):
            with self._reported(name), contextlib.suppress(FileExistsError):
                os.mkdir(self._at(name), dir_fd=self._handle)
        if not self.is_folder(name):
            raise FileNotFoundError(2, "No such file or directory", str(self.path / name))
        inner = object.__new__(Folder)
        inner.path, inner._handle = self.path / name, None
        if self._handle is not None:
            with self._reported(name):
                inner._handle = os.open(name, os.O_RDONLY | _OF_FOLDERS | _SAFE, dir_fd=self._handle)
        return inner

    def close(self) -> None:
        """Let go of the folder."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> "Folder":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- what is there ---------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of all that is there, sorted."""
        with os.scandir(self.path if self._handle is None else self._handle) as found:
            return sorted(each.name for each in found)

    def is_file(self, name: str) -> bool:
        """Whether there is a file of this name.  Raises `FolderError` for anything else of that name."""
        return self._is(name, stat.S_IFREG)

    def is_folder(self, name: str) -> bool:
        """Whether there is a folder of this name.  Raises `FolderError` for anything else of that name."""
        return self._is(name, stat.S_IFDIR)

    def has_folder(self, name: str) -> bool:
        """Whether there is a folder of this name; what else may have it is nobody's business."""
        facts = self._facts(name)
        return facts is not None and stat.S_ISDIR(facts.st_mode)

    def _is(self, name: str, wanted: int) -> bool:
        facts = self._facts(name)
        if facts is not None:
            self._refuse(name, facts, wanted)
        return facts is not None

    def _refuse(self, name: str, facts: os.stat_result, wanted: int = stat.S_IFREG) -> None:
        """Raise `FolderError` for what is not of the kind that is wanted."""
        kind = stat.S_IFMT(facts.st_mode)
        if kind != wanted:
            found = _KINDS.get(kind, "no file")
            raise FolderError(f"{self.path / name}: is {found}; {_KINDS[wanted]} is expected")

    def _facts(self, name: str) -> os.stat_result | None:
        with self._reported(name):
            try:
                return os.stat(self._at(name), dir_fd=self._handle, follow_symlinks=False)
            except FileNotFoundError:
                return None

    # ---- reading ---------------------------------------------------------------------------------------------------

    def reading(self, name: str, most: int = MOST_TABLE) -> BufferedReader:
        """Open a file of at most so many bytes for reading."""
        self.is_file(name)
        with self._reported(name):
            file = open(self._at(name), "rb", opener=self._opened)  # noqa: SIM115 - whoever asked closes it
            try:
                facts = os.fstat(file.fileno())
                self._refuse(name, facts)
                if facts.st_size > most:
                    raise FolderError(f"{self.path / name}: has {facts.st_size} bytes, and at most {most} are read")
            except BaseException:
                file.close()
                raise
        return file

    def read(self, name: str, most: int = MOST_TEXT) -> bytes:
        """The bytes of a file; what is appended meanwhile is not read."""
        with self.reading(name, most) as file, self._reported(name):
            return file.read(os.fstat(file.fileno()).st_size)

    def sha256(self, name: str) -> str:
        """The digest of a file."""
        with self.reading(name) as file, self._reported(name):
            return hashlib.file_digest(file, "sha256").hexdigest()

    # ---- writing ---------------------------------------------------------------------------------------------------

    def write(self, name: str, content: bytes, *, lasting: bool = False) -> Path:
        """Write a file whole, or leave what was there; if it is to be `lasting`, it is on the disk afterwards."""
        with self.writing(name, lasting=lasting) as file:
            file.write(content)
        return self.path / name

    def write_all(self, contents: Mapping[str, bytes], *, lasting: bool = False) -> None:
        """Write several files, the last of which vouches for the others; none of them if there is no room for all."""
        with contextlib.ExitStack() as stack:
            for name, content in reversed([*contents.items()]):
                file = stack.enter_context(self.writing(name, lasting=lasting))
                file.write(content)
                file.flush()

    @contextlib.contextmanager
    def writing(self, name: str, *, lasting: bool = False) -> Iterator[BinaryIO]:
        """A file to write into, which has its name once the context ends without an error."""
        with self._reported(name):
            before = self._facts(name)
            if before is not None:
                self._refuse(name, before)
            temporary, file = self._temporary(name)
            try:
                with file:
                    if before is not None and hasattr(os, "fchmod"):
                        os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode) & 0o777)
                    yield file
                    file.flush()
                    if lasting:
                        os.fsync(file.fileno())
                    if _HAS_HANDLES:
                        self._move(temporary, name)
                if not _HAS_HANDLES:  # nothing that is open can be renamed
                    self._move(temporary, name)
            except BaseException:
                with contextlib.suppress(OSError, FolderError):
                    self.remove(temporary)
                raise

    def _temporary(self, name: str) -> tuple[str, BinaryIO]:
        """A new file under another name, locked; one that nobody has locked is of a process that ended, and goes."""
        for number in range(_MOST_WRITERS):
            temporary = f".{name[:_LETTERS]}{number or ''}.tmp"
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                if self.is_file(temporary) and not self._discarded(temporary):
                    continue
                file: BinaryIO = open(self._at(temporary), "xb", opener=self._opened)  # noqa: SIM115
                # Another process may have taken it for one that nobody has locked.
                if not _HAS_HANDLES or (locked(file) and self._names(temporary, file)):
                    return temporary, file
                file.close()
        raise OSError(errno.EBUSY, "too many processes write it")

    def _discarded(self, temporary: str) -> bool:
        """Whether the temporary file of a process that ended is gone; that of another process at work remains."""
        if _HAS_HANDLES:
            with self.reading(temporary) as left:
                if not locked(left) or not self._names(temporary, left):
                    return False
                self.remove(temporary)
        else:
            self.remove(temporary)
        return True

    def _names(self, name: str, file: IO[bytes]) -> bool:
        """Whether a name is still that of an open file."""
        facts = self._facts(name)
        return facts is not None and os.path.samestat(facts, os.fstat(file.fileno()))

    def append(self, name: str, content: bytes) -> None:
        """Add to the end of a file, which no other folder may have, too."""
        with self._reported(name), self._to_append(name) as file:
            if os.fstat(file.fileno()).st_nlink > 1:
                raise FolderError(f"{self.path / name}: is the same file as another one elsewhere")
            file.write(content)

    def lock(self, name: str) -> BinaryIO | None:
        """The file of this name, locked until it is closed; None if another process has it."""
        with self._reported(name):
            file = self._to_append(name)
        if locked(file):
            return file
        file.close()
        return None

    def _to_append(self, name: str) -> BinaryIO:
        self.is_file(name)
        file: BinaryIO = open(self._at(name), "ab", opener=self._opened)  # noqa: SIM115
        try:
            self._refuse(name, os.fstat(file.fileno()))
        except BaseException:
            file.close()
            raise
        return file

    def make(self, name: str) -> None:
        """Make a folder; it is fine if there is one."""
        self.within(name, make=True).close()

    def move(self, name: str, new: str, into: "Folder | None" = None) -> None:
        """Give what is there another name, in this folder or in another one."""
        with self._reported(name):
            self._move(name, new, into)

    def remove(self, name: str) -> None:
        """Remove a file, or a link, if there is one."""
        with self._reported(name), contextlib.suppress(FileNotFoundError):
            os.unlink(self._at(name), dir_fd=self._handle)

    def remove_link(self, name: str) -> None:
        """Remove a link, but nothing else, of this name."""
        facts = self._facts(name)
        if facts is not None and stat.S_ISLNK(facts.st_mode):
            self.remove(name)

    def remove_folder(self, name: str) -> None:
        """Remove a folder, which is empty."""
        with self._reported(name):
            os.rmdir(self._at(name), dir_fd=self._handle)

    def _move(self, name: str, new: str, into: "Folder | None" = None) -> None:
        there = into or self
        os.replace(self._at(name), there._at(new), src_dir_fd=self._handle, dst_dir_fd=there._handle)

    def _opened(self, name: str, flags: int) -> int:
        return os.open(name, flags | _SAFE, 0o666, dir_fd=self._handle)

    def _at(self, name: str) -> str:
        """A name in this folder, or its path where there are no handles."""
        if name in ("", ".", "..") or "\0" in name or Path(name).name != name:
            raise FolderError(f"{self.path}: `{name}` is not the name of a file")
        return name if _HAS_HANDLES else str(self.path / name)

    @contextlib.contextmanager
    def _reported(self, name: str) -> Iterator[None]:
        """Report what the file system refuses with the whole path."""
        try:
            yield
        except OSError as error:
            if getattr(error, "is_reported", False):
                raise
            named = OSError(error.errno, error.strerror or str(error), str(self.path / name))
            named.is_reported = True  # type: ignore[attr-defined]
            raise named from None


def locked(file: IO[bytes]) -> bool:
    """Try to take the lock of a file, and say whether this process has it now; the lock ends with the process."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _NO_LOCKS
    return True


def parsed(text: bytes) -> Any:
    """The value of a text in JSON.  Raises ``ValueError`` for a text that is none, or nested too deeply to be walked.

    >>> parsed(b"[" * 70 + b"]" * 70)
    Traceback (most recent call last):
    ValueError: nested too deeply
    """
    try:
        value = json.loads(text.decode())
        # JSON can spell halves of characters, which no text may hold.
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level = [value]
    for _ in range(_MOST_DEPTH):
        inner = ((each.values() if isinstance(each, dict) else each) for each in level if isinstance(each, dict | list))
        level = [each for values in inner for each in values]
        if not level:
            return value
    raise ValueError("nested too deeply")


def as_json(value: Any) -> bytes:
    """The text of a JSON file that people can read, the same bytes on every system."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
