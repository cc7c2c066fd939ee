"""Traces that varicap makes itself."""

from pathlib import Path

import numpy as np
import pytest
from conftest import EXAMPLES

from varicap import traces


@pytest.mark.parametrize("file", ["lte-like.down", "lte-like.up", "lte-like.txt"])
def test_the_traces_of_the_examples_are_what_their_note_says(tmp_path: Path, file: str) -> None:
    traces.write_pair(tmp_path / "lte-like", seed=2, duration_s=60)
    assert (tmp_path / file).read_bytes() == (EXAMPLES / "traces" / file).read_bytes()


def test_a_trace_obeys_the_format() -> None:
    times = traces.generate_lte(seed=5, duration_s=20.5)
    assert times[0] >= 1
    assert times[-1] == 20_500
    assert (np.diff(times) >= 0).all()


def test_another_seed_is_another_trace() -> None:
    assert traces.generate_lte(1, 10).tolist() != traces.generate_lte(2, 10).tolist()


def test_without_variation_the_mean_is_the_median_rate() -> None:
    link = traces.Cellular(median_bps=6e6, slow_sigma=0, fast_sigma=0, outages_per_min=0)
    rate = traces.mean_rate_bps(traces.generate_lte(7, 1000, link))
    # 500 000 opportunities of a Poisson process: four standard deviations of its count.
    assert rate == pytest.approx(6e6, rel=4 / np.sqrt(500_000))


def test_capacity_stays_below_the_peak() -> None:
    link = traces.Cellular(median_bps=6e6, peak_bps=8e6, slow_sigma=2)
    per_second = np.bincount(traces.generate_lte(3, 300, link) // 1000) * traces.OPPORTUNITY_BITS
    # The peak limits the intensity; five standard deviations of a second's count of 667.
    assert per_second.max() < 8e6 * (1 + 5 / np.sqrt(667))


def test_outages_take_their_share_of_the_time() -> None:
    link = traces.Cellular(slow_sigma=0, fast_sigma=0, outages_per_min=6, outage_s=2)
    rate = traces.mean_rate_bps(traces.generate_lte(4, 20_000, link))
    share = 10 / 12
    # About 1700 cycles; the covered share of a cycle varies by less than itself.
    assert rate == pytest.approx(link.median_bps * share, rel=4 / np.sqrt(1700))


def test_an_empty_trace_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 ms"):
        traces.generate_lte(1, 0)
