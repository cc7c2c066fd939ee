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
