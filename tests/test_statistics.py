"""That intervals and regions of confidence hold what they claim to hold, as often as they claim."""

import json
import math
from pathlib import Path
from typing import Any

import interval_coverage as coverage
import numpy as np
import pytest
from scipy.stats import binomtest

import varicap
import varicap._core as _core
from varicap.engines.precision import precision_of
from varicap.results.study import Study
from varicap.results.summary import chances_of, measures_of, range_of
from varicap.statistics import Bounds, Interval, Range, intervals, settle
from varicap.statistics.region import Region

NOMINAL = 0.95
REPETITIONS = 4000


def test_a_region_of_two_means_covers_them_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    mean, mixing = np.array([3.0, -2.0]), np.array([[1.0, 0.8], [0.0, 0.6]])
    covered = 0
    for _ in range(REPETITIONS):
        region = Region.of(mean + rng.normal(size=(5, 2)) @ mixing.T)
        assert region is not None
        inside = np.linalg.solve(region.axes, mean - region.centre)
        covered += bool(inside @ inside <= 1.0)
    # Of a region that covers in 95 % of all cases, a count so far from that is found once in a thousand times.
    assert binomtest(covered, REPETITIONS, NOMINAL).pvalue > 1e-3


def test_the_outline_is_the_edge_of_the_region() -> None:
    region = Region.of(np.random.default_rng(2).normal(size=(6, 2)) * [1.0, 20.0])
    assert region is not None
    inside = np.linalg.solve(region.axes, (region.outline() - region.centre).T)
    np.testing.assert_allclose((inside**2).sum(axis=0), 1.0)


def test_intervals_cover_the_mean_of_skewed_runs_as_often_as_the_documents_say() -> None:
    for name, columns in {
        "nearly full": ("goodput_bps", "utilisation", "timeouts"),
        "2 % lost": ("sojourn_mean_ms", "sojourn_p95_ms", "rtt_mean_ms"),
    }.items():
        pool = dict(coverage.pool(name, 1000))
        for column in columns:
            ten = coverage.batches(pool[column], 10, 1000)
            covered = round(1000 * coverage.covered(coverage.ours(ten, column), pool[column]))
            # Of intervals that cover in 93 % of all cases, so few are found once in a thousand times.
            assert binomtest(covered, 1000, 0.93, "less").pvalue > 1e-3, f"{name}, {column}: {covered}"


def test_intervals_of_arrays_are_those_of_the_summary() -> None:
    scenario, _ = coverage.SCENARIOS["outages"]
    for seeds in (2, 3, 8):
        result = varicap.run(scenario, seeds=seeds)
        (flow,) = result.summary["flows"]
        paths = {one["name"]: one["path"] for one in json.loads(_core.columns())["flows"]}
        for measure in measures_of(result.flows):
            values = np.asarray(result.flows[measure].to_numpy(), np.float64)
            said = [np.nan if end is None else end for end in flow["ci95"][paths[measure]]]
            chances = chances_of(measure)
            if isinstance(chances, str):
                chances = float(np.asarray(result.flows[chances].to_numpy(), np.float64).mean())
            _, low, high = intervals(values[None], range_of(measure), chances=np.trunc(chances))
            assert (low.item(), high.item()) == pytest.approx(said, rel=1e-9, abs=1e-9, nan_ok=True), measure


@pytest.mark.parametrize("within", ["amount", "count", "share", "quantile"])
def test_no_interval_leaves_the_range_of_its_measure(within: Range) -> None:
    rng = np.random.default_rng(3)
    for count in (2, 3, 10):
        values = rng.random((500, count)) ** 12  # most are next to nothing
        mean, low, high = intervals(values, within)
        assert low.min() == 0.0
        assert (low < mean).all()
        assert (mean < high).all()
        assert within != "share" or high.max() == 1.0
    beyond = Interval.of([0.9, 1.0, 1.1], within="share").hi
    assert beyond == Interval.of([0.9, 1.0, 1.1]).hi, "nothing bounds the mean where a run itself is beyond one"


