"""Networks in ONNX that decide in processes of their own, whose time and memory have an end.

Plain ones, of which it is known beforehand what a decision costs, decide here (`varicap.policies.onnx_plain`).  Another
one may compute endlessly within one decision, or fill the memory, while nobody in this process can ask what has
been taken.  So it decides in a child: this process waits for its answer, asks meanwhile whether the limits of the run
are kept (`varicap._core.left`), and ends the child where they are not.  The child may not have more memory than the
run: by a limit of Linux, by a thread of its own on macOS; on Windows nothing but its time is bound.  A network that
makes the runtime crash ends the child alone.
"""

import atexit
import hashlib
import importlib.util
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

import varicap._core as _core
from varicap.policies import onnx_plain
from varicap.policies.onnx_file import check
from varicap.policies.onnx_worker import ACTION, HEAD, NO_MEMORY, READY, memory_of

_MOST_MEMORY = 4_000_000_000
"""What a network may take where no limit is less [B]."""
_LONGEST_S = 10.0
"""The longest decision [s], as the longest reading of a file: those that learn and those that control take less than a
thousandth of it."""
_LONGEST_START_S = 600.0
"""How long a process may take to start on a machine that has much else to do [s]."""
_ASK_MS = 20
"""How often is asked, while an answer is awaited, whether limits are kept."""
_MOST_IDLE = 8
"""Processes that are kept for the next run that needs the same network."""


class FailedError(ValueError):
    """A network that cannot be read, or does not decide; the text is the reason."""


@dataclass(frozen=True, eq=False)
class Network:
    """A network in ONNX, which any number of threads may ask at a time."""

    content: bytes
    """The file."""
    sizes: tuple[int | None, int | None]
    """How many numbers an observation and an action have, as far as the file says."""
    plain: Any = None
    """A session in this process, if a decision is known to be short."""

    def __call__(self, observation: NDArray[np.float32], /) -> NDArray[np.float32]:
        """The first output for a batch of one observation."""
        if self.plain is not None:
            try:
                return onnx_plain.decide(self.plain, observation)
            except Exception as error:
                raise FailedError(_first_line(error)) from None
        process = _taken(self.content)
        action = process.decide(observation)
        _give_back(process)
        return action


def network(content: bytes) -> Network:
    """The network of a file.

    Raises:
        ModuleNotFoundError: onnxruntime is not installed.
        RefusedError: it does what no policy may do, or is not in ONNX.
        FailedError: it cannot be read.
        LimitError: reading it takes more time or memory than the run may.
    """
    if importlib.util.find_spec("onnxruntime") is None:
        raise ModuleNotFoundError("onnxruntime")
    check(content)
    if onnx_plain.is_plain(content):
        try:
            session, sizes = onnx_plain.session(content)
        except Exception as error:  # its exceptions have no class in common
            raise FailedError(_first_line(error)) from None
        return Network(content, sizes, session)
    process = _taken(content)
    _give_back(process)
    return Network(content, process.sizes)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@dataclass(eq=False)
