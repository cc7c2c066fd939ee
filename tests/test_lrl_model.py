"""The analyses of load-reactive links, each against the simulator."""

import math
from typing import Any

import numpy as np
import pytest

import varicap
from varicap.analyse.models.lrl import FromZero, OpenLoop, ack_path_bound_bps, open_loop
from varicap.papers.lrl.link import FORWARD, REVERSE, Setting, measure
from varicap.papers.run import Run

pytestmark = pytest.mark.slow

DROP_TAIL = {f"{link}.queue": '{ drop-tail = { limit = "50 packets" } }' for link in (FORWARD, REVERSE)}


def quick() -> Run:
    return Run("lrl", quick=True, jobs=1)


@pytest.mark.parametrize("c0", [10, 20, 40])
def test_no_flow_exceeds_the_bound_of_its_acknowledgements_and_a_good_one_comes_near(c0: float) -> None:
    changes = {"duration": "200 s", "warmup": "50 s"}
    reached = measure(quick(), Setting(1, 3, c0), changes).throughput.mean() * 1e3
    # A window of 20 packets at the edges of 150 s adds 0.1 to 0.5 %.
    assert 0.95 < reached / ack_path_bound_bps(c0 * 1e3) <= 1.005


def test_the_bound_follows_the_acknowledgement_policy() -> None:
    changes = {"duration": "200 s", "warmup": "50 s", "tcp.ack": "every"} | DROP_TAIL
    reached = measure(quick(), Setting(1, 3, 20), changes).throughput.mean() * 1e3
    assert 0.95 < reached / ack_path_bound_bps(20e3, packets_per_ack=1) <= 1.001


@pytest.mark.parametrize(
    ("high", "unit", "window", "more"),
    [
        (1, "bytes", 1, {}),
        (2, "bytes", 1, {}),
        (3, "bytes", 1, {}),
        (3, "packets", 1, {}),
        (5, "packets", 4, {}),
        (2, "packets", 4, {}),
        (2, "bytes", 1, {"strict": False}),
        (3, "bytes", 1, {"counts_in_service": True}),
    ],
)
def test_from_zero_the_link_opens_when_the_timeouts_say(
    high: int, unit: Any, window: int, more: dict[str, bool]
) -> None:
    changes = DROP_TAIL | {"duration": "200 s", "tcp.initial_window": f"{window} packets"}
    for link in (FORWARD, REVERSE):
        control = f"{link}.capacity.load-reactive"
        if "strict" in more:
            changes[f"{control}.control.hysteresis.strict"] = "false"
        if "counts_in_service" in more:
            changes[f"{control}.counts_in_service"] = "true"
    model = FromZero(high=high * (1000 if unit == "bytes" else 1), unit=unit, initial_window=window, **more)
    simulated = measure(quick(), Setting(1, high, 0, unit), changes).forward.opens_at(0.0)[0]
    assert simulated == pytest.approx(model.opens_s(), abs=1e-6)


def test_what_the_return_queue_cannot_hold_never_opens_it() -> None:
    assert FromZero(high=1000).return_can_open()
    assert not FromZero(high=2000).return_can_open(), "50 acknowledgements are 2000 B, and no more"
    assert FromZero(high=49, unit="packets").return_can_open()
    assert not FromZero(high=50, unit="packets").return_can_open()
    assert math.isinf(FromZero(high=60e3).opens_s())
    longer = {"duration": "20000 s", "record.series": "false"} | DROP_TAIL
    assert measure(quick(), Setting(1, 1, 0), longer).link("reverse", "capacity_max_bps")[0] > 0
    assert measure(quick(), Setting(1, 2, 0), longer).link("reverse", "capacity_max_bps")[0] == 0


@pytest.mark.parametrize(
    ("arrivals", "low", "high", "strict"), [(50, 1, 4, True), (20, 2, 6, True), (100, 1, 8, False)]
)
def test_the_open_loop_queue_is_that_of_the_simulator(arrivals: float, low: int, high: int, strict: bool) -> None:
    model = open_loop(OpenLoop(arrivals_per_s=arrivals, low=low, high=high, strict=strict))
    control = {"low": f"{low} packets", "high": f"{high} packets", "strict": strict}
    reactive = {"minimum": "20 kbit/s", "residual": "2 Mbit/s", "control": {"hysteresis": control}}
    forward = {
        "capacity": {"load-reactive": reactive},
        "queue": {"drop-tail": {"limit": "20 packets", "counts_in_service": False}},
    }
    datagrams = {"rate": f"{arrivals * 8} kbit/s", "size": "1000 B", "spacing": "poisson"}
    scenario = {
        "duration": "1050 s",
        "warmup": "50 s",
        "topology": {"dumbbell": {"forward": forward}},
        "flows": {"poisson": {"datagrams": datagrams}},
    }
    links = [row for row in varicap.run(scenario, seeds=6).links.to_pylist() if row["name"] == "forward"]
    # Six runs of 1000 s leave about 1 % of statistical error; the discretisation adds well below 1 %.
    for column, value in (("capacity_bps", model.capacity_bps), ("backlog_mean_packets", model.waiting_packets)):
        assert value == pytest.approx(np.mean([row[column] for row in links]), rel=0.02), column
    assert model.loss == pytest.approx(np.mean([row["loss_ratio"] for row in links]), abs=5e-4)


def test_finer_units_of_work_change_next_to_nothing() -> None:
    coarse = open_loop(OpenLoop(arrivals_per_s=30, low=1, high=3, limit_packets=10, units=4))
    fine = open_loop(OpenLoop(arrivals_per_s=30, low=1, high=3, limit_packets=10, units=16))
    assert coarse.capacity_bps == pytest.approx(fine.capacity_bps, rel=0.01)
    assert coarse.waiting_packets == pytest.approx(fine.waiting_packets, rel=0.02)
    assert sum(fine.level_share) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"low": 5, "high": 2}, "in order"), ({"increment_bps": 0}, "above zero"), ({"increment_bps": 1.0}, "levels")],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        open_loop(OpenLoop(**({"arrivals_per_s": 10, "low": 1, "high": 4} | changes)))  # type: ignore[arg-type]
