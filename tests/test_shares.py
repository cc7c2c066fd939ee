"""Goodput as a share of the capacity: of what was sent in the measured time, which begins with data on its way."""

from typing import Any

import pytest

import varicap

QUEUE = {"drop-tail": {"limit": "200 packets"}}


def measured(window_s: float, *rates: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows of a flow and of its link, whose capacity changes as measuring begins, four seconds after the start."""
    capacity = {"steps": {"at": ["0 s", "4 s"], "rates": list(rates)}}
    given = {
        "name": "cut",
        "duration": f"{4 + window_s} s",
        "warmup": "4 s",
        "seeds": 1,
        "topology": {"dumbbell": {"forward": {"capacity": capacity, "delay": "100 ms", "queue": QUEUE}}},
        "flows": {"a": {}},
    }
    result = varicap.run(given)
    return result.flows.to_pylist()[0], result.links.to_pylist()[0]


@pytest.mark.parametrize("window_s", [0.01, 0.05, 0.09, 0.2, 1.0])
def test_what_was_sent_before_the_measured_time_had_no_part_of_its_capacity(window_s: float) -> None:
    flow, link = measured(window_s, "10 Mb/s", "1 Mb/s")
    assert flow["goodput_of_capacity"] <= min(max(link["utilisation"], link["throughput_bps"] / 1e6), 1.0)
    if window_s == 0.09:
        assert flow["goodput_bps"] > 1.2 * link["capacity_bps"], "or there is nothing to see"


def test_a_share_below_that_is_goodput_over_capacity() -> None:
    flow, link = measured(20.0, "10 Mb/s", "10 Mb/s")
    assert flow["goodput_of_capacity"] == pytest.approx(flow["goodput_bps"] / link["capacity_bps"], rel=1e-12)
    assert 0.5 < flow["goodput_of_capacity"] < 1.0


def test_nothing_is_a_share_of_no_capacity() -> None:
    flow, _ = measured(1.0, "10 Mb/s", "0 b/s")
    assert flow["goodput_of_capacity"] is None or flow["goodput_of_capacity"] != flow["goodput_of_capacity"]
