"""What `reproduce minrate` measures beyond the paper: no claim of it, but what the documents say must hold."""

import pytest

from varicap.papers.minrate import collapse, datagrams, fragile
from varicap.papers.minrate.cubic import cubic
from varicap.papers.minrate.evolution import evolution
from varicap.papers.minrate.network import LINKS, RATES
from varicap.papers.minrate.shares import _CASES, _model, timed_with_sack, windowed_with_sack
from varicap.papers.run import Run, ratio

pytestmark = pytest.mark.slow

RUN = Run("minrate", quick=True)


def test_analysis_foresees_the_excess_where_there_are_hardly_any_timeouts() -> None:
    run = Run("minrate")
    for (window, _), found in zip(_CASES.values(), (timed_with_sack(run), windowed_with_sack(run)), strict=True):
        best_effort, *excess = _model(window)
        for flow, expected in zip(RATES, excess, strict=True):
            measured = ratio(found.excess(flow), found.throughput("be")).mean()
            # 0.15 of a best-effort flow's share: the analysis leaves out timeouts and bursts.
            assert measured == pytest.approx(expected / best_effort, abs=0.15), flow


def test_cubic_needs_the_timer_too_and_shares_more_fairly_with_the_window() -> None:
    plain, timed, adaptive = cubic(RUN).values()
    assert plain.compliant("r4").mean() < 0.95 * 4
    for found in (timed, adaptive):
        assert 0.97 * 4 <= found.compliant("r4").mean() <= 1.02 * 4
    fairness = [ratio(found.excess("r4"), found.throughput("be")).mean() for found in (timed, adaptive)]
    assert fairness[1] > fairness[0]


def test_reserved_datagrams_arrive_and_take_nothing_more_from_tcp() -> None:
    marked, unmarked = (datagrams._beside(RUN, reserved) for reserved in (2.0, 0.0))
    gain = datagrams._came(marked, 2.0).mean() - datagrams._came(unmarked, 0.0).mean()
    assert gain > 0.005
    assert ratio(marked.throughput("be"), unmarked.throughput("be")).mean() == pytest.approx(1.0, abs=0.2)


def test_jitter_of_a_packets_time_ends_the_lock_out() -> None:
    locked, free = (
        evolution(RUN, "10Mb/samedir", drop_tail=LINKS, recovery="sack", jitter=jitter) for jitter in (False, True)
    )
    assert locked.throughput("r4").mean() < 0.1 * 4
    assert free.throughput("r4").mean() > 0.93 * 4


def test_sack_is_free_of_the_loop_of_timeouts_but_not_of_collapse() -> None:
    missed = fragile._run(RUN, "Fig. 7, average round trip", "sack").compliant("r4") < 0.95 * 4
    assert not missed.any()
    most = collapse._COUNTS[-1]
    goodput = [collapse._together(collapse._crowd(RUN, kind, most, "sack"), most) for kind in ("trusting", "plain")]
    assert ratio(goodput[0], goodput[1]).mean() < 0.95
    assert collapse._wasted(collapse._crowd(RUN, "trusting", most, "reno"), most).mean() > 0.15
