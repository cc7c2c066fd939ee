"""Replications, repeated until the intervals are as narrow as they were asked to be."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import varicap._core as _core
from varicap.results.manifest import Which


def replicate(
    batch: Callable[[int, int, int], _core.Results], wanted: int, precision: float | None, max_seeds: int
) -> _core.Results:
    """`wanted` runs, and more while intervals are wider than `precision`.

    ``batch(first, count, total)`` runs `count` replications from `first` on, of `total` that are foreseen.
    """
    results = batch(0, wanted, wanted)
    while precision is not None and results.runs < max_seeds:
        more = more_runs(_widest(json.loads(results.summary())), precision, results.runs)
        if more == 0:
            break
        count = min(more, max_seeds - results.runs)
        results.extend(batch(results.runs, count, results.runs + count))
    return results


def below(which: Which, end: int) -> int:
    """Replications below this number record."""
    return 1 if which == "first" else end if which else 0


def is_precise(summary: dict[str, Any], precision: float) -> bool:
    """Whether the half width of each interval of goodput and utilisation is within this share of its mean."""
    return _widest(summary) <= precision


def more_runs(widest: float, precision: float, runs: int) -> int:
    """How many more runs an interval seems to need; it narrows with the square root of their number."""
    if widest <= precision:
        return 0
    if runs < 3:
        return 3 - runs + 2  # the interval of two runs says next to nothing
    # At most as many again: the estimate itself is rough.
    return max(1, min(runs, round(runs * ((widest / precision) ** 2 - 1))))


def _widest(summary: dict[str, Any]) -> float:
    return max((_relative_half_width(interval) for interval in _watched(summary)), default=0.0)


def _watched(summary: dict[str, Any]) -> Iterable[dict[str, float | None]]:
    for flow in summary["flows"]:
        yield flow["goodput_bps"]
    for link in summary["links"]:
        yield link["utilisation"]


def _relative_half_width(interval: dict[str, float | None]) -> float:
    mean, low, high = interval["mean"], interval["lo"], interval["hi"]
    if mean is None or mean == 0.0:
        return 0.0
    if low is None or high is None:
        return float("inf")
    return (high - low) / 2 / abs(mean)
