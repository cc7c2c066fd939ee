"""Reno and CUBIC on Markov capacities of n rates: the model against the simulator, and what it refuses."""

from collections.abc import Sequence

import chains
import pytest
from conftest import sampled

import varicap
from varicap.analyse import together
from varicap.analyse.effective import SlottedChain
from varicap.analyse.models import varying

BOUND = 0.08
"""Stated in `docs/models.md`, the simulator's interval considered."""
APART = 5.0
"""Largest rate over the least, beyond which every answer is strained."""


def compared(number: int, control: str) -> None:
    row = chains.compared(number, control)
    assert row["model"] == "varying"
    assert (row["why"] == "") == (row["apart"] <= APART)
    assert row["why"] or abs(row["off"]) < BOUND, row


@pytest.mark.parametrize("control", ["reno", "cubic"])
@pytest.mark.parametrize("number", range(6))
def test_random_chains(number: int, control: str) -> None:
    compared(number, control)


@pytest.mark.slow
@pytest.mark.parametrize("control", ["reno", "cubic"])
@pytest.mark.parametrize("number", sampled(200, 19))
def test_random_chains_over_the_whole_grid(number: int, control: str) -> None:
    compared(number, control)


def test_states_that_are_alike_change_nothing() -> None:
    """Three states of which two have one rate are two states."""
    asked = chains.scenario(0, "reno")
    capacity = asked["topology"]["dumbbell"]["forward"]["capacity"]["slotted-markov"]
    capacity |= {"rates": ["6 Mbit/s", "3 Mbit/s"], "transitions": [[0.8, 0.2], [0.3, 0.7]]}
    two = varicap.run(asked, engine="model").summary["flows"][0]["goodput_bps"]["mean"]
    capacity |= {
        "rates": ["6 Mbit/s", "3 Mbit/s", "3 Mbit/s"],
        "transitions": [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.3, 0.2, 0.5]],
    }
    three = varicap.run(asked, engine="model").summary["flows"][0]["goodput_bps"]["mean"]
    assert three == pytest.approx(two, rel=1e-6)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("capacity.slotted-markov.rates", "['0.01 Mbit/s', '5 Mbit/s']", "no outages"),
        ("queue.drop-tail.limit", "'5 packets'", "the buffer holds 5 packets"),
        ("capacity.slotted-markov.step", "'1 ms'", "round trips on average"),
    ],
)
def test_outside_its_region_it_refuses(key: str, value: str, says: str) -> None:
    # Reno and CUBIC are answered in outages, strained: see below.
    asked = chains.scenario(0, "bbr" if "rates" in key else "cubic")
    capacity = asked["topology"]["dumbbell"]["forward"]["capacity"]["slotted-markov"]
    capacity |= {"rates": ["6 Mbit/s", "3 Mbit/s"], "transitions": [[0.8, 0.2], [0.3, 0.7]]}
    with pytest.raises(varicap.NotApplicableError, match=says):
        varicap.run(asked, engine="model", overrides={f"topology.dumbbell.forward.{key}": value})


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_a_fitted_lte_link_is_answered_with_its_outages(control: str) -> None:
    """The chain that `varicap trace fit examples/traces/lte-like.down` gives: a state in six is an outage."""
    asked = chains.scenario(0, control)
    asked["topology"]["dumbbell"]["forward"] = {
        "capacity": {
            "markov": {
                "rates": [f"{rate} bit/s" for rate in (0, 1440092, 2594877, 4777883, 8347105, 13938811)],
                "mean_holding": ["421 ms", "1022 ms", "372 ms", "321 ms", "430 ms", "224 ms"],
            }
        },
        "delay": "40 ms",
        "queue": {"drop-tail": {"limit": "100 packets"}},
    }
    said = varicap.run(asked, engine="model").summary["flows"][0]
    assert said["model"] == "varying"
    assert "the model has no timeouts" in said["strained"][0]
    found = varicap.run(asked, seeds=4).summary["links"][0]["utilisation"]
    assert found["lo"] * 0.99 < said["details"]["utilisation"] < found["hi"] * 1.01


def test_cycles_of_cubic_that_would_take_much_memory_are_not_all_followed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    links = [SlottedChain.symmetric(10.0 + number, high=40.0, low=10.0) for number in range(5)]
    paths = [varying.Parameters(capacity=link, waiting_packets=20, round_trip_s=0.1) for link in links]
    at_once = []
    whole = varying._Cubic.__init__

    def counted(self: varying._Cubic, several: Sequence[varying.Parameters]) -> None:
        at_once.append(len(several))
        whole(self, several)

    monkeypatch.setattr(varying._Cubic, "__init__", counted)
    of_all = together.run([varying.solve_cubic(path) for path in paths])
    assert at_once == [5]
    monkeypatch.setattr(varying, "_ENTRIES", 2 * (2 * varying._EPOCHS * 2) ** 2)
    assert together.run([varying.solve_cubic(path) for path in paths]) == pytest.approx(of_all, rel=1e-12)
    assert at_once == [5, 2, 2, 1]