class _Process:
    """A child with a network, asked by one thread at a time."""

    content: bytes
    key: bytes
    child: "subprocess.Popen[bytes]" = field(init=False)
    sizes: tuple[int | None, int | None] = (None, None)
    base: int = 0
    """What it held before it had a network [B]."""

    def __post_init__(self) -> None:
        command = [sys.executable, "-P", str(Path(__file__).with_name("onnx_worker.py"))]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self.child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, bufsize=0)  # noqa: S603 - our own
        try:
            self.answer(READY, _LONGEST_START_S)
            memory, _ = _core.left()
            self.send(struct.pack("<QQ", min(memory or _MOST_MEMORY, _MOST_MEMORY), len(self.content)))
            self.send(self.content)
            told = struct.unpack("<qq", self.answer(READY, _LONGEST_S))
            self.sizes = (told[0] if told[0] >= 0 else None, told[1] if told[1] >= 0 else None)
        except BaseException:
            self.end()
            raise

    def decide(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """The action for an observation; whatever fails ends the process."""
        told = np.ascontiguousarray(observation, np.float32).tobytes()
        try:
            self.send(struct.pack("<I", len(told)) + told)
            return np.frombuffer(self.answer(ACTION, _LONGEST_S), np.float32)
        except BaseException:
            self.end()
            raise

    def limit(self) -> None:
        """Let it have no more memory than what is left of the run that asks it from now on."""
        memory, _ = _core.left()
        if sys.platform == "linux":
            import resource

            room = min(memory or _MOST_MEMORY, _MOST_MEMORY)
            try:
                most = memory_of(self.child.pid)[0] + room
                resource.prlimit(self.child.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
            except (OSError, ValueError):
                self.gone()

    def send(self, told: bytes) -> None:
        view = memoryview(told)
        try:
            while view:
                view = view[os.write(cast("IO[bytes]", self.child.stdin).fileno(), view) :]
        except BrokenPipeError:
            self.gone()

    def answer(self, wanted: int, longest_s: float) -> bytes:
        """The answer, if it is of the kind that is wanted."""
        until = time.monotonic() + longest_s
        kind, size, held = HEAD.unpack(self.receive(HEAD.size, until, longest_s))
        text = self.receive(size, until, longest_s) if size else b""
        if wanted == READY and not self.base:
            self.base = held
        _count(self, max(0, held - self.base))
        if kind == wanted:
            return text
        said = text.decode(errors="replace")
        if kind == NO_MEMORY:
            memory, _ = _core.left()
            most = f"{(memory or _MOST_MEMORY) / 1e6:.0f} MB"
            raise _core.LimitError(f"expected at most {most} of memory for a policy (--max-memory), found more: {said}")
        raise FailedError(said)

    def receive(self, size: int, until: float, longest_s: float) -> bytes:
        out = cast("IO[bytes]", self.child.stdout).fileno()
        parts = b""
        while len(parts) < size:
            with self.timed(until):
                while not _is_ready(out, _ASK_MS):
                    self.ask(until, longest_s)
                piece = os.read(out, size - len(parts))
            if not piece:
                self.ask(until, longest_s)
                self.gone()
            parts += piece
        return parts

    @contextmanager
    def timed(self, until: float) -> Iterator[None]:
        """End the child when its time is over, where a system cannot wait and ask."""
        if hasattr(select, "poll"):
            yield
            return
        _, left_s = _core.left()
        rest_s = until - time.monotonic()
        timer = threading.Timer(rest_s if left_s is None else min(rest_s, left_s), self.child.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def ask(self, until: float, longest_s: float) -> None:
        """Raise `LimitError` if the child has taken too much."""
        if sys.platform == "linux":
            try:
                _count(self, max(0, memory_of(self.child.pid)[1] - self.base) if self.base else 0)
            except (OSError, ValueError):
                self.gone()
        _core.left()
        if time.monotonic() > until:
            raise _core.LimitError(f"expected a decision of a policy within {longest_s:g} s, found none")

    def gone(self) -> NoReturn:
        code = self.child.wait()
        if code == -signal.SIGINT:
            raise KeyboardInterrupt
        raise FailedError(f"onnxruntime ended with {code} while it computed")

    def end(self) -> None:
        """End the process, whatever it does."""
        self.child.kill()
        for pipe in (self.child.stdin, self.child.stdout):
            cast("IO[bytes]", pipe).close()
        self.child.wait()
        _count(self, 0)


def _is_ready(out: int, milliseconds: int) -> bool:
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(out, select.POLLIN)
    return bool(poll.poll(milliseconds))


_lock = threading.Lock()
_idle: list[_Process] = []
_held: dict[_Process, int] = {}
"""What each process holds beyond what any needs [B]."""


def _count(process: _Process, held: int) -> None:
    """Tell the budget of runs what the processes hold together."""
    if _held.get(process, 0) == held:
        return
    with _lock:
        if held:
            _held[process] = held
        else:
            _held.pop(process, None)
        _core.count_elsewhere(sum(_held.values()))


def _taken(content: bytes) -> _Process:
    """A process with that network, which nobody else asks."""
    with _lock:
        for place, process in enumerate(_idle):
            if process.content is content and process.child.poll() is None:
                return _idle.pop(place)
    key = hashlib.sha256(content).digest()
    with _lock:
        # Ctrl-C in a terminal ends those that wait, too.
        _idle[:] = (process for process in _idle if process.child.poll() is None)
        found = next((process for process in _idle if process.key == key), None)
        if found is not None:
            _idle.remove(found)
    if found is not None:
        found.content = content
        found.limit()
        return found
    return _Process(content, key)


def _give_back(process: _Process) -> None:
    with _lock:
        _idle.append(process)
        surplus = _idle.pop(0) if len(_idle) > _MOST_IDLE else None
    if surplus is not None:
        surplus.end()


def _forget() -> None:
    """After a fork the processes are the parent's."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()
    _held.clear()


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
