"""Runs that do not differ, or share what decides them, say so; and numbers that stand on the same terms."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli

import varicap
from varicap.report.table import rows, title_of
from varicap.report.web import page
from varicap.results.result import Result
from varicap.statistics import intervals

IDENTICAL = "are identical, for nothing random reaches them"
HARDLY = "are within 0.01 % of each other"
STRETCH = "all runs meet the same stretch of the trace"
PHASE = "without `jitter`"


def scenario(
    flow: dict[str, Any], capacity: Any = "2 Mbit/s", queue: Any = "10 packets", **more: Any
) -> dict[str, Any]:
    """A flow on a link of 20 ms each way."""
    limit = {"drop-tail": {"limit": queue}} if isinstance(queue, str) else queue
    forward = {"capacity": capacity, "delay": "20 ms", "queue": limit}
    return {
        "name": "noted",
        "duration": "12 s",
        "warmup": "2 s",
        "topology": {"dumbbell": {"forward": forward}},
        "flows": {"one": flow},
        **more,
    }


def notes(result: Result) -> str:
    return "\n".join(result.summary["notes"])


def differ(result: Result) -> list[str | None]:
    return [flow["runs_differ"] for flow in result.summary["flows"]]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ten seconds that are slow at first, and then fast."""
    file = tmp_path / "rates.csv"
    file.write_text("time_s,rate_mbps\n0,1\n3,2\n5,4\n8,3\n9,3\n", encoding="utf-8")
    return file


def test_identical_runs_are_one_run_and_are_called_so() -> None:
    result = varicap.run(scenario({}), seeds=3)
    assert differ(result) == ["no"]
    assert f"one: the 3 runs {IDENTICAL}" in notes(result)
    tables = rows(result.summary)
    assert not any("±" in cell for _, body in tables for row in body for cell in row)
    assert title_of(result.summary, tables) == "noted: 3 identical runs of 10 s measured"
    assert "One: the 3 runs are identical" in page.html(result)


def test_runs_that_hardly_differ_are_called_so_and_others_not() -> None:
    # A shifted start on a path without chance: the link stays full, and not every number is the same.
    result = varicap.run(
        scenario({"start_spread": "500 ms", "tcp": {"max_window": "300 packets"}}, "50 Mbit/s", "400 packets"), seeds=4
    )
    goodputs = result.flows["goodput_bps"].to_numpy()
    assert 0 < np.ptp(goodputs) <= 1e-4 * goodputs.max()
    assert differ(result) == ["hardly"]
    assert f"one: the goodputs of the 4 runs {HARDLY}" in notes(result)
    lossy = scenario({})
    lossy["topology"]["dumbbell"]["forward"]["loss"] = {"bernoulli": 0.01}
    result = varicap.run(lossy, seeds=4)
    assert (differ(result), notes(result)) == (["yes"], "")


def test_a_single_run_has_nothing_to_differ_from() -> None:
    result = varicap.run(scenario({}), seeds=1)
    assert differ(result) == [None]
    assert IDENTICAL not in notes(result)


def test_a_random_offset_lets_each_run_meet_another_part_of_the_trace(trace: Path) -> None:
    fixed = varicap.run(scenario({}, {"trace": {"file": str(trace)}}), seeds=4)
    assert (differ(fixed), f"forward: {STRETCH}" in notes(fixed)) == (["no"], True)
    result = varicap.run(scenario({}, {"trace": {"file": str(trace), "offset": "random"}}), seeds=4)
    assert (differ(result), STRETCH in notes(result)) == (["yes"], False)
    # 10 s of a trace of 10 s are the whole of it, wherever they begin.
    offered = result.links["capacity_bps"].to_numpy()[result.links["name"].to_numpy(zero_copy_only=False) == "forward"]
    assert offered == pytest.approx([2.5e6] * 4, rel=1e-6)


