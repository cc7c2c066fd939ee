"""`varicap design lrl`: settings that reach a target, and where the link is unstable."""

import json

import pytest
from conftest import ROOT, Cli

from varicap.design.lrl import report
from varicap.design.lrl import solve as design
from varicap.design.lrl.grid import Grid, Setting
from varicap.design.lrl.solve import Point, Target, lrl
from varicap.engines.scenarios import load_reactive_tables
from varicap.statistics import Interval

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


def test_the_best_meets_the_target_with_the_least_capacity() -> None:
    target = Target(least_throughput_bps=900e3, most_delay_s=0.06)
    found = lrl(PAPER, lows=[1000, 2000], highs=[2000, 4000, 6000], target=target, seeds=4, extend=False)
    good = [point for point in found.points if point.verdict(target) == "meets"]
    assert found.best is not None
    assert 1 < len(good) < len(found.points)
    assert found.best.capacity_bps.mean == min(point.capacity_bps.mean for point in good)
    assert found.verdict == "meets"
    assert (found.best.throughput_bps.lo or 0) >= 900e3


def test_what_no_setting_meets_is_said_with_what_comes_nearest() -> None:
    found = lrl(PAPER, lows=[1000], highs=[2000], target=Target(most_delay_s=1e-6), seeds=2)
    assert (found.best, found.verdict) == (None, "misses")
    assert "none meets the target; nearest: low = 1000 B" in report.conclusion(found)


def test_without_a_target_none_is_recommended() -> None:
    # A stable link may be useless: with thresholds of 1 and 17 kB it stays at 184 kb/s, the queue at 747 ms.
    found = lrl(ROOT / "examples/lrl.toml", lows=[1000], highs=[3000, 17000], seeds=2)
    assert [point.stable for point in found.points] == [True, True]
    assert (found.best, found.verdict, found.to_dict()["best"]) == (None, None, None)
    assert "none is recommended without a target" in report.conclusion(found)


def at(setting: Setting, throughput: Interval, runs: int = 3) -> Point:
    good = Interval(setting.low * 100.0)
    return Point(setting, throughput, good, Interval(0.01, 0.01, 0.01), 1.0, Interval(0.0), runs)


def test_the_interval_decides_and_more_runs_narrow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def measure(_loaded: object, setting: Setting, _links: object, runs: int, _jobs: object) -> Point:
        made.append(runs)
        half = 0.3e6 / runs**0.5
        return at(setting, Interval(1.1e6, 1.1e6 - half, 1.1e6 + half), runs)

    monkeypatch.setattr(design, "_measure", measure)
    target = Target(least_throughput_bps=1e6)
    found = lrl(PAPER, lows=[1000], highs=[2000], target=target, seeds=3)
    assert found.best is not None
    assert made[0] == 3
    assert found.best.runs == made[-1] > 3
    sharper = Target(least_throughput_bps=1.099e6)
    assert lrl(PAPER, lows=[1000], highs=[2000], target=sharper, seeds=3).verdict == "undecided"
    assert max(made) <= 12


def test_a_grid_whose_edge_wins_is_extended(monkeypatch: pytest.MonkeyPatch) -> None:
    # The mean capacity grows with the low threshold: the least one wins, down to 250 B, below which nothing opens.
    def measure(_loaded: object, setting: Setting, _links: object, runs: int, _jobs: object) -> Point:
        rate = 2e6 if setting.low >= 250 else 0.1e6
        return at(setting, Interval(rate, rate, rate), runs)

    monkeypatch.setattr(design, "_measure", measure)
    target = Target(least_throughput_bps=1e6)
    found = lrl(PAPER, lows=[1000, 2000], highs=[4000], target=target)
    assert found.best is not None
    assert (found.best.setting.low, found.at_edge, found.added) == (250, False, 3)
    assert "3 of them were added because the best so far lay at an edge" in report.conclusion(found)
    held = lrl(PAPER, lows=[1000, 2000], highs=[4000], target=target, extend=False)
    assert held.at_edge
    assert "it lies at an edge of what was tried" in report.conclusion(held)


def test_a_grid_goes_on_by_the_ratio_of_its_last_values() -> None:
    grid = Grid((1, 2), (3, 6), ((50e3, 25e3), (100e3, 50e3)), "packets")
    wider = grid.beyond(Setting(1, 6, "packets", 100e3, 50e3))
    assert wider == Grid((1, 2), (3, 6, 12), ((50e3, 25e3), (100e3, 50e3), (200e3, 100e3)), "packets")
    assert grid.beyond(Setting(2, 6, "packets", 75e3, 50e3)).lows == (1, 2, 4)


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
    assert "none is recommended without a target" in shown
    target = ["--least-throughput", "0.5 Mbit/s", "--no-extend"]
    found = json.loads(cli(*arguments, "--step", "50 kbit/s:25 kbit/s", *target, "--json", "--quiet").stdout)
    assert {point["decrement_bps"] for point in found["points"]} == {25e3}
    assert found["best"]["high"] == 2
    assert found["verdict"] == found["points"][0]["verdict"] == "meets"
    assert found["target"]["throughput_bps"] == {"low": 0.5e6, "high": None}


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
