"""A transfer takes as long through Linux's token bucket as through ours.  Without root, `tc` or the qdisc it skips."""

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("tbf", Path(__file__).parent / "peers" / "tbf.py")
assert _SPEC is not None
assert _SPEC.loader is not None
tbf = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(tbf)
WHY_NOT = tbf.why_not()


@pytest.mark.real_time
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
@pytest.mark.parametrize("size", tbf.SIZES[:2])
def test_a_burst_goes_at_once_and_what_follows_at_the_rate(size: int) -> None:
    # Beside each other, each with a path of its own.
    with ThreadPoolExecutor(1) as beside:
        other = beside.submit(tbf.theirs, size)
        ours, theirs = tbf.ours(size), other.result()
    # 15 kB less to wait for is 60 ms; a busy machine delays a transfer by some milliseconds.
    assert ours == pytest.approx(theirs, abs=0.02)


def test_a_discipline_that_is_not_there_is_named() -> None:
    if WHY_NOT.startswith(("namespaces", "there is no", "no network")):
        pytest.skip(WHY_NOT)
    assert tbf.why_not("no-such-queue") == "the kernel, or tc, has no no-such-queue"
