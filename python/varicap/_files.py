"""Reading files that people name: whole, but only what ends, and no more of it than makes sense."""

import os
import re
import stat
import sys
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

import varicap._core as _core

_HANDED_OVER = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")
"""Where a shell puts its pipes: ``<(…)`` and ``|``."""
_KERNEL = ("/proc", "/sys")
_PIECE = 1 << 20
MOST_HANDED_OVER = 4_000_000
"""Bytes of traces that are tried to be put into an address: compressed, more do not fit."""


class UnreadableError(ValueError):
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
            raise UnreadableError(f"more than {_size(most)}, which none needs")
        # What is appended meanwhile is not read; an empty file is not opened at all.
        with path.open("rb") as file:
            return file.read(facts.st_size) if facts.st_size else b""
    except FileNotFoundError:
        raise UnreadableError("there is no such file") from None
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None


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
