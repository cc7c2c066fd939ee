"""The model engine: which analysis fits which scenario, and its answers against the simulator's."""

import json
from itertools import pairwise
from typing import Any

import pytest

import varicap
from varicap import NotApplicableError
from varicap.analyse.models import pftk, sawtooth
from varicap.engines import model


def fixed(**forward: Any) -> dict[str, Any]:
    """One NewReno flow over a fixed link: 2 Mb/s, 2 x 40 ms, 1000 + 40 byte packets."""
    link = {"capacity": "2 Mbit/s", "delay": "40 ms", "queue": {"drop-tail": {"limit": "8 packets"}}}
    return {
        "name": "fixed",
        "duration": "320 s",
        "warmup": "20 s",
        "topology": {"dumbbell": {"forward": link | forward}},
        "tcp": {"stack": "rfc", "recovery": "newreno", "congestion": "reno", "mss": "1000 B", "ack": "every"},
        "flows": {"one": {"start_spread": "1 s"}},
    }


def goodputs(scenario: dict[str, Any], seeds: int = 2) -> tuple[float, float]:
    """What the simulator and the model say [b/s]."""
    sim = varicap.run(scenario, seeds=seeds).summary["flows"][0]["goodput_bps"]["mean"]
    return sim, varicap.run(scenario, engine="model").summary["flows"][0]["goodput_bps"]["mean"]


@pytest.mark.parametrize("limit", [5, 8, 15, 30, 60])
@pytest.mark.parametrize("recovery", ["newreno", "sack"])
def test_the_sawtooth_is_the_simulators(limit: int, recovery: str) -> None:
    scenario = fixed(queue={"drop-tail": {"limit": f"{limit} packets"}})
    scenario["tcp"]["recovery"] = recovery
    sim, analysis = goodputs(scenario)
    # A cycle is counted in whole round trips: one packet of some fifty.
    assert analysis == pytest.approx(sim, rel=0.02)


def test_the_sawtooth_knows_delayed_acknowledgements() -> None:
    scenario = fixed()
    scenario["tcp"]["ack"] = "delayed"
    sim, analysis = goodputs(scenario)
    # A burst of two may lose its packet a round trip earlier or later.
    assert analysis == pytest.approx(sim, rel=0.03)


@pytest.mark.parametrize("limit", [5, 8, 15, 30, 60])
@pytest.mark.parametrize("ack", ["every", "delayed"])
def test_the_sawtooth_is_that_of_the_default_stack(limit: int, ack: str) -> None:
    scenario = fixed(queue={"drop-tail": {"limit": f"{limit} packets"}})
    scenario["tcp"] = {"congestion": "reno", "mss": "1000 B", "ack": ack}
    sim, analysis = goodputs(scenario)
    assert analysis == pytest.approx(sim, rel=0.02)


@pytest.mark.parametrize(("ack", "limit"), [("every", 2), ("delayed", 2), ("delayed", 3)])
def test_a_buffer_that_a_burst_fills_is_beyond_the_sawtooth(ack: str, limit: int) -> None:
    """Whether growth by a packet loses one is a matter of instants: with jitter it does, and little gets through."""
    scenario = fixed(queue={"drop-tail": {"limit": f"{limit} packets"}})
    scenario["tcp"] = scenario["tcp"] | {"recovery": "sack", "ack": ack}
    burst = 2 if ack == "every" else 3
    with pytest.raises(NotApplicableError, match=f"more than the {burst} packets that an acknowledgement lets go"):
        varicap.run(scenario, engine="model")
    scenario["flows"]["one"]["jitter"] = "1 ms"
    assert varicap.run(scenario, seeds=2).summary["flows"][0]["goodput_bps"]["hi"] < 0.5 * 2e6


