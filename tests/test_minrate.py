"""The network of [minrate]: values of an independent simulator, and what the figures are made of."""

import numpy as np
import pytest
from conftest import ROOT

from varicap import papers
from varicap.analyse.models.minrate import shares
from varicap.engines.scenarios import load
from varicap.papers.minrate import fig10
from varicap.papers.minrate.collapse import _load
from varicap.papers.minrate.evolution import TOPOLOGIES, better_times, dips, swing
from varicap.papers.minrate.fig03 import _around_cuts
from varicap.papers.minrate.fig06 import timed
from varicap.papers.minrate.fig07 import AVERAGE, windowed
from varicap.papers.minrate.fig09 import _reach
from varicap.papers.minrate.network import LINKS, RATES, Measured, means, measure, senders
from varicap.papers.minrate.transients import Transients
from varicap.papers.run import Run, ratio
from varicap.statistics import Array

RUN = Run("minrate", quick=True, jobs=1)


@pytest.fixture(scope="module")
def plain() -> Measured:
    return measure(RUN, senders("plain"))


@pytest.mark.parametrize(
    ("flow", "throughput", "compliant"), [("r1", 1.474, 0.489), ("r2", 1.932, 1.096), ("r4", 2.988, 2.589)]
)
def test_plain_tcp_gets_what_an_independent_simulator_found(
    plain: Measured, flow: str, throughput: float, compliant: float
) -> None:
    assert plain.throughput(flow).mean() == pytest.approx(throughput, rel=0.15)
    assert plain.compliant(flow).mean() == pytest.approx(compliant, rel=0.1)
    assert plain.lost_tokens(flow, RATES[flow]).mean() == pytest.approx(1 - compliant / RATES[flow], abs=0.06)


def test_timers_meet_every_reservation_and_windows_share_the_excess_as_foreseen() -> None:
    for found, window in ((timed(RUN), "whole"), (windowed(RUN), "best-rtt")):
        expected = shares([1e6, 2e6, 4e6, 0.0, 0.0, 0.0], window).excess_bps  # type: ignore[arg-type]
        for (flow, rate), excess in zip(RATES.items(), expected, strict=False):
            assert found.compliant(flow).mean() == pytest.approx(rate, rel=0.02)
            assert found.excess(flow).mean() == pytest.approx(excess / 1e6, abs=0.12)
        assert found.throughput("be").mean() == pytest.approx(expected[-1] / 1e6, abs=0.12)


def test_the_average_round_trip_is_too_much_for_reno_and_not_for_sack() -> None:
    reno, sack = windowed(RUN, AVERAGE), windowed(RUN, AVERAGE, "sack")
    assert reno.compliant("r4").mean() < 3.2
    assert sack.compliant("r4").mean() > 3.8
    assert reno.timeouts("r4").mean() > 10 * max(sack.timeouts("r4").mean(), 0.1)


def test_every_claim_is_of_the_paper() -> None:
    claims = papers.paper("minrate").claims
    assert [one.id for one in claims if "beyond" in one.where] == []
    # A timer of today's machine neither reproduces nor refutes one of 1997.
    assert papers.paper("minrate").of("table1") == ()


def test_no_interval_is_missing_and_readings_stand_beside_the_claims() -> None:
    outcome = fig10.reproduce(RUN)
    assert all(value.sim is not None and value.sim.lo is not None for value in outcome.values.values())
    (grid,) = outcome.grids
    assert grid.title.startswith("Readings: ")
    assert list(grid.rows)[:3] == ["4 one way", "4 each way", "8 one way"]
    assert grid.rows["4 each way"][1] == outcome.values["F10a-window/both"].sim
    assert set(outcome.readings["F10a-window/fwd"]) == {*list(grid.rows)[3:]}


def test_the_network_has_nine_links_in_both_directions() -> None:
    loaded = load(ROOT / "python/varicap/papers/minrate/scenarios/chain.toml")
    assert len(set(LINKS)) == 18
    assert all(f'"{link}"' in loaded.to_json() for link in LINKS)


def test_reaction_times_count_from_the_change(plain: Measured) -> None:
    half = 200  # intervals of 0.1 s
    at_once = np.full((1, 1, half), 6.0)
    late = np.where(np.arange(half) < 70, 0.0, 6.0)[None, None]
    never = np.full((1, 1, half), 1.0)
    of = {
        name: Transients(plain, rises, rises) for name, rises in (("once", at_once), ("late", late), ("never", never))
    }
    assert of["once"].t90[0] == pytest.approx(0.1)
    # After 7 s, and until 2.7 of the last 3 s are at 6 Mb/s.
    assert of["late"].t90[0] == pytest.approx(7.0 + 2.7 - 3.0, abs=0.11)
    assert of["never"].t90[0] == 20.0
    assert of["late"].first5[0] == 0.0
    assert of["late"].last5[0] == pytest.approx(1.0)
    slow = np.where(np.arange(half) < 100, 6.0, 0.5)[None, None]
    assert Transients(plain, slow, slow).left_to_fall[0] == pytest.approx(1.0)
    assert of["once"].left_to_fall[0] == 0.0


def test_a_ratio_of_means_scatters_as_numerator_and_denominator_do() -> None:
    above, below = np.array([2.0, 4.0, 9.0]), np.array([1.0, 2.0, 3.0])
    assert ratio(above, below).mean() == pytest.approx(2.5)
    assert ratio(2.5 * below, below) == pytest.approx([2.5, 2.5, 2.5])
    assert ratio(above, np.full(3, 2.0)) == pytest.approx(above / 2.0)


def test_tokens_are_counted_for_a_second_on_either_side_of_a_cut() -> None:
    cwnd = np.full(60, 40.0)
    cwnd[30:] = 20.0
    lost = np.where(np.arange(60) < 28, 1.0, 3.0)
    assert _around_cuts(lost, cwnd) == (1.0, 3.0)
    # The step down from an inflated window is no other cut, unless it is one of a quarter.
    cwnd[31] = 18.0
    assert _around_cuts(lost, cwnd) == (1.0, 3.0)


def test_a_timer_reaches_as_far_as_every_shorter_one_does() -> None:
    total = {20: np.array([4.0, 3.0, 4.0]), 50: np.array([4.1, 4.0, 3.0]), 100: np.array([3.9, 4.0, 4.0])}
    assert _reach(total).tolist() == [100.0, 0.0, 20.0]


def test_a_connection_that_is_shut_out_neither_suffers_nor_oscillates(plain: Measured) -> None:
    class Shut(Measured):
        def series(self, flow: str, column: str = "throughput_bps", scale: float = 1e-6) -> tuple[Array, Array]:
            return np.arange(1, 1001) / 10, np.zeros((2, 1000))

    shut = Shut(plain.result)
    accept = {one.id: one.accept for one in papers.paper("minrate").claims}
    for value, claim in ((swing(shut), "F12a-oscillates"), (better_times(shut), "F13b-throughout")):
        assert value.tolist() == [0.0, 0.0]
        assert all(accept[f"{claim}/{topology}"][0] > 0.0 for topology in TOPOLOGIES)
    for claim in ("F12a-4", "F13b"):
        assert all(accept[f"{claim}/{topology}"][0] > 0.0 for topology in TOPOLOGIES)
    assert dips(shut).tolist() == [1.0, 1.0]


def test_means_drop_what_is_left_over() -> None:
    assert means(np.arange(7.0), 3).tolist() == [1.0, 4.0]
    assert _load(20) == pytest.approx(4.0), "four groups of 20 with 0.5 Mb/s over 10 Mb/s"
