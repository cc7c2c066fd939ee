"""`varicap why`, `design l4s` and `design queue`: what is found where the reason is known, and by brute force."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli

import varicap
from varicap.design import what_if
from varicap.design.what_if.change import times_the_buffer, with_fixed_capacity
from varicap.design.what_if.report import figure

LINK: dict[str, Any] = {"capacity": "10 Mbit/s", "delay": "20 ms", "queue": {"drop-tail": {"limit": "40 packets"}}}
FLOW: dict[str, Any] = {"start_spread": "1 s", "tcp": {"congestion": "cubic"}}


def scenario(link: dict[str, Any], tcp: dict[str, Any] | None = None) -> dict[str, Any]:
    flow = {**FLOW, "tcp": {**FLOW["tcp"], **(tcp or {})}}
    topology = {"dumbbell": {"forward": {**LINK, **link}}}
    return {"name": "it", "duration": "15 s", "warmup": "3 s", "topology": topology, "flows": {"it": flow}}


@pytest.mark.parametrize(
    ("link", "tcp", "reason"),
    [
        ({"loss": "3 %"}, {}, "What holds goodput back most: without loss on the links"),
        ({}, {"receive_window": "10 packets"}, "What holds goodput back most: without a limit at the receiver"),
        ({"queue": {"drop-tail": {"limit": "3 packets"}}}, {}, "What holds goodput back most: with "),
        ({}, {}, "What holds goodput back is the capacity alone"),
    ],
)
def test_the_reason_is_found_where_it_is_known(link: dict[str, Any], tcp: dict[str, Any], reason: str) -> None:
    found = what_if.why(scenario(link, tcp), seeds=5)
    assert any(sentence.startswith(reason) for sentence in found.sentences), found.sentences


def test_a_buffer_that_is_too_long_is_what_makes_packets_wait() -> None:
    found = what_if.why(scenario({"queue": {"drop-tail": {"limit": "400 packets"}}}), seeds=5)
    (said,) = (sentence for sentence in found.sentences if sentence.startswith("What makes packets wait most"))
    half = next(one for one in found.variants if one.name == "with half the buffer")
    assert half.delay_percent.hi is not None
    assert half.delay_percent.hi < -20
    assert "with " in said


def test_a_change_is_the_paired_difference_from_the_same_scenario_written_so() -> None:
    lossy = scenario({"loss": "3 %"})
    found = next(one for one in what_if.why(lossy, seeds=4).variants if one.name == "without loss on the links")
    before, after = (
        np.array(varicap.run(each, seeds=4).flows["goodput_bps"].to_pylist()) for each in (lossy, scenario({}))
    )
    assert found.goodput_percent.mean == pytest.approx(100 * (after - before).mean() / before.mean())
    assert found.goodput_bps.mean == pytest.approx(after.mean())


def test_l4s_and_queues_are_compared_with_what_is_there(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(scenario({"queue": {"drop-tail": {"limit": "200 packets"}}})))
    l4s = json.loads(cli("design", "l4s", "s.json", "--seeds", 3, "--json").stdout)
    dual = scenario({"queue": "dualpi2"}, {"congestion": "prague"})
    rtt = np.mean(varicap.run(dual, seeds=3).flows["rtt_p95_ms"].to_pylist())
    assert l4s["variants"][0]["rtt_p95_ms"]["mean"] == pytest.approx(rtt, rel=0.02)
    done = cli("design", "queue", "s.json", "--seeds", 3, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "Take " in done.stdout
    assert (tmp_path / "out" / "queue.png").exists()
    why = cli("why", "s.json", "--seeds", 3, "-o", "out")
    assert why.returncode == 0, why.stderr
    assert (tmp_path / "out" / "why.png").exists()
    nothing = cli("why", "none.toml")
    assert nothing.returncode == 2
    assert "Traceback" not in nothing.stderr


def test_numbers_that_no_run_moves_are_no_changes() -> None:
    assert "e-" not in " ".join(what_if.queue(scenario({}), seeds=3).sentences)


def test_changes_touch_one_thing() -> None:
    keys = json.loads(varicap.load(scenario({"capacity": {"steps": {"at": ["0 s"], "rates": ["5 Mbit/s"]}}})).to_json())
    forward = keys["topology"]["dumbbell"]["forward"]
    assert times_the_buffer(0.5)(keys)
    assert forward["queue"]["drop-tail"]["limit"] == "20 packets"
    assert with_fixed_capacity({"forward": 5e6})(keys)
    assert forward["capacity"] == "5000000 bit/s"
    assert not with_fixed_capacity({"forward": 5e6})(json.loads(varicap.load(scenario({})).to_json()))


def test_a_figure_has_a_line_for_each_change() -> None:
    found = what_if.why(scenario({}), seeds=2)
    labels = [text.get_text() for text in figure(found).axes[0].get_yticklabels()]
    assert len(labels) == len(found.variants) > 2
