"""varicap and ns-2 on the same dumbbells: a fast part of docs/validation.md.  Without ns-2 (`ns`) it skips."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _load(name: str) -> ModuleType:
    path = Path(__file__).parent / "peers" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


peers = _load("peers")
marking = _load("marking")
pytestmark = pytest.mark.skipif(not peers.ns2_is_here(), reason="there is no ns-2 (`ns`) to compare with")
CASES = {case.name: case for case in peers.cases()}


def both(name: str, measure: str, seeds: int | None = None) -> tuple[peers.Interval, peers.Interval]:  # type: ignore[name-defined]
    """What varicap and ns-2 say."""
    case = CASES[name]
    return peers.run_varicap(case, seeds)[measure], peers.run_ns2(case, seeds)[measure]


@pytest.mark.parametrize("variant", peers.VARIANTS)
def test_goodput_of_a_fixed_link_agrees_within_half_a_percent(variant: str) -> None:
    ours, theirs = both(f"fixed/{variant}/every", "goodput.0")
    assert ours.mean == pytest.approx(theirs.mean, rel=0.005)


@pytest.mark.parametrize("size", ["10 kB", "100 kB", "1000 kB"])
@pytest.mark.parametrize("policy", ["every", "delayed"])
def test_lossless_transfers_take_the_same_time(size: str, policy: str) -> None:
    ours, theirs = both(f"short/{size}/{policy}", "fct.0")
    # Without a SYN, ns-2's first segment has no header: 40 B at 1.5 Mb/s, less what its links take for an ACK.
    assert 0 <= ours.mean - theirs.mean <= 40 * 8 / 1.5e6


@pytest.mark.parametrize("red", peers.REDS)
def test_red_drops_the_same_share_of_poisson_datagrams(red: str) -> None:
    ours, theirs = both(f"red/poisson 1.5Mb/{red}", "dropped", 6)
    # Intervals of 95 % miss now and then, here with fixed seeds: half as much again.
    assert abs(ours.mean - theirs.mean) <= 1.5 * (ours.half**2 + theirs.half**2) ** 0.5


def test_ered_loses_the_shares_of_marked_and_unmarked_packets_that_rio_does() -> None:
    ours, theirs = marking.losses_varicap(4.0, 4.2, 3, 120), marking.losses_ns2(4.0, 4.2, 3, 120)
    for mine, other in zip(ours, theirs, strict=True):
        assert abs(mine.mean - other.mean) <= 1.5 * (mine.half**2 + other.half**2) ** 0.5
    assert 0.0 < ours[0].mean < 1.0 < ours[1].mean


# ns-2's NewReno gets 4 % more, for a reason not yet found: docs/validation.md.
@pytest.mark.parametrize("variant", ["tahoe", "reno", "sack"])
def test_goodput_at_one_percent_loss_agrees(variant: str) -> None:
    ours, theirs = both(f"loss/1%/{variant}/every", "goodput.0", 6)
    # Four percent: two intervals of two percent each.
    assert ours.mean == pytest.approx(theirs.mean, rel=0.04)


@pytest.mark.parametrize("variant", ["newreno", "sack"])
def test_goodput_on_the_same_markov_paths_agrees(variant: str) -> None:
    ours, theirs = both(f"markov/0.2s/{variant}", "goodput.0", 4)
    assert ours.mean == pytest.approx(theirs.mean, rel=0.03)
