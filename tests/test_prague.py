"""TCP Prague where its window is a fraction, and in a queue with classic marks."""

from typing import Any

import pytest

import varicap


def run(forward: dict[str, Any], flows: dict[str, Any]) -> varicap.Result:
    delay = forward["delay"]
    scenario = {
        "duration": "25 s",
        "warmup": "10 s",
        "topology": {"dumbbell": {"forward": forward, "reverse": {"delay": delay}}},
        "flows": flows,
    }
    return varicap.run(varicap.load(scenario))


def test_many_flows_over_a_short_path_pace_below_a_segment_per_round_trip() -> None:
    """Eight flows over 2 Mb/s and 2 ms: two segments in flight of each would be a queue of 100 ms, and losses."""
    forward = {"capacity": "2 Mbit/s", "delay": "1 ms", "queue": "dualpi2"}
    result = run(forward, {"prague": {"count": 8, "start_spread": "2 s", "tcp": {"congestion": "prague"}}})
    assert [link["dropped_packets"] for link in result.summary["links"]] == [0, 0]
    assert all(flow["timeouts"] == 0 for flow in result.summary["flows"])
    assert result.summary["links"][0]["utilisation"]["mean"] > 0.85
    assert min(flow["goodput_bps"]["mean"] for flow in result.summary["flows"]) > 0.15e6


@pytest.mark.parametrize(
    ("queue", "fallback", "least", "most"),
    [
        ({"codel": {"ecn": True}}, False, 0.0, 0.1),
        ({"codel": {"ecn": True}}, True, 0.6, 1.5),
        ("dualpi2", True, 0.4, 1.0),
    ],
)
def test_a_queue_with_classic_marks_is_shared_where_the_scenario_says_so(
    queue: Any, fallback: bool, least: float, most: float
) -> None:
    """CUBIC's goodput over Prague's."""
    forward = {"capacity": "50 Mbit/s", "delay": "10 ms", "queue": queue}
    prague = {"prague": {"classic_fallback": fallback}}
    flows = {"cubic": {"tcp": {"congestion": "cubic", "ecn": True}}, "prague": {"tcp": {"congestion": prague}}}
    cubic, other = (flow["goodput_bps"]["mean"] for flow in run(forward, flows).summary["flows"])
    assert least < cubic / other < most
