"""Reno and CUBIC on Markov capacities of n rates: the model against the simulator, and what it refuses."""

from typing import Any

import numpy as np
import pytest

import varicap

BOUND = 0.08
"""Stated in `docs/models.md`, the simulator's interval considered."""


def scenario(number: int, control: str) -> dict[str, Any]:
    """A random chain of 2 to 5 rates."""
    rng = np.random.default_rng([21, number])
    states = int(rng.integers(2, 6))
    rates = np.sort(rng.uniform(1.5, 12, states))
    stay = rng.uniform(0.3, 0.97, states)[:, None]
    changes = np.round(stay * np.eye(states) + (1 - stay) * rng.dirichlet(np.ones(states), states), 4)
    changes[:, 0] += 1 - changes.sum(axis=1)
    delay_ms = int(rng.choice([40, 80, 120]))
    pipe = rates.max() * 1e6 * delay_ms / 1e3 / 12000
    limit = int(max(13, rng.uniform(0.3, 1.5) * pipe))
    capacity = {"rates": [f"{rate:.3f} Mbit/s" for rate in rates], "step": "200 ms", "transitions": changes.tolist()}
    return {
        "name": "varying",
        "duration": "120 s",
        "warmup": "10 s",
        "topology": {
            "dumbbell": {
                "forward": {
                    "capacity": {"slotted-markov": capacity},
                    "delay": f"{delay_ms} ms",
                    "queue": {"drop-tail": {"limit": f"{limit} packets"}},
                },
                "reverse": {"delay": "0 s"},
            }
        },
        "flows": {"one": {"start_spread": "1 s", "jitter": "1 ms", "tcp": {"congestion": control}}},
    }


def compared(number: int, control: str) -> None:
    asked = scenario(number, control)
    said = varicap.run(asked, engine="model").summary["flows"][0]
    assert said["model"] == "varying"
    assert said["strained"] == []
    # Of the capacity that each run met: what a chain offers in a short run is not its mean.
    found = varicap.run(asked, seeds=4).summary["links"][0]["utilisation"]
    share = said["details"]["utilisation"]
    assert share < found["hi"] * (1 + BOUND), (number, share, found)
    assert share > found["lo"] * (1 - BOUND), (number, share, found)


@pytest.mark.parametrize("control", ["reno", "cubic"])
@pytest.mark.parametrize("number", range(6))
def test_random_chains(number: int, control: str) -> None:
    compared(number, control)


@pytest.mark.slow
@pytest.mark.parametrize("control", ["reno", "cubic"])
@pytest.mark.parametrize("number", range(200))
def test_random_chains_over_the_whole_grid(number: int, control: str) -> None:
    compared(number, control)


def test_states_that_are_alike_change_nothing() -> None:
    """Three states of which two have one rate are two states."""
    asked = scenario(0, "reno")
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
    asked = scenario(0, "bbr" if "rates" in key else "cubic")
    capacity = asked["topology"]["dumbbell"]["forward"]["capacity"]["slotted-markov"]
    capacity |= {"rates": ["6 Mbit/s", "3 Mbit/s"], "transitions": [[0.8, 0.2], [0.3, 0.7]]}
    with pytest.raises(varicap.NotApplicableError, match=says):
        varicap.run(asked, engine="model", overrides={f"topology.dumbbell.forward.{key}": value})


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_a_fitted_lte_link_is_answered_with_its_outages(control: str) -> None:
    """The chain that `varicap trace fit examples/traces/lte-like.down` gives: a state in six is an outage."""
    asked = scenario(0, control)
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
    assert found["lo"] * 0.86 < said["details"]["utilisation"] < found["hi"] * 1.14
