"""The bounds of `docs/models.md`: each model against the simulator over a grid of points.

A model that is not strained lies inside its bound, the interval of the simulator considered; the interval is narrow
enough to tell.
"""

import json
from itertools import product
from typing import Any

import pytest

import varicap

NARROW = 0.05
"""Half an interval of the simulator, at most, over its mean."""


def old_tahoe(limit: int, minimum: str, jitter: str = "0 s", **tcp: Any) -> dict[str, Any]:
    """One flow that knows timeouts only, on a fixed link of 20 packets: 0.8 Mb/s, 100 ms."""
    queue = {"drop-tail": {"limit": f"{limit} packets", "counts_in_service": False}}
    timer = {"rfc6298": {"minimum": minimum, "granularity": "10 ms"}}
    given = {"stack": "rfc", "recovery": "old-tahoe", "mss": "500 B", "header": "0 B", "ack": "every", "timer": timer}
    return {
        "name": "timeouts",
        "duration": "320 s",
        "warmup": "20 s",
        "topology": {
            "dumbbell": {
                "forward": {"capacity": "0.8 Mbit/s", "delay": "100 ms", "queue": queue},
                "reverse": {"delay": "0 s"},
            }
        },
        "tcp": given | {"count_options": False} | tcp,
        "flows": {"one": {"start_spread": "1 s", "jitter": jitter}},
    }


def holds(scenario: Any, bounds: dict[str, tuple[float, float]], seeds: int, overrides: dict[str, str]) -> None:
    """Each flow of `bounds` is answered without strain, between these shares below and above the simulator."""
    answers = {one["name"]: one for one in varicap.run(scenario, engine="model", overrides=overrides).summary["flows"]}
    for flow in varicap.run(scenario, seeds=seeds, overrides=overrides).summary["flows"]:
        if flow["name"] not in bounds:
            continue
        below, above = bounds[flow["name"]]
        said, found = answers[flow["name"]], flow["goodput_bps"]
        assert said["strained"] == []
        assert found["hi"] - found["lo"] < 2 * NARROW * found["mean"]
        ratio = {"least": said["goodput_bps"]["mean"] / found["hi"], "most": said["goodput_bps"]["mean"] / found["lo"]}
        assert ratio["most"] > 1 - below, (flow["name"], ratio)
        assert ratio["least"] < 1 + above, (flow["name"], ratio)


@pytest.mark.parametrize(("limit", "minimum"), [*product((7, 10, 14, 30), ("0.2 s", "1 s"))])
@pytest.mark.parametrize("jitter", ["0 s", "1 ms"])
def test_timeouts_on_a_fixed_link(limit: int, minimum: str, jitter: str) -> None:
    holds(old_tahoe(limit, minimum, jitter), {"one": (0.03, 0.03)}, 3, {})


@pytest.mark.parametrize("stack", ["rfc", "linux"])
@pytest.mark.parametrize("timer", ["rfc6298", "linux", "multiple"])
def test_timeouts_on_a_fixed_link_by_stack_and_timer(stack: str, timer: str) -> None:
    holds(old_tahoe(10, "1 s", stack=stack, timer=timer), {"one": (0.03, 0.03)}, 3, {})


@pytest.mark.parametrize("ack", ["every", {"delayed": {"segments": 2, "timeout": "10 ms"}}])
@pytest.mark.parametrize("beta", [1, 4, 5])
@pytest.mark.parametrize("rtt", ["base", {"known": "100 ms"}, {"known": "20 ms"}])
def test_ratcp_on_a_fixed_link(beta: int, rtt: Any, ack: Any) -> None:
    scenario = old_tahoe(10, "0.2 s", congestion={"ratcp": {"beta": f"{beta} packets", "rtt": rtt}}, ack=ack)
    scenario["flows"]["one"]["feedback"] = {"share": "capacity"}
    # An odd window of few packets leaves one that waits for the delayed acknowledgement, or not, by the phase.
    bound = 0.03 if ack == "every" else 0.05
    holds(scenario, {"one": (bound, bound)}, 2, {})


SESSIONS = {"ratcp": (0.0, 0.10), "ratcp-b4": (0.03, 0.05), "tcp": (0.0, 0.16)}


def persistent(limit: int, arrivals: float) -> tuple[dict[str, Any], dict[str, str]]:
    """Table I of [ratcp] with another buffer and other arrivals."""
    scenario = json.loads(varicap.load("python/varicap/papers/ratcp/scenarios/persistent.toml").to_json())
    scenario["flows"] = {name: scenario["flows"][name] for name in SESSIONS}
    link = "topology.dumbbell.forward"
    return scenario, {
        f"{link}.queue.drop-tail.limit": f"'{limit} packets'",
        f"{link}.capacity.sessions.arrivals": f"'{arrivals} /s'",
    }


@pytest.mark.parametrize(("limit", "arrivals"), [(8, 1.0), (10, 3.0), (14, 1.0)])
def test_ephemeral_sessions(limit: int, arrivals: float) -> None:
    scenario, overrides = persistent(limit, arrivals)
    holds(scenario, SESSIONS, 6, overrides)


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize(("limit", "arrivals"), [*product((7, 8, 10, 14, 20), (0.33, 1.0, 3.0))])
def test_ephemeral_sessions_over_the_whole_grid(limit: int, arrivals: float) -> None:
    scenario, overrides = persistent(limit, arrivals)
    holds(scenario, SESSIONS, 40, overrides)


def slotted(delay: float, low: int, limit: int, psi: float) -> tuple[dict[str, Any], dict[str, str]]:
    """The example of EFFCAP on another path, with a capacity that stays for `psi` delays."""
    scenario = json.loads(varicap.load("examples/effcap.toml").to_json())
    del scenario["flows"]["effcap"]
    change, link = 0.03 / (psi * delay), "topology.dumbbell.forward"
    return scenario, {
        f"{link}.capacity.slotted-markov.rates": f"['848 kbit/s', '{low} kbit/s']",
        f"{link}.capacity.slotted-markov.transitions": f"[[{1 - change}, {change}], [{change}, {1 - change}]]",
        f"{link}.queue.drop-tail.limit": f"'{limit} packets'",
        "topology.dumbbell.reverse.delay": f"'{1000 * delay:g} ms'",
        "flows.instcap.feedback.delay": f"'{1000 * delay:g} ms'",
        "duration": "'2020 s'",
    }


@pytest.mark.parametrize(("delay", "low", "limit"), [(0.1, 424, 5), (0.2, 424, 14), (0.1, 212, 14)])
@pytest.mark.parametrize("psi", [50.0, 100.0])
def test_instcap(delay: float, low: int, limit: int, psi: float) -> None:
    scenario, overrides = slotted(delay, low, limit, psi)
    del scenario["flows"]["tcp"]
    holds(scenario, {"instcap": (0.02, 0.15)}, 10, overrides)


@pytest.mark.parametrize("low", [424, 212])
def test_tcp_alone_on_a_slotted_capacity(low: int) -> None:
    scenario, overrides = slotted(0.2, low, 40, 50.0)
    del scenario["flows"]["instcap"]
    del overrides["flows.instcap.feedback.delay"]
    holds(scenario, {"tcp": (0.02, 0.20)}, 10, overrides)
