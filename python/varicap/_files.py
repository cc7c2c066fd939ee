"""Files that people name, which may be links: read whole, but only what ends, and no more of it than makes sense.

They are written as what lies in a folder of ours (`varicap._folders`): whole or not at all, and not through a link.
"""

import errno
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

import varicap._core as _core
from varicap._folders import Folder, FolderError
from varicap._printable import PrintableError

_HANDED_OVER = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")
"""Where a shell puts its pipes: ``<(…)`` and ``|``."""
_OUTPUTS = re.compile(r"/dev/(null|full|tty|stdout|stderr|fd/\d+)|/proc/self/fd/\d+")
"""What may be named as a file and is none: it is written as it is."""
_KERNEL = ("/proc", "/sys")
_PIECE = 1 << 20
MOST_HANDED_OVER = 4_000_000
"""Bytes of traces that are tried to be put into an address: compressed, more do not fit."""


class UnreadableError(PrintableError, ValueError):
    """A file that is not read; the text is the reason."""


def is_pipe(path: str | Path) -> bool:
    """Whether a path is a pipe that a shell has handed over, as ``<(gunzip -c trace.gz)`` does."""
    return _HANDED_OVER.fullmatch(str(path)) is not None and Path(path).is_fifo()


def read_whole(path: str | Path, most: int) -> bytes:
    r"""The bytes of a regular file, or of a pipe that a shell has handed over, if there are at most `most`.

    Devices, named pipes and files of the kernel may never end, and are refused.  Raises `UnreadableError`.

    >>> read_whole("examples/traces/lte-like.down", 10**9)[:5]
    b'3\n6\n8'
    """
    path = Path(path)
    try:
        facts = path.stat()
        if is_pipe(path):
            with path.open("rb") as pipe:
                return _at_most(pipe, most)
        if not stat.S_ISREG(facts.st_mode):
            raise UnreadableError("not a file")
        if facts.st_size == 0 and _is_of_kernel(path):
            raise UnreadableError("a file of the kernel, which may have no end")
        if facts.st_size > most:
            raise UnreadableError(f"{_size(facts.st_size)}, more than {_size(most)}, which none needs")
        if facts.st_size == 0:
            return b""
        # What is appended meanwhile is not read.
        with opened(path) as file:
            return file.read(facts.st_size)
    except FileNotFoundError:
        raise UnreadableError("there is no such file") from None
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None


@contextmanager
def opened(path: str | Path) -> Iterator[BufferedReader]:
    """A regular file, open for reading; it may be large.  Raises ``OSError`` for anything else."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a file", str(path))
        yield file


def sha256(path: str | Path) -> str:
    """Digest of a file."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_below(path: str | Path, ending: str) -> list[Path]:
    """The files with an ending in a folder and in those below it, in order.  Raises `FolderError` for a link."""
    with Folder(path) as folder:
        return sorted(_below(folder, ending))


def _below(folder: Folder, ending: str) -> Iterator[Path]:
    for name in folder.names():
        if folder.has_folder(name):
            with folder.within(name) as inner:
                yield from _below(inner, ending)
        elif name.endswith(ending) and folder.is_file(name):
            yield folder.path / name


@contextmanager
def writing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write into, which has its name once the context ends without an error; its folder need not exist.

    Raises `FolderError` for a link and whatever else is no file.
    """
    path = Path(path)
    if _OUTPUTS.fullmatch(str(path)):
        try:
            with path.open("wb") as output:
                yield output
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        return
    with Folder(path.parent, make=True) as folder, folder.writing(path.name) as file:
        yield file


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write a file whole, or leave what was there, and return it; see `writing`."""
    with writing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return Path(path)


def fault_of_output(path: Path) -> str:
    """Why nothing can be written into a file, if so, as far as is known before; its folder need not exist."""
    if _OUTPUTS.fullmatch(str(path)):
        return ""
    if path.is_dir():
        return f"{path} is a folder, not a file"
    there = next(each for each in (path.parent, *path.parent.absolute().parents) if os.path.lexists(each))
    if fault := fault_of_place(there):
        return fault
    try:
        with Folder(there) as folder:
            if there == path.parent and folder.is_file(path.name) and not os.access(path, os.W_OK):
                return f"{path} cannot be written"
    except FolderError as error:
        return str(error)
    return ""


def fault_of_place(folder: Path) -> str:
    """Why nothing can be written into a folder that exists, if so."""
    if not folder.is_dir():
        return f"{folder} is not a folder"
    try:
        # Nothing is left behind; what permissions say is not the whole truth.
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"nothing can be written in {folder}: {error.strerror}"


def read_scenario(path: str | Path) -> tuple[str, bool]:
    """The text of a scenario file, or of standard input for ``-``, and whether it came through a pipe.

    What cannot be read is the user's mistake, not a fault: raises `ScenarioError`.
    """
    is_input = str(path) == "-"
    name = shown(path)
    try:
        most = _core.MAX_SCENARIO_BYTES
        data = _input(most) if is_input else read_whole(path, most)
        # Editors of Windows put a mark in front, which is no part of the text.
        return data.decode().removeprefix("\ufeff"), is_input or is_pipe(path)
    except UnreadableError as error:
        results = Path(path).is_dir() and (Path(path) / "manifest.json").exists()
        hint = ", but a folder of results, which varicap.read reads" if results else ""
        raise _core.ScenarioError(f"{name}: {error}{hint}") from None
    except UnicodeDecodeError as error:
        raise _core.ScenarioError(f"{name}: not a text file: byte {error.start} is not UTF-8") from None


def shown(path: str | Path) -> str:
    r"""A path as text; bytes that are not UTF-8 are written as escapes.

    >>> print(shown(os.fsdecode(b"\xff.toml")))
    \xff.toml
    """
    return os.fsencode(path).decode(errors="backslashreplace")


def _input(most: int) -> bytes:
    """What comes through standard input, which a shell may have closed (``<&-``)."""
    if sys.stdin is None:
        raise UnreadableError("standard input is closed")
    try:
        return _at_most(sys.stdin.buffer, most)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None


def _without_waiting(path: str, flags: int) -> int:
    """Open a file, which may have become a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_of_kernel(path: Path) -> bool:
    return any(path.resolve().is_relative_to(folder) for folder in _KERNEL)


def _at_most(pipe: BinaryIO, most: int) -> bytes:
    """What comes out of a pipe, which is not asked for more once it has given too much."""
    text = bytearray()
    # What is there already may be too much: no waiting until a piece is whole.
    while piece := cast(BufferedReader, pipe).read1(_PIECE):
        text += piece
        if len(text) > most:
            raise UnreadableError(f"more than {_size(most)}, which none needs")
    return bytes(text)


def _size(size: int) -> str:
    return f"{size / 10**6:g} MB"