@pytest.mark.parametrize("loss", ["0.5 %", "1 %", "3 %"])
@pytest.mark.parametrize("ack", ["every", "delayed"])
def test_random_loss_follows_its_model_under_the_default_stack(loss: str, ack: str) -> None:
    scenario = fixed(capacity="100 Mbit/s", queue={"drop-tail": {"limit": "unlimited"}}, loss=loss)
    scenario["tcp"] = {"congestion": "reno", "mss": "1000 B", "ack": ack}
    sim, analysis = goodputs(scenario, seeds=6)
    assert analysis == pytest.approx(sim, rel=0.08)


@pytest.mark.parametrize("window", [5, 12, 21])
def test_a_window_that_fits_loses_nothing(window: int) -> None:
    scenario = fixed()
    scenario["tcp"]["receive_window"] = f"{window} packets"
    sim, analysis = goodputs(scenario)
    assert analysis == pytest.approx(sim, rel=0.005)


def test_a_larger_buffer_never_costs_throughput_and_a_pipe_of_buffer_fills_the_link() -> None:
    used = [
        sawtooth.throughput(
            sawtooth.Parameters(capacity_pps=240, round_trip_s=0.0842, waiting_packets=waiting)
        ).utilisation
        for waiting in range(40)
    ]
    assert all(after >= before - 0.004 for before, after in pairwise(used))
    assert used[0] == pytest.approx(0.75, abs=0.03)
    assert used[22:] == [1.0] * 18


@pytest.mark.parametrize("loss", ["0.5 %", "1 %", "3 %", "8 %"])
@pytest.mark.parametrize("recovery", ["reno", "newreno"])
def test_random_loss_follows_its_model(loss: str, recovery: str) -> None:
    scenario = fixed(capacity="100 Mbit/s", queue={"drop-tail": {"limit": "unlimited"}}, loss=loss)
    scenario["tcp"]["recovery"] = recovery
    assert varicap.run(scenario, engine="model").summary["flows"][0]["model"] == "pftk"
    sim, analysis = goodputs(scenario, seeds=6)
    # Independent losses against the model's bursts of them: its authors' own errors are larger.
    assert analysis == pytest.approx(sim, rel=0.06)


def test_less_loss_gives_more() -> None:
    rates = [
        pftk.throughput(pftk.Parameters(loss=loss, round_trip_s=0.1, timeout_s=0.2)).send_pps
        for loss in (0.3, 0.1, 0.03, 0.01, 0.001)
    ]
    assert rates == sorted(rates)


def test_the_renewal_model_answers_what_it_is_of() -> None:
    file = "python/varicap/papers/ratcp/scenarios/persistent.toml"
    result = varicap.run(file, engine="model")
    assert isinstance(result, model.ModelResult)
    by_name = {flow["name"]: flow for flow in result.summary["flows"]}
    assert [name for name, flow in by_name.items() if flow.get("model") == "ratcp"] == ["ratcp", "ratcp-b4", "tcp"]
    sim = varicap.run(file, seeds=4)
    for flow in sim.summary["flows"]:
        if "model" in by_name[flow["name"]]:
            # The paper's own analysis and simulation lie up to 9 % apart.
            ours = by_name[flow["name"]]["goodput_bps"]["mean"]
            assert ours == pytest.approx(flow["goodput_bps"]["mean"], rel=0.09)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"capacity": {"markov": {"rates": ["1 Mbit/s", "2 Mbit/s"], "mean_holding": ["1 s", "1 s"]}}},
            "varying: flows.one.tcp.recovery = newreno",
        ),
        ({"queue": "red"}, "queue = red"),
        ({"loss": {"gilbert-elliott": {"to_bad": 0.01, "to_good": 0.1}}}, "forward.loss"),
    ],
)
def test_what_breaks_an_assumption_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(NotApplicableError, match=says):
        varicap.run(fixed(**change), engine="model")


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("congestion", "cubic", "congestion = cubic"),
        ("recovery", "tahoe", "recovery = tahoe"),
    ],
)
def test_a_tcp_that_no_model_knows_is_named(key: str, value: str, says: str) -> None:
    scenario = fixed()
    scenario["tcp"][key] = value
    with pytest.raises(NotApplicableError, match=says):
        varicap.run(scenario, engine="model")


