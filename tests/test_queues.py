"""Queues that share a link, and links that mark, from Python and from the command line."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import varicap
from varicap.scenario import Cbq, CbqClass, Datagrams, Dumbbell, Ered, Flow, Link, Reservation, Scenario, Sfq


def throughput(queue: Any, flows: dict[str, Flow]) -> dict[str, float]:
    """What each flow gets of 10 Mb/s [Mb/s]."""
    forward = Link(capacity="10 Mbit/s", delay="20 ms", queue=queue)
    scenario = Scenario(duration="20 s", warmup="5 s", topology=Dumbbell(forward=forward), flows=flows)
    summary = varicap.run(scenario, seeds=2).summary
    return {flow["name"]: flow["throughput_bps"]["mean"] / 1e6 for flow in summary["flows"]}


def test_fair_queueing_keeps_what_answers_to_nothing_within_its_share() -> None:
    flows = {"tcp": Flow(), "blast": Flow(datagrams=Datagrams(rate="9 Mbit/s"))}
    assert throughput("drop-tail", flows)["tcp"] < 2.0
    for queue in ("drr", "sfq"):
        assert throughput(queue, flows)["tcp"] == pytest.approx(5.0, rel=0.05)
    weighted = throughput(Sfq(weights={"tcp": 3.0}), flows)
    assert weighted["tcp"] == pytest.approx(7.5, rel=0.05)


def test_a_group_with_a_queue_of_its_own_has_one_share() -> None:
    flows = {"many": Flow(count=3), "one": Flow()}
    assert throughput(Sfq(per="group"), flows)["one"] == pytest.approx(5.0, rel=0.05)
    assert throughput(Sfq(), flows)["one"] == pytest.approx(2.5, rel=0.05)


def test_classes_of_a_typed_scenario_divide_the_link() -> None:
    classes = {"a": CbqClass(flows=["a"], share=0.2, queue=Ered()), "rest": CbqClass(share="80 %")}
    queue = Cbq(classes=classes)
    assert Cbq.from_dict(queue.to_dict()).classes["a"].queue == Ered()
    got = throughput(queue, {"a": Flow(count=2), "b": Flow(), "c": Flow()})
    assert got["a.0"] + got["a.1"] == pytest.approx(2.0, rel=0.05)
    assert got["b"] + got["c"] == pytest.approx(8.0, rel=0.05)


def test_classes_in_a_shaper_divide_its_rate(lte: Path) -> None:
    """The opportunities of the link are not theirs: a fifth of 1 Mb/s, of a link of 4.5 Mb/s."""
    small = '{ flows = ["a"], share = 0.2, borrow = false }'
    inside = f"{{ cbq = {{ classes = {{ small = {small}, rest = {{ share = 0.8 }} }} }} }}"
    text = f"""
        duration = "25 s"
        warmup = "5 s"
        seeds = 4
        [topology.dumbbell.forward]
        capacity = {{ opportunities = {{ file = "traces/lte-like.down", offset = "random" }} }}
        delay = "5 ms"
        queue = {{ shaper = {{ rate = "1 Mbit/s", burst = "10 packets", queue = {inside} }} }}
        [flows.a]
        datagrams = {{ rate = "5 Mbit/s", size = "1000 B" }}
    """
    (flow,) = varicap.run(varicap.load(tomllib.loads(text), base_dir=lte.parent)).summary["flows"]
    assert flow["throughput_bps"]["hi"] < 0.25e6
    assert flow["throughput_bps"]["mean"] == pytest.approx(0.2e6, rel=0.1)


def test_a_link_marks_what_the_reservation_allows() -> None:
    forward = Link(capacity="10 Mbit/s", delay="20 ms", queue=Ered())
    reservation = Reservation(rate="2 Mbit/s", marked_at="forward")
    flows = {"a": Flow(datagrams=Datagrams(rate="3 Mbit/s"), reservation=reservation)}
    scenario = Scenario(duration="20 s", warmup="5 s", topology=Dumbbell(forward=forward), flows=flows)
    (flow,) = varicap.run(scenario, seeds=1).summary["flows"]
    assert flow["compliant_bps"]["mean"] == pytest.approx(2e6, rel=0.01)
    assert flow["throughput_bps"]["mean"] == pytest.approx(3e6, rel=0.01)


def test_peak_rates_beyond_what_ered_admits_are_warned_of(cli: Cli, tmp_path: Path) -> None:
    def told(peak: str) -> str:
        text = f"""
duration = "1 s"
[topology.dumbbell.forward]
capacity = "10 Mbit/s"
delay = "20 ms"
queue = "ered"
[flows.a]
count = 2
reservation = {{ rate = "1 Mbit/s", peak = "{peak}" }}
"""
        file = tmp_path / "peaks.toml"
        file.write_text(text)
        done = cli("run", file, "--seeds", 1, "--no-plot")
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "links.forward.admission: warning: peak rates of 14 Mbit/s" in told("7 Mbit/s")
    assert "warning" not in told("6 Mbit/s")
