"""Verdicts on what was asked for: the whole interval decides, and more replications where it does not."""

from math import inf, nan

import pytest

from varicap.statistics import Bounds, Interval, Verdict, settle, together


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.41, 0.6, "meets"),
        (0.39, 0.6, "undecided"),
        (0.2, 0.39, "misses"),
        (0.4, 0.4, "meets"),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, verdict: Verdict) -> None:
    assert Bounds(low=0.4).verdict(Interval((low + high) / 2, low, high)) == verdict


def test_a_mean_on_the_right_side_without_an_interval_decides_nothing() -> None:
    assert Bounds(high=1.0).verdict(Interval(0.5)) == "undecided"
    assert Bounds(high=1.0).runs(Interval(0.5), 1) >= 4


def test_an_infinite_mean_is_outside_of_finite_bounds() -> None:
    nothing = Interval(inf, nan, nan)
    assert [Bounds(low=6.4, high=12.9).verdict(one) for one in (nothing, Interval(-inf), Interval(inf))] == [
        "misses"
    ] * 3
    assert Bounds(low=6.4).verdict(nothing) == "undecided"


def test_one_demand_that_is_missed_decides_all() -> None:
    assert together(["meets", "undecided", "misses"]) == "misses"
    assert together(["meets", "undecided"]) == "undecided"


def test_more_replications_settle_what_is_undecided_and_no_more_than_allowed() -> None:
    asked = Bounds(low=0.4)
    made: list[int] = []

    def measure(mean: float) -> Interval:
        def run(runs: int) -> Interval:
            made.append(runs)
            half = 0.3 / runs**0.5
            return Interval(mean, mean - half, mean + half)

        return settle(run, lambda found: [(found, asked)], runs=4, most=40)

    assert asked.verdict(measure(0.46)) == "meets"
    assert made[-1] < 40
    made.clear()
    assert asked.verdict(measure(0.8)) == "meets"
    assert made == [4]
    made.clear()
    assert asked.verdict(measure(0.44)) == "undecided"
    assert made[-1] == 40
    made.clear()
    assert asked.verdict(measure(0.4001)) == "undecided"
    assert made == [4], "a million replications would be needed, so not even 40 are made"


def test_how_far_off_a_mean_is_counts_in_shares_of_the_bound() -> None:
    assert Bounds(low=2.0).shortfall(Interval(1.0)) == Bounds(high=1.0).shortfall(Interval(1.5)) == 0.5
    assert Bounds(low=1.0, high=2.0).shortfall(Interval(1.5)) == 0.0