def test_flows_that_share_a_link_fit_no_model_until_they_are_isolated() -> None:
    scenario = fixed() | {"flows": {"one": {}, "two": {}}}
    with pytest.raises(NotApplicableError, match="isolate = true"):
        varicap.run(scenario, engine="model")
    result = varicap.run(scenario | {"isolate": True}, engine="model")
    assert [flow["model"] for flow in result.summary["flows"]] == ["sawtooth", "sawtooth"]


def test_a_loss_so_rare_that_the_queue_has_a_say_fits_no_model() -> None:
    with pytest.raises(NotApplicableError, match="the queue has a say"):
        varicap.run(fixed(loss="0.01 %"), engine="model")


def test_feedback_that_is_older_than_the_model_says_is_named() -> None:
    file = "python/varicap/papers/ratcp/scenarios/persistent.toml"
    scenario = json.loads(varicap.load(file).to_json())
    scenario["flows"] = {"ratcp": scenario["flows"]["ratcp"]}
    scenario["flows"]["ratcp"]["feedback"] = {"delay": "300 ms"}
    with pytest.raises(NotApplicableError, match=r"feedback\.delay = 0\.3 s"):
        varicap.run(scenario, engine="model")


def test_a_comparison_has_every_engine_and_says_why_one_does_not_apply() -> None:
    compared = varicap.compare(fixed(), seeds=2, only=("sim", "model"))
    both = compared.to_dict()
    assert [answer["engine"] for answer in both["engines"]] == ["sim", "model"]
    goodput = next(row for row in both["differences"] if row["measure"] == "goodput")
    assert set(goodput["values"]) == {"sim", "model"}
    ratio = goodput["values"]["model"] / goodput["values"]["sim"]
    assert goodput["difference_percent"]["model"] == pytest.approx(100 * (ratio - 1))
    assert compared.figure().axes[0].lines[0].get_label() == "sim"
    shared = varicap.compare(fixed() | {"flows": {"one": {}, "two": {}}}, seeds=2, only=("sim", "model"))
    assert "other flows share its links" in shared.to_dict()["engines"][1]["not_applicable"]


def psi(mean: float) -> dict[str, str]:
    """The example of EFFCAP with a capacity that stays for `mean` round trips of 200 ms, in steps of 30 ms."""
    change = 0.03 / (mean * 0.2)
    rows = f"[[{1 - change}, {change}], [{change}, {1 - change}]]"
    return {"topology.dumbbell.forward.capacity.slotted-markov.transitions": rows}


def test_rate_control_follows_its_model_where_the_capacity_changes_slowly() -> None:
    compared = varicap.compare("examples/effcap.toml", only=("sim", "model"), seeds=6, overrides=psi(100.0))
    rows = [row for row in compared.to_dict()["differences"] if row["measure"] == "goodput"]
    goodput = {row["flow"]: row["difference_percent"]["model"] for row in rows}
    assert set(goodput) == {"effcap", "instcap", "tcp"}
    # The paper's own: within a few percent for INSTCAP, TCP alone up to 20 % below the analysis [abr, §V].
    assert goodput["instcap"] == pytest.approx(0, abs=4)
    assert goodput["effcap"] == pytest.approx(0, abs=4)
    assert 0 < goodput["tcp"] < 20
    by_name = {flow["name"]: flow for flow in compared.summaries["model"]["flows"]}
    assert {flow["model"] for flow in by_name.values()} == {"abr"}
    assert by_name["effcap"]["strained"] == []


def test_a_capacity_faster_than_the_round_trip_fits_no_model() -> None:
    with pytest.raises(NotApplicableError, match=r"stays for 0\.5 round trips"):
        varicap.run("examples/effcap.toml", engine="model", overrides=psi(0.5))
