"""Guests: kernels whose time is simulated, each a process that runs one replication; several go side by side.

A guest is User-mode Linux, an ordinary process: no root, no namespaces and no devices of the host.  It sees the host's
files, read-only, and runs `kernel_guest`.  It dies with this process, and leaves nothing: its memory is nobody's file,
and what it says goes through pipes.
"""

import hashlib
import itertools
import marshal
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap import units
from varicap.engines import kernel_guest
from varicap.kernels import Kernel

MEMORY = "1G"
"""What a guest has.  It takes from the host what it uses, about 100 MB for a flow at 10 Mb/s."""
_LOOK_S = 0.2
"""How often the limits are looked at [s]."""
_CALLS = itertools.count()
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")

Request = Mapping[str, Any]
Message = dict[str, Any]


class Guest:
    """A kernel that runs one replication."""

    def __init__(self, kernel: Kernel, replication: int, request: Request, core: int) -> None:
        """Start it on a `core`: its processes take turns, and to wake another core takes longer than a turn."""
        self.replication = replication
        self._modules = [name for name, _ in request.get("modules", ())]
        self.core = core
        self.share = 0.0
        self._took_s = 0.0
        self._data = b""
        self._said = os.memfd_create("varicap-guest")
        asks, to_guest = os.pipe()
        self.answers, answered = os.pipe()
        command = kernel.command(
            init=os.path.realpath(sys.executable),
            arguments=("-I", "-S", "-B", kernel_guest.__file__, _core.__file__),
            seed=_seed(request["seed"], replication),
            memory=MEMORY,
            # What the kernel and Python say before they end goes to this process.
            options=(f"dsp=/proc/self/fd/{asks}", "con0=null,fd:2"),
        )
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the kernel that was built
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                pass_fds=(asks, answered),
                # Ctrl-C is for this process, which ends the guest.
                process_group=0,
            )
            with suppress(OSError):  # it has ended already, and says why
                os.sched_setaffinity(self._process.pid, {core})
        except BaseException:
            for each in (to_guest, self.answers, self._said):
                os.close(each)
            raise
        finally:
            os.close(asks)
            os.close(answered)
        data = marshal.dumps({**request, "replication": replication, "answers": f"/proc/self/fd/{answered}"})
        # What is longer than a pipe holds waits for the guest; one that has ended already says why.
        with os.fdopen(to_guest, "wb") as asking, suppress(BrokenPipeError):
            asking.write(len(data).to_bytes(8, "little") + data)

    def messages(self) -> Iterator[Message]:
        """What it has said since the last time; the last message says that it has ended."""
        piece = os.read(self.answers, 1 << 20)
        if not piece:
            self.end()
            yield {"ended": True}
            return
        self._data += piece
        while len(self._data) >= 8:
            length = int.from_bytes(self._data[:8], "little")
            if len(self._data) < 8 + length:
                return
            message = marshal.loads(self._data[8 : 8 + length])  # noqa: S302 - of the guest that we started
            self._data = self._data[8 + length :]
            yield message

    def why(self) -> str:
        """What it said when it ended without a result."""
        said = os.pread(self._said, 1 << 20, 0).decode(errors="replace").replace("\r", "").strip().splitlines()
        telling = [line for line in said if "panic" in line or "Out of memory" in line or "Killed process" in line]
        loaded = f"; it had loaded {', '.join(self._modules)}" if telling and self._modules else ""
        return (telling or said or ["without a word"])[-1].strip() + loaded

    def spent(self) -> tuple[float, int]:
        """The processor time that it has taken [s], and its memory [B]."""
        pages = 0
        with suppress(OSError, IndexError):  # it has ended: what it had taken before counts
            place = Path(f"/proc/{self._process.pid}")
            children = (place / "task" / place.name / "children").read_text(encoding="ascii").split()
            ticks = sum(_ticks(Path("/proc") / each) for each in (place.name, *children))
            self._took_s = max(self._took_s, ticks / _TICKS)
            pages = int((place / "statm").read_text(encoding="ascii").split()[1])
        return self._took_s, pages * _PAGE

    def end(self) -> None:
        """End it, if it has not ended."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it, and let go of what it said."""
        self.end()
        os.close(self.answers)
        os.close(self._said)


def serve(
    kernel: Kernel,
    replications: Sequence[int],
    request: Callable[[int], Request],
    jobs: int,
    look: Callable[[float, int], None],
) -> Iterator[tuple[int, Message]]:
    """Run replications, `jobs` at a time: what their guests say, each with the replication.

    `look` is given the processor time of all [s] and the memory of those under way [B], now and then; it may raise.
    """
    waiting = list(reversed(replications))
    past_s = 0.0
    cores = sorted(os.sched_getaffinity(0))
    # Other commands, and other calls, begin with another core.
    first = (os.getpid() + next(_CALLS)) % len(cores)
    cores = cores[first:] + cores[:first]
    guests: dict[int, Guest] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or guests:
                while waiting and len(guests) < jobs:
                    replication = waiting.pop()
                    taken = [guest.core for guest in guests.values()]
                    guest = Guest(kernel, replication, request(replication), min(cores, key=taken.count))
                    guests[guest.answers] = guest
                    selector.register(guest.answers, selectors.EVENT_READ)
                for key, _ in selector.select(_LOOK_S):
                    guest = guests[key.fd]
                    took_s, _ = guest.spent()
                    for message in guest.messages():
                        if "ended" in message:
                            raise _core.RunError(f"the guest of the kernel engine ended: {guest.why()}")
                        yield guest.replication, message
                        if "data" in message:
                            past_s += took_s
                            selector.unregister(key.fd)
                            guests.pop(key.fd).close()
                spent = [guest.spent() for guest in guests.values()]
                look(past_s + sum(time for time, _ in spent), sum(memory for _, memory in spent))
        finally:
            for guest in guests.values():
                guest.close()


class Limits:
    """What `serve` is to look at: raises `LimitError` where the guests of several calls have taken more."""

    def __init__(self, max_memory: str | None, max_time: str | None) -> None:
        self._said = max_memory, max_time
        self._memory = None if max_memory is None else units.size(max_memory)
        self._time_s = None if max_time is None else units.seconds(max_time)
        self._before_s = self._spent_s = 0.0

    def go_on(self) -> None:
        """The next call begins: what was spent before counts."""
        self._before_s, self._spent_s = self._before_s + self._spent_s, 0.0

    def __call__(self, spent_s: float, used: int) -> None:
        """Look at the processor time of a call's guests [s], and at the memory of those under way [B]."""
        self._spent_s = spent_s
        max_memory, max_time = self._said
        if self._time_s is not None and self._before_s + spent_s > self._time_s:
            raise _core.LimitError(f"the guests have taken more processor time than --max-time {max_time}")
        if self._memory is not None and used > self._memory:
            raise _core.LimitError(f"the guests take {used / 1e6:.0f} MB, more than --max-memory {max_memory}")


def _seed(seed: int, replication: int) -> int:
    """The seed of a guest's own random numbers."""
    return int.from_bytes(hashlib.sha256(f"guest {seed} {replication}".encode()).digest()[:8], "little")


def _ticks(process: Path) -> int:
    """What a process has computed, with the children that have ended, in the system's ticks."""
    fields = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))
