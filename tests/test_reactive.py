"""Load-reactive links from Python: results, policies, and what they answer."""

import math
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import varicap
from varicap.reactive import QueueSample, Setting

LRL = ROOT / "examples" / "lrl.toml"
FORWARD = "topology.dumbbell.forward.capacity.load-reactive"
SHORT = {"duration": "20 s"}
CUSTOM = {**SHORT, f"{FORWARD}.control": '{ custom = "mine" }'}


def test_results_tell_between_what_the_capacity_moved() -> None:
    result = varicap.run(LRL, seeds=1, overrides=SHORT, series=True)
    forward, reverse = result.links.to_pylist()
    assert forward["capacity_min_bps"] == 40_000
    assert forward["capacity_max_bps"] >= forward["capacity_bps"] > 10 * forward["capacity_min_bps"]
    assert (forward["capacity_max_bps"] - 40_000) % 50_000 == 0
    assert 0 < forward["capacity_at_min"] < 0.2
    assert (reverse["capacity_max_bps"], reverse["capacity_at_min"]) == (40_000, 1.0)
    series = [row for row in result.link_series.to_pylist() if row["link"] == "forward"]
    assert max(row["capacity_bps"] for row in series) == pytest.approx(forward["capacity_max_bps"], rel=1e-9)
    mean = sum(row["backlog_mean_bytes"] for row in series) / len(series)
    assert mean == pytest.approx(forward["backlog_mean_bytes"], rel=1e-6)


def test_a_policy_in_python_does_what_the_same_policy_built_in_does() -> None:
    class Hysteresis:
        def __init__(self, link: str) -> None:
            assert link == "forward"

        def __call__(self, sample: QueueSample) -> float:
            if sample.occupancy_bytes > 6000:
                return sample.capacity_bps + 50_000
            if sample.occupancy_bytes < 2000:
                return max(0.0, sample.capacity_bps - 50_000)
            return sample.capacity_bps

    built_in = varicap.run(LRL, seeds=2, overrides=SHORT)
    mine = varicap.run(LRL, seeds=2, overrides=CUSTOM, controls={"mine": Hysteresis})
    assert mine.links.equals(built_in.links)
    assert mine.request.controls == ("mine",)


def test_a_policy_may_set_the_delay_and_the_limit() -> None:
    def shrink(_link: str) -> Any:
        return lambda sample: Setting(5e6, delay_s=0.005 if sample.at_s > 10 else 0.2, limit_packets=10)

    result = varicap.run(LRL, seeds=1, overrides=CUSTOM, controls={"mine": shrink}, series=True)
    rtts = {round(row["time_s"], 1): row["srtt_s"] for row in result.flow_series.to_pylist()}
    assert rtts[9.0] > 0.2 > 0.1 > rtts[19.0]
    assert result.links["backlog_max_packets"][0].as_py() <= 10


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("fast", "no attribute"),
        (float("nan"), "gave NaN as capacity_bps"),
        (-1, "gave -1 as capacity_bps"),
        (-math.inf, "gave -inf as capacity_bps"),
        (Setting(-1.0), "gave -1 as capacity_bps"),
        (Setting(1e6, delay_s=-1), "delay_s"),
        (Setting(1e6, delay_s=math.nan), "NaN as delay_s"),
        (Setting(1e6, limit_packets=-1), "gave -1 as limit_packets"),
        (Setting(1e6, limit_packets=math.nan), "gave NaN as limit_packets"),
        (Setting(1e6, limit_bytes=-1), "gave -1 as limit_bytes"),
    ],
)
def test_a_policy_that_makes_no_sense_ends_the_run(answer: Any, message: str) -> None:
    with pytest.raises((ValueError, AttributeError), match=message):
        varicap.run(LRL, seeds=1, overrides=CUSTOM, controls={"mine": lambda _link: lambda _sample: answer})


def test_what_a_policy_may_not_answer_says_of_which_link_and_when() -> None:
    def late(_link: str) -> Any:
        return lambda sample: -1.0 if sample.at_s > 5 else 1e6

    with pytest.raises(ValueError, match="gave -1 as capacity_bps, expected a number from 0 on") as error:
        varicap.run(LRL, seeds=1, overrides=CUSTOM, controls={"mine": late})
    assert "link `forward`, at 5." in error.value.__notes__[0]


def test_a_policy_that_raises_ends_the_run() -> None:
    def make(_link: str) -> Any:
        return lambda _sample: 1 / 0

    def unmade(_link: str) -> Any:
        raise RuntimeError("no memory")

    with pytest.raises(ZeroDivisionError) as error:
        varicap.run(LRL, seeds=1, overrides=CUSTOM, controls={"mine": make})
    assert f"in the policy `mine` ({make.__name__}) of link `forward`, at 0 s" in error.value.__notes__[0]
    with pytest.raises(RuntimeError, match="no memory") as error_of_making:
        varicap.run(LRL, seeds=1, overrides=CUSTOM, controls={"mine": unmade})
    assert f"in making the policy `mine` ({unmade.__name__})" in error_of_making.value.__notes__[0]


def test_a_policy_that_nobody_brought_is_missed() -> None:
    with pytest.raises(varicap.ScenarioError, match="forward: nobody brought a policy called `mine`"):
        varicap.run(LRL, seeds=1, overrides=CUSTOM)


def test_a_typed_scenario_has_load_reactive_links(tmp_path: Path) -> None:
    from varicap.scenario import Dumbbell, Flow, Hysteresis, Link, LoadReactive, Markov, Red, Scenario

    residual = Markov(rates=["1 Mbit/s", "0 bit/s"], mean_holding=["2 s", "1 s"])
    capacity = LoadReactive(
        minimum="20 kbit/s", residual=residual, control=Hysteresis(low="1 packets", high="3 packets")
    )
    scenario = Scenario(
        duration="60 s",
        topology=Dumbbell(forward=Link(capacity=capacity, delay="20 ms", queue=Red())),
        flows={"sack": Flow()},
    )
    (forward, _) = varicap.run(scenario, seeds=1).links.to_pylist()
    assert forward["capacity_min_bps"] == 0, "pre-empted"
    assert 100_000 < forward["capacity_max_bps"] <= 1_000_000
    file = tmp_path / "typed.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    assert varicap.run(file, seeds=1).links.to_pylist()[0] == forward
