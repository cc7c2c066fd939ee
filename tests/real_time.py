"""Tests in real time on a machine that has other things to do: they are skipped, aloud, and never fail of it."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

MOST = 0.1
"""The share of the processors from which on other programs may be to blame for a failure."""
TRIES = 3

Summary = dict[str, Any]


def valid(run: Callable[[], Summary], about: str | None = None) -> Summary:
    """The summary of a valid run of the kernel engine; skips if the machine was too busy every time.

    A fault that the test is `about` does not count: the test would skip where it has to fail.
    """
    for _ in range(TRIES):
        summary = run()
        faults = [fault for fault in summary["fidelity"]["faults"] if about is None or about not in fault]
        if summary["fidelity"]["valid"] or (about is not None and not faults):
            return summary
    pytest.skip(f"the machine was too busy for {TRIES} runs: {summary['fidelity']['faults']}")


@contextmanager
def unless_busy() -> Iterator[None]:
    """Skips what fails while other programs take the processors."""
    if sys.platform != "linux":
        yield
        return
    others = Others()
    try:
        yield
    except (Exception, pytest.fail.Exception) as failure:
        if (share := others.share()) > MOST:
            what = f"{type(failure).__name__}: {failure}".partition("\n")[0]
            pytest.skip(f"the machine is busy: others took {share:.0%} of its processors, and there was {what}")
        raise


class Others:
    """Watches the processors from now on."""

    def __init__(self) -> None:
        self._begun_s, self._before = time.monotonic(), _of_others()

    def share(self) -> float:
        """What others took since then, of the time of all processors."""
        passed_s = (time.monotonic() - self._begun_s) * (os.cpu_count() or 1)
        return max(0, _of_others() - self._before) / os.sysconf("SC_CLK_TCK") / max(passed_s, 1e-3)


def _of_others() -> int:
    """What has been computed by all programs but this one and those it started, in the system's ticks."""
    fields = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0].split()
    # What interrupts take is nobody's; what the host of a virtual machine takes is.
    user, nice, system, _idle, _wait, _hard, _soft, stolen = map(int, fields[1:9])
    return user + nice + system + stolen - _of(os.getpid())


def _of(process: int) -> int:
    """What a process has computed, and its children, whether they run or have ended, in the system's ticks."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15]))
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # one that has ended meanwhile
            ticks += sum(_of(int(child)) for child in file.read_text(encoding="utf-8").split())
    return ticks
