"""`varicap design lrl`: settings that reach a target, and where the link is unstable."""

import json

import pytest
from conftest import ROOT, Cli

from varicap.engines.scenarios import load_reactive_tables
from varicap.questions.lrl.solve import Target, lrl

pytestmark = pytest.mark.slow

PAPER = ROOT / "python/varicap/papers/lrl/scenarios/one-link.toml"


def test_the_map_shows_where_the_paper_found_the_link_unstable() -> None:
    found = lrl(PAPER, lows=[1000], highs=[2000, 4000, 17000], seeds=3)
    stable = {point.setting.high: point.stable for point in found.points}
    assert stable == {2000: True, 4000: True, 17000: False}
    assert found.link == "forward"
    opens = [point.opens_s for point in found.points]
    assert all(time is not None for time in opens)
    assert opens == sorted(opens), "a higher threshold opens later"  # type: ignore[type-var]


def test_the_best_reaches_the_target_with_the_least_capacity() -> None:
    target = Target(least_throughput_bps=900e3, most_delay_s=0.06)
    found = lrl(PAPER, lows=[1000, 2000], highs=[2000, 4000, 6000], target=target, seeds=1)
    good = [point for point in found.points if point.reaches(target)]
    assert found.best is not None
    assert 1 < len(good) < len(found.points)
    assert found.best.capacity_bps.mean == min(point.capacity_bps.mean for point in good)
    assert lrl(PAPER, lows=[1000], highs=[2000], target=Target(most_delay_s=1e-6), seeds=1).best is None


def test_a_link_that_never_opens_is_not_stable() -> None:
    (point,) = lrl(PAPER, lows=[50e3], highs=[60e3], seeds=1).points
    assert point.opens_s is None
    assert not point.stable


def test_tables_of_load_reactive_links_are_found_anywhere() -> None:
    chain = {"topology": {"chain": {"forward": [{"capacity": "1 Mb/s"}, {"capacity": {"load-reactive": {}}}]}}}
    assert load_reactive_tables(chain) == ["topology.chain.forward.1.capacity.load-reactive"]


def test_the_command_prints_the_map_and_takes_steps_and_packets(cli: Cli) -> None:
    arguments = ["design", "lrl", str(PAPER), "--low", "1 packets", "--high", "2 packets,17 packets", "--seeds", "1"]
    shown = cli(*arguments, "--quiet").stdout
    assert "unstable" in shown
    assert "take low = 1 packets, high = 2 packets" in shown
    found = json.loads(cli(*arguments, "--step", "50 kbit/s:25 kbit/s", "--json", "--quiet").stdout)
    assert {point["decrement_bps"] for point in found["points"]} == {25e3}
    assert found["best"]["high"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--low", "9 kB", "--high", "1 kB"], "no low threshold"),
        (["--low", "2 packets"], "say both in one unit"),
        (["--low", "2 packets,1 kB"], "in bytes and in packets"),
        (["--low", "x packets", "--high", "3 packets"], "whole packets"),
        (["--step", "fast"], "--step"),
        (["--step", "0 kbit/s"], "a rate above 0"),
    ],
)
def test_mistakes_are_told(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("design", "lrl", str(PAPER), *arguments, "--quiet")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
