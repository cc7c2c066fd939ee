"""A flow fares alike through Linux's queue disciplines and through ours; what the kernel lacks is skipped."""

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import GRIDS

from varicap import kernels

_SPEC = importlib.util.spec_from_file_location("disciplines", Path(__file__).parent / "peers" / "disciplines.py")
assert _SPEC is not None
assert _SPEC.loader is not None
disciplines = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(disciplines)

_CASES = [
    pytest.param(name, marks=pytest.mark.skipif(bool(reason := disciplines.why_not(name)), reason=f"SKIPPED: {reason}"))
    for name, discipline in disciplines.DISCIPLINES.items()
    if discipline.ours is not None
]


@pytest.mark.real_time
@pytest.mark.parametrize("name", _CASES)
def test_a_flow_fares_alike_through_both(name: str) -> None:
    # Beside each other, each with links of its own: what disturbs one disturbs both.
    with ThreadPoolExecutor(1) as beside:
        other = beside.submit(disciplines.theirs, name)
        ours, theirs = disciplines.ours(name), other.result()
    fare_alike(ours, theirs)


def fare_alike(ours: Any, theirs: Any) -> None:
    assert ours.goodput_bps == pytest.approx(theirs.goodput_bps, rel=0.03)
    # A packet takes 1.2 ms, and leaves Linux's class as its time begins, our link as it ends; sawteeth differ in phase.
    assert ours.rtt_s == pytest.approx(theirs.rtt_s, abs=0.003)
    # Some are drawn at random.
    assert abs(ours.signals - theirs.signals) <= 5 + 0.5 * max(ours.signals, theirs.signals)


try:
    kernels.find()
    _WHY = ""
except kernels.NoKernelError as error:
    _WHY = str(error)


@pytest.mark.skipif(bool(_WHY), reason=f"SKIPPED: {_WHY}")
@pytest.mark.parametrize("name", ["codel", "fq_codel", "pie", "red", "tbf"] if GRIDS else ["codel", "tbf"])
def test_a_flow_fares_alike_in_a_guest(name: str) -> None:
    seen = disciplines.in_guest(name)
    if isinstance(seen, str):
        pytest.skip(seen)
    theirs, ours = seen
    fare_alike(ours, theirs)


def test_a_discipline_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    why_not = disciplines.why_not("pfifo")
    if why_not:
        pytest.skip(why_not)
    monkeypatch.setitem(disciplines.DISCIPLINES, "unknown", disciplines.Discipline(("no-such-queue",), "codel"))
    assert disciplines.why_not("unknown") == "the kernel, or tc, has no no-such-queue"