def test_runs_that_agree_decide_only_what_their_range_lets_them() -> None:
    never, always = Interval.of([0.0] * 10, within="count"), Interval.of([1.0] * 10, within="share")
    assert never.hi == pytest.approx(-math.log(0.025) / 10, rel=0.01)
    assert always.lo == pytest.approx(1 + math.log(0.025) / 1e4, abs=1e-5)
    assert Bounds(low=0.95).verdict(always) == "meets"
    assert Bounds(high=0.1).verdict(never) == "undecided"
    late = Interval.of([0.0] * 10, within="share", chances=1)
    assert late.hi == pytest.approx(never.hi)
    assert Bounds(high=0.05).verdict(late) == "undecided"
    assert Bounds(high=0.05).verdict(Interval.of([0.0] * 10, within="share", chances=12)) == "meets"
    delay, goodput = Interval.of([64.0] * 10, within="quantile"), Interval.of([64.0] * 10, within="amount")
    assert (delay.lo, delay.hi) == (63.0, 65.0)
    assert Bounds(high=70.0).verdict(delay) == "meets"
    assert goodput.agrees
    assert Bounds(high=70.0).verdict(goodput) == "undecided"
    assert Bounds(high=70.0).verdict(Interval.exactly(64.0)) == "meets"


def test_a_demand_that_runs_leave_open_by_agreeing_asks_for_no_more_of_them() -> None:
    made: list[int] = []

    def measure(runs: int) -> Interval:
        made.append(runs)
        return Interval.of([64.0] * runs, within="amount")

    settle(measure, lambda found: [(found, Bounds(high=70.0))], runs=4, most=40)
    assert made == [4]


def lucky(probability: str) -> dict[str, Any]:
    """A loss that three short runs hardly meet, on a path without other chance."""
    link = {"capacity": "1 Mbit/s", "delay": "10 ms", "queue": {"drop-tail": {"limit": "20 packets"}}}
    return {
        "duration": "6 s",
        "warmup": "2 s",
        "topology": {"dumbbell": {"forward": link | {"loss": probability}}},
        "flows": {"f": {}},
    }


def test_runs_that_agree_by_luck_are_not_exact_and_decide_nothing() -> None:
    exact, luck = (varicap.run(lucky(share), seeds=3).summary for share in ("0 %", "0.00001 %"))
    for summary in (exact, luck):
        assert summary["flows"][0]["runs_differ"] == "no"
    assert exact["flows"][0]["ci95"]["timeouts"] == [0.0, 0.0]
    assert luck["flows"][0]["ci95"]["timeouts"][1] > 1.0
    assert (exact["exact"], luck["exact"]) == (True, False)
    assert (precision_of(exact), precision_of(luck)) == (0.0, math.inf)
    assert "nothing random reaches them" in exact["notes"][0]
    assert "though they need not be: they say nothing of others" in luck["notes"][0]


def test_points_of_a_sweep_are_exact_where_nothing_is_drawn(tmp_path: Path) -> None:
    over = {"topology.dumbbell.forward.loss": ["0 %", "0.00001 %"]}
    study = varicap.sweep(lucky("0 %"), over, seeds=3, folder=tmp_path, precision=0.02)
    assert study.exact == {0}
    for read in (study, varicap.read(tmp_path)):
        assert isinstance(read, Study)
        rows = [row for row in read.summary.to_pylist() if row["measure"] == "timeouts"]
        assert (rows[0]["hi"], rows[1]["hi"] > 1.0, rows[1]["runs"]) == (0.0, True, 3)


def test_an_optimum_that_agrees_by_luck_is_undecided() -> None:
    limit = "topology.dumbbell.forward.queue.drop-tail.limit"
    asked: dict[str, Any] = {"minimise": "limit", "subject_to": "rtt_mean_ms <= 400 ms", "budget": 24, "seeds": 4}
    exact, luck = (
        varicap.optimise(lucky(share), {limit: "20..24 packets"}, **asked).outcome for share in ("0 %", "0.00001 %")
    )
    assert (exact, luck) == ("meets", "undecided")


def test_runs_that_repeat_each_other_are_exact() -> None:
    fixed = coverage.SCENARIOS["half full"][0] | {"duration": "6 s"}
    link = {name: value for name, value in fixed["topology"]["dumbbell"]["forward"].items() if name != "loss"}
    result = varicap.run(fixed | {"topology": {"dumbbell": {"forward": link}}}, seeds=3)
    (flow,) = result.summary["flows"]
    assert flow["runs_differ"] == "no"
    assert flow["ci95"]["timeouts"] == [0.0, 0.0]
    assert flow["ci95"]["rtt_ms.p95"] == [flow["rtt_ms"]["p95"]] * 2
