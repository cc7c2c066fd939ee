"""The load-reactive links of [lrl]: ns-2's values, and what the figures are made of."""

import numpy as np
import pytest

from varicap.papers.lrl.link import FAST_RETURN, Series, Setting, measure
from varicap.papers.run import Run

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
    ours = float(measure(Run("lrl", quick=True, jobs=1), setting).throughput.mean())
    assert ours == pytest.approx(kbps, rel=0.03)


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
