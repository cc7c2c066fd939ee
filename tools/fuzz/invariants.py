"""What holds of every run, whatever its scenario."""

import json
import random
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import varicap
import varicap._core as _core
from varicap.engines.replay import replay
from varicap.report.web import page as pages
from varicap.results.manifest import values_sha256
from varicap.results.result import Result

ROUNDING = 1e-9
"""Of means, which are quotients of exact counts."""


def check(rng: random.Random, scenario: dict[str, Any], base_dir: str) -> bool:
    """Run a scenario in several ways that must agree, and look at its numbers; whether it was run at all."""
    # An estimate may err; then the limit ends the run, long before it counts as one that hangs.
    limits = {"max_memory": "1 GB", "max_time": "10 s"}
    try:
        plain = _run(scenario, base_dir, **limits)
    except varicap.ScenarioError:
        return False
    bounds(plain, {name for name, link in _links(scenario).items() if link.get("service") == "at-start"})
    if scenario.get("warmup", "0 s") == "0 s":
        conserved(plain, {name: flow.get("count", 1) for name, flow in scenario["flows"].items()})
    # From here on nothing excuses an error: what ran once runs in every other way.
    same(plain, _run(scenario, base_dir, jobs=2), "threads")
    same(plain, _run(_shuffled(rng, scenario), base_dir), "order of keys")
    with_series = _run(scenario, base_dir, series=True)
    same(plain, with_series, "series")
    shown(with_series)
    same(plain, _run(scenario, base_dir, packets=True), "packets")
    same(plain, _run(scenario, base_dir, live=lambda _: None), "live")
    with tempfile.TemporaryDirectory() as folder:
        again = replay(plain.save(Path(folder)), max_memory=None, max_time=None)
        assert again.identical, f"a replay differs: {again.tables}"
    return True


def shown(result: Result) -> None:
    """The page of a run is there, whatever the scenario, and has charts over time."""
    page = pages.html(result, laboratory="https://example.org/")
    assert 'data-chart="rates-0"' in page, "a page without the capacity over time"


def _run(scenario: dict[str, Any], base_dir: str, **how: Any) -> Result:
    loaded = _core.Scenario.from_json(json.dumps(scenario), "fuzz.json", base_dir, [])
    plain = {"series": False, "packets": False, "jobs": 1, "max_memory": None, "max_time": None}
    result: Result = varicap.run(loaded, **{**plain, **how})
    return result


def _links(scenario: dict[str, Any]) -> dict[str, Any]:
    links: dict[str, Any] = scenario["topology"]["dumbbell"]
    return links


def bounds(result: Result, at_start: Collection[str] = ()) -> None:
    """Shares are shares, and nothing is less than nothing.

    A link whose service is `at_start` may carry more than is offered, by the definition of the column; that no server
    sends more than the rates that its packets keep allow for is asserted by the simulator in every run.
    """
    for row in result.links.to_pylist():
        for name in ("utilisation", "loss_ratio") if row["name"] not in at_start else ("loss_ratio",):
            assert _is_absent(row[name]) or row[name] <= 1 + ROUNDING, f"{name} is {row[name]} in {row}"
    for row in (*result.links.to_pylist(), *result.flows.to_pylist()):
        for name, value in row.items():
            # Quality of experience is bitrate less a penalty for stalls, which has no bound.
            if isinstance(value, int | float) and name != "qoe_bps":
                assert _is_absent(value) or value >= 0, f"{name} is {value} in {row}"


def conserved(result: Result, counts: dict[str, int]) -> None:
    """Nothing comes out that did not go in, of a run that counts from its beginning: see the columns' descriptions.

    `counts` are the connections of each group, whose flows all cross the link `forward`.
    """
    for row in result.links.to_pylist():
        # What a link copies comes out without having been offered.
        gone = row["delivered_packets"] + row["dropped_packets"] - row["duplicated_packets"]
        assert gone <= row["offered_packets"], f"{gone} packets have left of those offered: {row}"
        # A link with ARQ keeps several packets in service.
        if row["transmissions"] == 0:
            inside = row["offered_packets"] - gone
            assert inside <= row["backlog_max_packets"] + 1, f"{inside} packets are nowhere: {row}"
    through = {row["replication"]: row for row in result.links.to_pylist() if row["name"] == "forward"}
    copied: dict[int, int] = {}
    for row in result.links.to_pylist():
        copied[row["replication"]] = copied.get(row["replication"], 0) + row["duplicated_packets"]
    received: dict[int, float] = {}
    for row in result.flows.to_pylist():
        assert row["group"] in counts, f"a flow of no group: {row}"
        assert row["goodput_bps"] <= row["throughput_bps"] * (1 + ROUNDING), f"more data than packets held: {row}"
        most = row["sent_packets"] + copied[row["replication"]]
        assert row["delivered_packets"] <= most, f"more packets received than sent: {row}"
        received[row["replication"]] = received.get(row["replication"], 0.0) + row["throughput_bps"]
    for replication, rate in received.items():
        link = through[replication]
        assert rate <= link["throughput_bps"] * (1 + ROUNDING), f"{rate} b/s were received: {link}"


def same(one: Result, other: Result, how: str) -> None:
    """Two results agree to the last bit in every table that the first one has."""
    tables = other.tables()
    for name, table in one.tables().items():
        assert values_sha256(table) == values_sha256(tables[name]), f"{name} differ: {how}"


def _is_absent(value: float | None) -> bool:
    return value is None or value != value


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
