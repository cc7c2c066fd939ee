"""That regions of confidence hold what they claim to hold, as often as they claim."""

import numpy as np
from scipy.stats import binomtest

from varicap.statistics.region import Region

NOMINAL = 0.95
REPETITIONS = 4000


def test_a_region_of_two_means_covers_them_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    mean, mixing = np.array([3.0, -2.0]), np.array([[1.0, 0.8], [0.0, 0.6]])
    covered = 0
    for _ in range(REPETITIONS):
        region = Region.of(mean + rng.normal(size=(5, 2)) @ mixing.T)
        assert region is not None
        inside = np.linalg.solve(region.axes, mean - region.centre)
        covered += bool(inside @ inside <= 1.0)
    # Of a region that covers in 95 % of all cases, a count so far from that is found once in a thousand times.
    assert binomtest(covered, REPETITIONS, NOMINAL).pvalue > 1e-3


def test_the_outline_is_the_edge_of_the_region() -> None:
    region = Region.of(np.random.default_rng(2).normal(size=(6, 2)) * [1.0, 20.0])
    assert region is not None
    inside = np.linalg.solve(region.axes, (region.outline() - region.centre).T)
    np.testing.assert_allclose((inside**2).sum(axis=0), 1.0)
