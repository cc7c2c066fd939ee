"""Networks of load-reactive links: several flows, chains, shares of one capacity, traffic that answers to nothing."""

from typing import Any

import pytest

import varicap

RED = "red"


def reactive(residual: str = "100 Mbit/s", **more: Any) -> dict[str, Any]:
    control = {"hysteresis": {"low": "2 kB", "high": "6 kB"}}
    return {"load-reactive": {"minimum": "50 kbit/s", "residual": residual, "control": control} | more}


def links_of(scenario: dict[str, Any], **options: Any) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in varicap.run(scenario, seeds=1, **options).links.to_pylist()}


def pooled(wants: list[str]) -> dict[str, Any]:
    """A link of its own for each stream of datagrams, and one capacity for all."""
    links: dict[str, Any] = {}
    flows: dict[str, Any] = {}
    for number, rate in enumerate(wants):
        ends = {"from": f"a{number}", "to": f"b{number}"}
        capacity = reactive("1 Mbit/s", pool="trunk")
        links[f"l{number}"] = ends | {"capacity": capacity, "queue": {"drop-tail": {"limit": "100 packets"}}}
        links[f"back{number}"] = {"from": ends["to"], "to": ends["from"]}
        flows[f"f{number}"] = ends | {"datagrams": {"rate": rate, "size": "500 B"}}
    return {"duration": "60 s", "warmup": "20 s", "topology": {"graph": {"links": links}}, "flows": flows}


def test_links_of_a_pool_share_its_capacity_max_min() -> None:
    links = links_of(pooled(["2 Mbit/s", "2 Mbit/s", "200 kbit/s"]), series=True)
    # The small one gets what it needs, and a step of the hysteresis more or less; the others the same.
    assert links["l2"]["throughput_bps"] == pytest.approx(200e3, rel=0.01)
    assert links["l0"]["throughput_bps"] == pytest.approx(links["l1"]["throughput_bps"], rel=0.01)
    assert links["l0"]["throughput_bps"] == pytest.approx(400e3, rel=0.07)
    together = varicap.run(pooled(["2 Mbit/s"] * 3), seeds=1, series=True).link_series.to_pylist()
    at: dict[float, float] = {}
    for row in together:
        if row["link"].startswith("l"):
            at[row["time_s"]] = at.get(row["time_s"], 0.0) + row["capacity_bps"]
    assert max(at.values()) <= 1e6 + 1
    assert at[50.0] > 1e6 - 10


def test_a_link_of_a_pool_does_not_matter_while_it_is_idle() -> None:
    alone = links_of(pooled(["2 Mbit/s"]))["l0"]
    with_idle = pooled(["2 Mbit/s", "1 bit/s"])
    beside = links_of(with_idle)["l0"]
    assert beside["throughput_bps"] == pytest.approx(alone["throughput_bps"] - 50e3, rel=0.01), "its minimum is its own"


def test_a_chain_of_load_reactive_links_opens_hop_by_hop() -> None:
    forward = [{"capacity": reactive(), "delay": "10 ms", "queue": RED} for _ in range(3)]
    scenario = {
        "duration": "60 s",
        "topology": {"chain": {"forward": forward}},
        "tcp": {"max_window": "20 packets"},
        "flows": {"long": {}, "cross": {"from": "n1", "to": "n2", "datagrams": {"rate": "500 kbit/s"}}},
    }
    links = links_of(scenario, overrides={"record.series": "true"})
    first, middle, last = (links[f"forward.{hop}"] for hop in (1, 2, 3))
    assert all(link["capacity_bps"] > 10 * link["capacity_min_bps"] for link in (first, middle, last))
    assert middle["throughput_bps"] - first["throughput_bps"] == pytest.approx(500e3, rel=0.05)
    assert all(link["utilisation"] > 0.8 for link in (first, middle, last))


def test_the_capacity_answers_flows_and_what_answers_to_nothing() -> None:
    def run(flows: dict[str, Any]) -> dict[str, Any]:
        scenario = {
            "duration": "60 s",
            "warmup": "20 s",
            "topology": {"dumbbell": {"forward": {"capacity": reactive(), "delay": "20 ms", "queue": RED}}},
            "tcp": {"max_window": "20 packets"},
            "flows": flows,
        }
        return links_of(scenario)["forward"]

    datagrams = run({"cross": {"datagrams": {"rate": "3 Mbit/s", "spacing": "poisson"}}})
    # Poisson bursts cross the high threshold more often than they leave less than the low one.
    assert 3e6 < datagrams["capacity_bps"] < 3.5e6
    assert datagrams["dropped_packets"] < 0.01 * datagrams["offered_packets"]
    capacities = [run({"tcp": {"count": count}})["capacity_bps"] for count in (1, 8, 64)]
    assert capacities[0] < capacities[1]
    both = run({"tcp": {"count": 8}, "cross": {"datagrams": {"rate": "3 Mbit/s"}}})
    assert both["capacity_bps"] > 3e6
