"""What computes while tests wait: it gives way, and leaves nothing behind.

Where all processors are busy it hardly gets any time, so that it is a shell and little more here.
"""

import os
import sys
from pathlib import Path

import meanwhile
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and SCHED_IDLE is Linux's")


def until(condition: str) -> str:
    """A command that waits until a shell says so."""
    return f"until {condition}; do sleep 0.05; done"


@pytest.mark.parametrize(("code", "of_other", "found"), [(0, 0, 0), (3, 0, 3), (0, 4, 4), (3, 4, 3)])
def test_whichever_fails_fails(code: int, of_other: int, found: int, tmp_path: Path) -> None:
    number = tmp_path / "process"
    ended = until(f"grep --quiet 'State:.Z' /proc/$(cat {number})/status 2> {os.devnull}")
    assert meanwhile.main(f"{ended}; exit {code}", f"echo $$ > {number}; exit {of_other}") == found


def test_what_is_nearly_done_may_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanwhile, "GRACE_S", 60.0)
    assert meanwhile.main("true", f"sleep 0.5; touch {tmp_path}/done") == 0
    assert (tmp_path / "done").exists()


def test_what_is_not_done_in_time_is_stopped_with_all_that_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meanwhile, "GRACE_S", 0.1)
    number = tmp_path / "process"
    assert meanwhile.main(until(f"[ -s {number} ]"), f"sleep 60 & echo $! > {number}; wait; touch {tmp_path}/done") == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)
    assert not (tmp_path / "done").exists()


def test_what_computes_gives_way(tmp_path: Path) -> None:
    tell = "read stat < /proc/$$/stat; echo $stat >"
    first, other = tmp_path / "first", tmp_path / "other"
    meanwhile.main(f"{tell} {first}; {until(f'[ -s {other} ]')}", f"{tell} {other}")
    policies = [int(file.read_text().rpartition(")")[2].split()[38]) for file in (first, other)]
    assert policies == [os.SCHED_OTHER, os.SCHED_IDLE]
