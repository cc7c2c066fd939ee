"""Where no model fits, the one that nearly does is named first, with the number that keeps it from fitting."""

from typing import Any

import chains
import pytest

import varicap

SHORT = {"rates": ["6 Mbit/s", "3 Mbit/s"], "step": "1 ms", "transitions": [[0.8, 0.2], [0.3, 0.7]]}


def first_reason(flow: str, changed: dict[str, Any], **tcp: Any) -> str:
    asked = chains.scenario(0, flow)
    asked["topology"]["dumbbell"]["forward"] |= changed
    asked["flows"]["one"] = asked["flows"]["one"] | {"tcp": asked["flows"]["one"]["tcp"] | tcp}
    with pytest.raises(varicap.NotApplicableError) as caught:
        varicap.run(asked, engine="model")
    return str(caught.value).splitlines()[0].removeprefix("no model fits the flow `one`: ")


@pytest.mark.parametrize("flow", ["reno", "cubic", "bbr", "ratcp-exact", "ratcp-effcap"])
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"queue": {"drop-tail": {"limit": "5 packets"}}}, "varying: the buffer holds 5 packets: the model needs 2"),
        ({"capacity": {"slotted-markov": SHORT}}, "varying: a rate lasts 0.028 round trips on average"),
        ({"queue": {"drop-tail": {"limit": "unlimited"}}}, "varying: topology.dumbbell.forward.queue: the model's"),
    ],
)
def test_a_number_that_failed_comes_before_models_of_something_else(
    flow: str, changed: dict[str, Any], says: str
) -> None:
    assert first_reason(flow, changed).startswith(says)


@pytest.mark.parametrize("flow", ["reno", "cubic"])
def test_a_limited_window_is_such_a_number(flow: str) -> None:
    assert first_reason(flow, {}, max_window="20 packets").startswith("varying: flows.one.tcp.max_window")


@pytest.mark.parametrize(("flow", "tcp"), [("reno", {"recovery": "sack"}), ("cubic", {"congestion": "vegas"})])
def test_of_as_many_reasons_a_model_of_this_capacity_is_the_nearest(flow: str, tcp: dict[str, Any]) -> None:
    assert first_reason(flow, {}, **tcp).startswith(("varying: flows.one.tcp.", "ratcp: flows.one.tcp."))


def test_a_flow_on_a_fixed_link_hears_of_the_models_of_fixed_links() -> None:
    changed = {"capacity": "8 Mbit/s", "queue": {"drop-tail": {"limit": "2 packets"}}}
    assert first_reason("reno", changed).startswith("sawtooth: topology.dumbbell.forward.queue: in the model it holds")


def test_an_advertised_rate_that_is_late_is_a_number() -> None:
    asked = chains.scenario(0, "ratcp-exact")
    asked["flows"]["one"] = asked["flows"]["one"] | {"feedback": {"delay": "1 s"}}
    with pytest.raises(varicap.NotApplicableError) as caught:
        varicap.run(asked, engine="model")
    assert "varying: flows.one.feedback.delay = 1 s" in str(caught.value).splitlines()[0]
