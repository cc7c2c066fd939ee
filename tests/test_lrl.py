"""The load-reactive links of [lrl]: ns-2's values, and what the figures are made of."""

import numpy as np
import pytest

from varicap.papers.lrl.highs import stay_after_fall
from varicap.papers.lrl.link import FAST_RETURN, Series, Setting, measure
from varicap.papers.lrl.sensitivity import FIG3, FIG7, FIG8, VARIANTS
from varicap.papers.run import Run
from varicap.papers.worst import farthest, least, most
from varicap.statistics import Interval

# Throughput [kb/s] of ns-2 2.35 with the settings of the scenario, where nothing is lost.
NS2 = [
    (Setting(2, 6, 20), 927.9),
    (Setting(2, 6, 40), 1850.5),
    (Setting(2, 3, 20), 949.0),
    (Setting(1, 5, 2), 39.6),
    (Setting(1, 5, 5), 204.4),
    (Setting(1, 5, 10), 452.0),
    (Setting(1, 5, 30), 1411.4),
    (Setting(1, 5, 50), 2219.9),
    (Setting(2, 6, 2), 33.1),
    (Setting(2, 6, 30), 1404.4),
    (Setting(1, 5, 2, "packets"), 485.5),
    (Setting(1, 5, 10, "packets"), 887.2),
    (Setting(1, 5, 20, "packets"), 1222.5),
    (Setting(2, 6, 5, "packets"), 566.8),
    (Setting(1, 2, 20), 955.6),
    (Setting(1, 4, 20), 942.1),
    (Setting(1, 8, 20), 915.2),
    (Setting(1, 2, 20, "packets"), 1564.3),
    (Setting(1, 4, 20, "packets"), 1472.1),
]


@pytest.mark.parametrize(("setting", "kbps"), NS2, ids=str)
def test_throughput_is_that_of_ns2_where_nothing_is_lost(setting: Setting, kbps: float) -> None:
    # ns-2 begins with a sample of the controllers, and its hosts take no time.
    assert throughput(setting, VARIANTS["starts with a sample, no jitter"]) == pytest.approx(kbps, rel=0.03)


def test_what_replaces_a_table_takes_the_place_of_changes_inside_it() -> None:
    free = measure(Run("lrl", quick=True, jobs=1), Setting(4, 8, 50), FAST_RETURN)
    assert set(free.link("reverse", "capacity_max_bps")) == {2e6}


def test_openings_and_closures_are_counted_from_the_start() -> None:
    capacity = np.array([[20.0, 70, 70, 20, 120, 20], [20, 20, 20, 20, 20, 20], [70, 20, 20, 20, 20, 70]])
    time = np.arange(1, 7) / 10
    series = Series(time, capacity, capacity, capacity, capacity)
    assert series.openings(20).tolist() == [2, 0, 2]
    assert series.closures(20).tolist() == [2, 0, 1]
    assert series.opens_at(20)[[0, 2]].round(9).tolist() == [0.1, 0.0]
    assert np.isnan(series.opens_at(20)[1])


# ---- findings of papers/lrl/README.md that the paper does not state ------------------------------------------------


def throughput(setting: Setting, changes: dict[str, str] | None = None) -> float:
    return float(measure(Run("lrl", quick=True, jobs=1), setting, changes).throughput.mean())


def test_the_plateau_of_figure_10_is_the_path_of_the_acknowledgements() -> None:
    for c0 in (20, 50, 100):
        best = max(throughput(Setting(4, 8, c0, flows=flows)) for flows in (4, 8, 16))
        assert 0.7 < best / (50 * c0) < 1.1, c0
    free = {flows: throughput(Setting(4, 8, 50, flows=flows), FAST_RETURN) for flows in (4, 8, 16)}
    assert free[16] > 1.5 * free[4]
    assert free[16] < 1.5 * free[8]


def test_a_large_window_costs_tahoe_throughput_and_the_kind_of_tcp_none() -> None:
    plain = throughput(FIG3)
    assert throughput(FIG3, VARIANTS["window 128"]) < 0.8 * plain
    for name in ("Reno", "NewReno", "SACK"):
        assert throughput(FIG3, VARIANTS[name]) == pytest.approx(plain, rel=0.02)
    assert 0.45 < throughput(FIG3, VARIANTS["ACK for each packet"]) / plain < 0.6
    assert throughput(FIG3, VARIANTS["acknowledgements outside the control"]) > 1.5 * plain


@pytest.mark.parametrize(("name", "closes"), [("as reproduced", 1), ("Reno", 0), ("NewReno", 0), ("SACK", 0)])
def test_only_tahoe_falls_back_to_the_minimum(name: str, closes: int) -> None:
    runs = measure(Run("lrl", quick=True, jobs=1), FIG8, VARIANTS[name])
    assert set(runs.forward.closures(FIG8.c0)) == {closes}


@pytest.mark.parametrize("name", ["thresholds not strict", "packet in service counts", "first RTO 3 s"])
def test_other_readings_open_the_link_that_stays_at_zero(name: str) -> None:
    runs = measure(Run("lrl", quick=True, jobs=1), FIG7, VARIANTS[name])
    assert (runs.link("forward", "capacity_max_bps") > 0).all()


# ---- how values are taken ------------------------------------------------------------------------------------------


def test_replications_differ_where_nothing_is_dropped() -> None:
    runs = measure(Run("lrl", quick=True, jobs=1), FIG3).throughput
    assert len(set(runs)) > 1


def test_the_stay_after_a_fall_ends_with_the_next_opening_or_the_run() -> None:
    capacity = np.array([[20.0, 70, 20, 20, 120, 20], [20, 20, 70, 20, 20, 20], [20, 20, 70, 70, 70, 70]])
    series = Series(np.arange(1, 7) / 10, *[capacity] * 4)
    assert stay_after_fall(series, 20).round(9).tolist() == [0.2, 0.3, 0.0]


def test_a_claim_about_several_points_has_the_ends_of_the_worst() -> None:
    low, wide = np.array([0.95, 0.96]), np.array([0.8, 1.3])
    found = least([low, wide])
    assert found.lo == Interval.of(wide).lo  # it holds if each point alone says so
    assert found.hi == Interval.of(low, 0.975).hi  # it fails if one of the two does, by chance no more often than alone
    assert most([-low, -wide]) == Interval(-found.mean, -float(found.hi or 0), -float(found.lo or 0))
    assert least([low]) == Interval.of(low)
    assert farthest([low]).mean == pytest.approx(0.045)
    with pytest.raises(ValueError, match="one run has no interval"):
        least([np.array([1.0])])


def test_the_interval_of_the_worst_covers_it_however_many_points_there_are() -> None:
    rng = np.random.default_rng(1)
    missed = [0, 0]
    for _ in range(400):
        found = least(rng.normal(size=(30, 6)))  # all means are 0
        missed[0] += (found.lo or 0.0) > 0.0
        missed[1] += (found.hi or 0.0) < 0.0
    assert missed[0] == 0
    assert missed[1] < 22  # 10 are due; a chance of 0.0005 of as many
