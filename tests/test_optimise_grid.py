"""Designs of real questions beside a grid search with ten times their budget, both judged in runs that neither had."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import varicap
from varicap.results.samples import samples
from varicap.statistics import Interval

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
pytestmark = pytest.mark.slow

QUEUE = "topology.dumbbell.forward.queue"
OTHER_SEED = 4242
BUDGET, SEEDS = 100, 4


def grid(scenario: Path, axes: Mapping[str, list[str]], fixed: Mapping[str, str], runs: int) -> varicap.study.Study:
    """All points of a grid with so many runs: ten times the budget."""
    study = varicap.sweep(scenario, axes, seeds=runs, overrides=fixed)
    assert 9 * BUDGET <= len(study.points) * runs <= 11 * BUDGET, "ten times the budget of the design"
    return study


def ends(study: varicap.study.Study, name: str, measure: str) -> dict[int, dict[str, float]]:
    """By point the mean of a measure and the ends of its interval."""
    rows = study.summary.to_pylist()
    return {row["point"]: row for row in rows if (row["name"], row["measure"]) == (name, measure)}


def others(scenario: Path, point: Mapping[str, str], fixed: Mapping[str, str]) -> varicap.Result:
    """Runs that neither search has seen."""
    return varicap.run(scenario, seeds=16, seed=OTHER_SEED, overrides={**fixed, **point})


def test_the_smallest_buffer_is_no_larger_than_that_of_a_grid_of_ten_times_the_budget() -> None:
    scenario, limit = EXAMPLES / "fixed.toml", f"{QUEUE}.drop-tail.limit"
    fixed = {"duration": "30 s", "warmup": "5 s"}
    found = varicap.optimise(
        scenario,
        {limit: "3..102 packets"},
        minimise="limit",
        subject_to="utilisation >= 95 %",
        budget=BUDGET,
        seeds=SEEDS,
        models=False,
        overrides=fixed,
    )
    assert found.runs <= BUDGET
    assert found.best is not None
    tried = grid(scenario, {limit: [f"{size} packets" for size in range(3, 103)]}, fixed, 10)
    used = ends(tried, "forward", "utilisation")
    least = next(tried.points[at] for at in sorted(used) if used[at]["lo"] >= 0.95)
    size = {name: int(dict(point)[limit].split()[0]) for name, point in (("ours", found.best.point), ("grid", least))}
    assert size["ours"] <= size["grid"]
    assert samples(others(scenario, dict(found.best.point), fixed).links, "forward", "utilisation").mean() >= 0.95


def test_thresholds_are_as_good_as_those_of_a_grid_of_ten_times_the_budget() -> None:
    scenario = EXAMPLES / "markov.toml"
    low, high = f"{QUEUE}.red.min_threshold", f"{QUEUE}.red.max_threshold"
    fixed = {
        "duration": "120 s",
        "warmup": "5 s",
        "flows": '{ cubic = { tcp = { congestion = "cubic" } } }',
        QUEUE: '{ red = { limit = "200 packets" } }',
    }
    demand_ms = 800
    found = varicap.optimise(
        scenario,
        {low: "1..30 packets", high: "31..150 packets"},
        maximise="goodput_of_capacity",
        subject_to=f"rtt_p95_ms <= {demand_ms} ms",
        budget=BUDGET,
        seeds=SEEDS,
        overrides=fixed,
    )
    assert found.runs <= BUDGET
    assert found.best is not None
    axes = {
        low: [f"{size} packets" for size in np.linspace(1, 30, 15).round().astype(int)],
        high: [f"{size} packets" for size in np.linspace(31, 150, 17).round().astype(int)],
    }
    tried = grid(scenario, axes, fixed, SEEDS)
    delay, used = ends(tried, "cubic", "rtt_p95_ms"), ends(tried, "cubic", "goodput_of_capacity")
    best = max((at for at in used if delay[at]["hi"] <= demand_ms), key=lambda at: used[at]["mean"])
    ours, theirs = (others(scenario, dict(point), fixed).flows for point in (found.best.point, tried.points[best]))
    better = Interval.of(
        samples(ours, "cubic", "goodput_of_capacity") - samples(theirs, "cubic", "goodput_of_capacity")
    )
    assert better.hi is not None
    assert better.hi >= 0, "as good, as far as sixteen other runs tell"
