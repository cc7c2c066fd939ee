"""Models where packets are few and slots long: small buffers, slots that a rate leaves for certain, edges of ranges.

The chains near the edges are others in each month.  A failure prints its number and the series; `VARICAP_SERIES=24323`
draws those of that month again.
"""

import os
from datetime import UTC, datetime
from typing import Any

import chains
import pytest
from conftest import sampled

import varicap

BOUND = 0.08
"""Stated in `docs/models.md`, the simulator's interval considered."""
FLOWS = ("reno", "cubic", "ratcp-exact", "ratcp-effcap")


def this_month() -> int:
    """The series of chains that this month draws, or the one that is asked for."""
    today = datetime.now(UTC)
    return int(os.environ.get("VARICAP_SERIES", 12 * today.year + today.month))


def lies_within_the_bound(number: int, flow: str, **drawn: Any) -> None:
    row = chains.compared(number, flow, chains.LAWS[number % 2], **drawn)
    assert row["said"] == "" or row["why"] or abs(row["off"]) < BOUND, (row, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("number", sampled(100, 25))
def test_few_packets_and_long_slots(number: int, flow: str) -> None:
    lies_within_the_bound(number, flow, family="small")


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("number", sampled(40, 20))
def test_chains_of_this_month_near_the_edges(number: int, flow: str) -> None:
    lies_within_the_bound(number, flow, family="edges", series=this_month())


@pytest.mark.parametrize(("flow", "least"), [("reno", 60), ("cubic", 60), ("ratcp-exact", 30)])
def test_most_of_them_are_answered_without_strain(flow: str, least: int) -> None:
    """What is refused or strained needs no bound."""
    answers = [varicap.run(chains.scenario(number, flow, family="small"), engine="model") for number in range(50)]
    assert sum(answer.summary["fidelity"]["valid"] for answer in answers) >= least / 100 * len(answers)


def two_rates(flow: str, *, step_ms: float, leave: float, limit: int = 24) -> dict[str, Any]:
    """40 and 10 packets in a round trip of 20 ms."""
    asked = chains.scenario(0, flow)
    transitions = [[1 - leave, leave], [leave, 1 - leave]]
    asked["topology"]["dumbbell"]["forward"] = {
        "capacity": {
            "slotted-markov": {
                "rates": ["24 Mbit/s", "6 Mbit/s"],
                "step": f"{step_ms:g} ms",
                "transitions": transitions,
            }
        },
        "delay": "20 ms",
        "queue": {"drop-tail": {"limit": f"{limit} packets"}},
    }
    return asked


def said(asked: dict[str, Any]) -> dict[str, Any]:
    (answer,) = varicap.run(asked, engine="model").summary["flows"]
    return dict(answer)


@pytest.mark.parametrize(("flow", "bound"), [("reno", 0.04), ("cubic", 0.05), ("ratcp-exact", 0.04)])
@pytest.mark.parametrize(("step_ms", "leave"), [(180, 1.0), (90, 0.5), (45, 0.25), (18, 0.1)])
def test_slots_longer_than_a_round_trip_last_as_long_as_they_do(
    flow: str, bound: float, step_ms: float, leave: float
) -> None:
    """Slots of 9, 4.5, 2.25 and 0.9 round trips, which a rate has for 9 of them on average: four different answers."""
    asked = two_rates(flow, step_ms=step_ms, leave=leave)
    found = varicap.run(asked, seeds=4).summary["links"][0]["utilisation"]
    assert found["lo"] * (1 - bound) < said(asked)["details"]["utilisation"] < found["hi"] * (1 + bound)


def test_rates_that_change_like_a_clock_are_strained() -> None:
    alternating, often = (said(two_rates("reno", step_ms=180, leave=leave))["strained"] for leave in (1.0, 0.8))
    assert any("after 100% of its slots comes another rate that is known beforehand" in why for why in alternating)
    assert often == []


def test_ratcp_of_few_packets_is_strained() -> None:
    asked = two_rates("ratcp-exact", step_ms=18, leave=0.1)
    capacity = asked["topology"]["dumbbell"]["forward"]["capacity"]["slotted-markov"]
    capacity["rates"] = ["6 Mbit/s", "3 Mbit/s"]
    assert any("packets in a round trip on average (below 6.25)" in why for why in said(asked)["strained"])


def test_ratcp_is_strained_where_jitter_may_add_a_packet_to_its_window() -> None:
    asked = two_rates("ratcp-exact", step_ms=18, leave=0.1)
    capacity = asked["topology"]["dumbbell"]["forward"]["capacity"]["slotted-markov"]
    capacity["rates"] = ["12 Mbit/s", "7.17 Mbit/s"]  # 11.95 packets in a round trip, and a few percent more
    assert any("a window of 11 packets one of 12" in why for why in said(asked)["strained"])
    asked["flows"]["one"]["jitter"] = "0 s"
    assert said(asked)["strained"] == []


def test_a_source_that_has_no_phases_is_strained_on_long_slots() -> None:
    def strained(step: str, leave: float) -> list[str]:
        asked = two_rates("abr-effcap", step_ms=18, leave=0.1)
        capacity = asked["topology"]["dumbbell"]["forward"]["capacity"]["slotted-markov"]
        capacity |= {"step": step, "transitions": [[1 - leave, leave], [leave, 1 - leave]]}
        capacity["rates"] = ["12 Mbit/s", "7.2 Mbit/s"]
        return [why for why in said(asked)["strained"] if "in the model a rate may end in any round trip" in why]

    assert strained("500 ms", 0.5)
    assert not strained("50 ms", 0.1)