def test_isolated_flows_enter_both_traces_at_the_same_point(trace: Path) -> None:
    short = scenario(
        {}, {"trace": {"file": str(trace), "offset": "random"}}, duration="3 s", warmup="0 s", isolate=True
    )
    short["topology"]["dumbbell"]["reverse"] = {"capacity": {"trace": {"file": str(trace), "offset": "random"}}}
    short["flows"]["other"] = {"tcp": {"congestion": "cubic"}}
    links = varicap.run(short, seeds=3).links
    for replication in range(3):
        offered = [row["capacity_bps"] for row in links.to_pylist() if row["replication"] == replication]
        assert len(offered) == 4
        assert len(set(offered)) == 1
    assert len(set(links["capacity_bps"].to_pylist())) == 3


def test_a_flow_alone_on_a_drop_tail_queue_is_warned_of_ties() -> None:
    alone = varicap.run(scenario({}), seeds=2)
    assert f"one: {PHASE}" in notes(alone)
    assert PHASE not in notes(varicap.run(scenario({"jitter": "1 ms"}), seeds=2))
    assert PHASE not in notes(varicap.run(scenario({"count": 2}), seeds=2)), "which have jitter by default"
    assert PHASE not in notes(varicap.run(scenario({}, queue={"red": {}}), seeds=2)), "which has chance of its own"
    assert PHASE not in notes(varicap.run(scenario({"tcp": {"max_window": "4 packets"}}), seeds=2)), "nothing is lost"


def test_the_command_prints_notes_beside_the_table(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "noted.json"
    file.write_text(json.dumps(scenario({})), encoding="utf-8")
    done = cli("run", file, "--seeds", 2, "--no-plot")
    assert done.returncode == 0, done.stderr
    assert "2 identical runs" in done.stdout
    assert f"note: one: the 2 runs {IDENTICAL}" in done.stderr
    assert "note" not in cli("run", file, "--seeds", 2, "--no-plot", "-q").stderr


def test_goodput_over_capacity_is_taken_run_by_run() -> None:
    capacity = {"markov": {"rates": ["3 Mbit/s", "1 Mbit/s"], "mean_holding": ["1 s", "1 s"]}}
    result = varicap.run(scenario({"count": 2}, capacity, "40 packets"), seeds=6)
    offered = [row["capacity_bps"] for row in result.links.to_pylist() if row["name"] == "forward"]
    (group,) = result.summary["groups"]
    ratios = np.array([row["goodput_bps"] / c for row, c in zip(result.groups.to_pylist(), offered, strict=True)])
    assert result.groups["goodput_of_capacity"].to_pylist() == pytest.approx(ratios)
    mean, low, high = intervals(ratios[None, :, None])
    found = group["goodput_of_capacity"]
    assert (found["mean"], found["lo"], found["hi"]) == pytest.approx((mean.item(), low.item(), high.item()))
    # What the capacity does to both cancels.
    goodput = group["goodput_bps"]
    assert found["hi"] - found["lo"] < 0.5 * (goodput["hi"] - goodput["lo"]) / goodput["mean"] * found["mean"]
    shares = [flow["goodput_of_capacity"]["mean"] for flow in result.summary["flows"]]
    assert sum(shares) == pytest.approx(found["mean"])


def test_the_capacity_is_that_of_the_slowest_link() -> None:
    chain = {"forward": [{"capacity": rate, "delay": "5 ms"} for rate in ("8 Mbit/s", "2 Mbit/s")] + [{}]}
    result = varicap.run({"duration": "5 s", "topology": {"chain": chain}, "flows": {"one": {}}}, seeds=1)
    (flow,) = result.summary["flows"]
    assert flow["goodput_of_capacity"]["mean"] == pytest.approx(flow["goodput_bps"]["mean"] / 2e6)
    unlimited = {"duration": "1 s", "topology": {"dumbbell": {"forward": {"delay": "50 ms"}}}, "flows": {}}
    unlimited["flows"] = {"one": {"tcp": {"max_window": "10 packets"}}}
    (flow,) = varicap.run(unlimited, seeds=1).summary["flows"]
    assert flow["goodput_of_capacity"]["mean"] is None


def test_jains_index_is_of_a_group() -> None:
    result = varicap.run(scenario({"count": 3}), seeds=2)
    assert [flow["jain_index"] for flow in result.summary["flows"]] == [None] * 3
    assert 1 / 3 <= result.summary["groups"][0]["jain_index"] <= 1
    assert all(value != value for value in result.flows["jain_index"].to_pylist())
