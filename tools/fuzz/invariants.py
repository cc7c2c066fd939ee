"""What holds of every run, whatever its scenario."""

import contextlib
import json
import random
from collections.abc import Callable
from typing import Any

import varicap
import varicap._core as _core
from varicap.results.manifest import values_sha256
from varicap.results.result import Result

ROUNDING = 1e-9
"""Of means, which are quotients of exact counts."""


def check(rng: random.Random, scenario: dict[str, Any], base_dir: str) -> None:
    """Run a scenario in several ways that must agree, and look at its numbers."""

    def run(value: dict[str, Any], **how: Any) -> Result:
        loaded = _core.Scenario.from_json(json.dumps(value), "fuzz.json", base_dir, [])
        # An estimate may err; then the limit ends the run, long before it counts as one that hangs.
        limits = {"max_memory": "1 GB", "max_time": "10 s"}
        result: Result = varicap.run(loaded, **{"series": False, "packets": False, "jobs": 1, **limits, **how})
        return result

    with contextlib.suppress(varicap.ScenarioError):
        _compare(rng, scenario, run)


def _compare(rng: random.Random, scenario: dict[str, Any], run: Callable[..., Result]) -> None:
    plain = run(scenario)
    bounds(plain)
    other = rng.choice(["again", "threads", "order", "series", "live"])
    match other:
        case "again":
            again = run(scenario)
        case "threads":
            again = run(scenario, jobs=2)
        case "order":
            again = run(_shuffled(rng, scenario))
        case "series":
            again = run(scenario, series=True)
        case _:
            again = run(scenario, live=lambda _: None)
    same(plain, again, other)


def bounds(result: Result) -> None:
    """Shares are shares, and nothing comes out that did not go in."""
    for row in result.links.to_pylist():
        for name in ("utilisation", "loss_ratio"):
            share = row.get(name)
            if share is not None and share == share:
                assert -ROUNDING <= share <= 1 + ROUNDING, f"{name} is {share} in {row}"
        for name, value in row.items():
            if isinstance(value, int | float) and value == value:
                assert value >= 0 or name == "seed", f"{name} is {value} in {row}"
    for row in result.flows.to_pylist():
        goodput = row.get("goodput_bps")
        assert goodput is None or goodput != goodput or goodput >= 0, f"goodput {goodput} in {row}"


def same(one: Result, other: Result, how: str) -> None:
    """Two results agree to the last bit."""
    for name in ("links", "flows", "transfers"):
        mine, theirs = getattr(one, name, None), getattr(other, name, None)
        if mine is None or theirs is None:
            continue
        assert values_sha256(mine) == values_sha256(theirs), f"{name} differ: {how}"


def _shuffled(rng: random.Random, value: Any) -> Any:
    """The same value, with the keys of its tables in another order.

    The tables whose order means something keep it: flows, links and classes are numbered as they are written.
    """
    if isinstance(value, list):
        return [_shuffled(rng, each) for each in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    rng.shuffle(keys)
    return {key: value[key] if key in ("flows", "links", "classes") else _shuffled(rng, value[key]) for key in keys}
