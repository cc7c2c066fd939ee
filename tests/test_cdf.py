"""Distributions: the share of time, packets, transfers and runs for which a measure is at most so much."""

from typing import Any

import numpy as np
import pytest
from conftest import Cli

import varicap
from varicap.results.result import Result

LINK = {"capacity": "5 Mbit/s", "delay": "10 ms", "queue": {"drop-tail": {"limit": "20 packets"}}}
FLOWS = {name: {"start_spread": "1 s", "tcp": {"congestion": name}} for name in ("reno", "cubic")}
SCENARIO: dict[str, Any] = {
    "duration": "5 s",
    "warmup": "1 s",
    "topology": {"dumbbell": {"forward": LINK}},
    "flows": FLOWS,
}
DELAY = "topology.dumbbell.forward.delay"


@pytest.fixture(scope="module")
def result() -> Result:
    return varicap.run(SCENARIO, seeds=5, series=True, packets=True)


def line(figure: Any, label: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = (each for axes in figure.axes for each in axes.lines if each.get_label() == label)
    return found.get_xdata(), found.get_ydata()


def test_runs_have_the_distribution_of_their_table(result: Result) -> None:
    x, y = line(result.figure(panels="cdf-runs", measure="rtt_p95_ms"), "cubic")
    rows = [row["rtt_p95_ms"] for row in result.flows.to_pylist() if row["name"] == "cubic"]
    assert list(x[1:]) == pytest.approx(sorted(rows))
    assert list(y[1:]) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])


def test_time_has_the_distribution_of_the_series_after_the_warm_up(result: Result) -> None:
    x, _ = line(result.figure(panels="cdf-time", measure="cwnd_bytes"), "reno")
    rows = [row for row in result.flow_series.to_pylist() if row["flow"] == "reno" and row["time_s"] > 1.0]
    assert sorted(x[1:]) == pytest.approx(sorted(row["cwnd_bytes"] for row in rows if np.isfinite(row["cwnd_bytes"])))


def test_packets_have_the_delay_from_sender_to_receiver(result: Result) -> None:
    x, y = line(result.figure(panels="cdf-packets"), "reno")
    # 10 ms, up to 20 packets of 1500 B at 5 Mb/s ahead, and the packet's own 2.4 ms.
    assert x[0] >= 12.4
    assert x[-1] <= 10.0 + 21 * 2.4 + 0.5
    assert y[-1] == 1.0


def test_links_and_chosen_flows_alone(result: Result) -> None:
    figure = result.figure(panels="cdf-runs", measure="utilisation", flows="reno")
    assert [each.get_label() for each in figure.axes[0].lines] == ["forward"]
    only = result.figure(panels="cdf-runs", flows="reno", log="x")
    assert [each.get_label() for each in only.axes[0].lines] == ["reno"]
    assert only.axes[0].get_xscale() == "log"
    with pytest.raises(ValueError, match="did you mean `goodput_bps`"):
        result.figure(panels="cdf-runs", measure="goodput_bp")


def test_a_study_has_a_curve_for_each_flow_and_point() -> None:
    study = varicap.sweep(SCENARIO, {DELAY: ["5 ms", "40 ms"]}, seeds=4)
    x, y = line(study.figure(panels="cdf", measure="rtt_p95_ms"), "cubic, 40 ms")
    rows = [row["rtt_p95_ms"] for row in study.flows.to_pylist() if (row["name"], row["point"]) == ("cubic", 1)]
    assert list(x[1:]) == pytest.approx(sorted(rows))
    assert list(y) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_what_was_not_recorded_is_said(cli: Cli, tmp_path: Any) -> None:
    plain = varicap.run(SCENARIO, seeds=2)
    plain.save(tmp_path / "r")
    for panel, says in (("cdf-time", "--series"), ("cdf-packets", "--packets"), ("cdf-transfers", "--packets")):
        done = cli("plot", "r", "--panels", panel, "-o", "f.png")
        assert done.returncode == 2
        assert says in done.stderr
    assert cli("plot", "r", "--panels", "cdf-runs", "--measure", "sojourn_p95_ms", "-o", "f.pdf").returncode == 0
