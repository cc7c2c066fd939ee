"""Tests in real time on a busy machine: what they do there is tested without one."""

import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
import real_time
from patience import until
from real_time import Others, unless_busy, valid

BUSY = {"fidelity": {"valid": False, "faults": ["5 % of the packets were late"]}}
QUIET: dict[str, Any] = {"fidelity": {"valid": True, "faults": []}}


def failing(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Others, "share", lambda _: share)
    with unless_busy():
        raise AssertionError("0.35 is not 0.38\nat all")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_fails_on_a_busy_machine_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"others took 95% of its processors, .*: 0\.35 is not 0\.38$"):
        failing(0.95, monkeypatch)
    with pytest.raises(AssertionError):
        failing(0.01, monkeypatch)


def test_a_run_that_is_not_valid_is_repeated_a_few_times() -> None:
    runs = iter([BUSY, BUSY, QUIET, BUSY, BUSY, BUSY])
    with suppress(pytest.skip.Exception):
        assert valid(lambda: next(runs)) is QUIET
    assert len(list(runs)) == 3, "the third run was taken"
    runs = iter([BUSY, BUSY, BUSY])
    with pytest.raises(pytest.skip.Exception, match="5 % of the packets were late"):
        valid(lambda: next(runs))
    assert valid(lambda: BUSY, about="packets were late") is BUSY


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_test_starts_is_no_other_program() -> None:
    """A tenth of a second of computing, while it runs and when it has ended."""
    ticks = os.sysconf("SC_CLK_TCK") // 10
    before = real_time._of(os.getpid())
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        until(lambda: real_time._of(child.pid) > ticks, "it does not compute")
        assert real_time._of(os.getpid()) >= before + ticks
    finally:
        child.kill()
        child.wait()
    assert real_time._of(os.getpid()) >= before + ticks
