"""Copa beside others on one link. Source: [arun18, §2.2]."""

import tomllib
from statistics import fmean

import pytest

import varicap

LINK = """
schema_version = 1
duration = "60 s"
warmup = "20 s"
seeds = 3
[topology.dumbbell.forward]
capacity = "12 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { limit = "80 packets" } }
[topology.dumbbell.reverse]
delay = "20 ms"
[flows.copa]
start_spread = "1 s"
tcp.congestion.copa = { competes = COMPETES }
[flows.other]
start_spread = "1 s"
tcp.congestion = OTHER
"""


def goodputs(competes: bool, other: str | None = None) -> tuple[float, float]:
    """Those of Copa and of another control, or of a second Copa like the first [Mb/s]."""
    twin = f"{{ copa = {{ competes = {str(competes).lower()} }} }}"
    scenario = LINK.replace("COMPETES", str(competes).lower()).replace("OTHER", f'"{other}"' if other else twin)
    flows = varicap.run(varicap.load(tomllib.loads(scenario))).flows.to_pylist()
    copa, beside = (
        fmean(row["goodput_bps"] / 1e6 for row in flows if row["name"] == name) for name in ("copa", "other")
    )
    return copa, beside


def test_it_competes_with_a_control_that_fills_the_buffer_if_it_may() -> None:
    fair = 12 * 1448 / 1500 / 2
    assert goodputs(competes=True, other="cubic")[0] > fair / 2
    assert goodputs(competes=False, other="cubic")[0] < fair / 2


@pytest.mark.parametrize("competes", [True, False])
def test_two_of_them_share_a_link(competes: bool) -> None:
    first, second = goodputs(competes)
    # By Jain's index.
    assert (first + second) ** 2 / (2 * (first**2 + second**2)) > 0.95
    assert first + second > 0.9 * 12 * 1448 / 1500


@pytest.mark.parametrize("stack", ["rfc", "linux"])
def test_its_window_follows_a_rate_that_falls_although_losses_are_being_repaired(stack: str) -> None:
    falls = {"steps": {"at": ["0 s", "10 s"], "rates": ["100 Mbit/s", "10 Mbit/s"]}}
    scenario = {
        "duration": "30 s",
        "topology": {
            "dumbbell": {
                "forward": {"capacity": falls, "delay": "20 ms", "queue": "dualpi2"},
                "reverse": {"delay": "20 ms"},
            }
        },
        "tcp": {"stack": stack},
        "flows": {"copa": {"tcp": {"congestion": "copa"}}},
    }
    flow = varicap.run(varicap.load(scenario), seeds=1).flows.to_pylist()[0]
    # No more than the link carries afterwards.
    assert flow["retransmitted_packets"] < 20 * 10e6 / (8 * 1500)
