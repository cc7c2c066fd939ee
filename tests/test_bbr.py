"""BBR in scenarios, in series, and beside controls in Python that learn as much."""

import math
import tomllib
from typing import Any

import pytest

import varicap
from varicap import papers
from varicap.papers.bbr import cases
from varicap.papers.bbr.trial import CRUISE, DOWN, DRAIN, STARTUP, Trial
from varicap.papers.verdict import Value, judge
from varicap.tcp import AckSample, CongestionEvent

PATH = """
duration = "6 s"
[topology.dumbbell.forward]
capacity = "10 Mbit/s"
delay = "20 ms"
loss = "{loss}"
queue = {{ drop-tail = {{ limit = "4 bdp" }} }}
[flows.a.tcp]
congestion = {control}
recovery = "{recovery}"
[record]
series = true
sample = "50 ms"
"""


def run(control: str = '"bbr3"', loss: str = "0 %", recovery: str = "rack", **options: Any) -> varicap.Result:
    text = PATH.format(control=control, loss=loss, recovery=recovery)
    result: varicap.Result = varicap.run(varicap.load(tomllib.loads(text)), seeds=2, **options)
    return result


@pytest.mark.parametrize("control", ['"bbr"', '"bbr3"', "{ bbr3 = { offload_quanta = 0 } }"])
@pytest.mark.parametrize("recovery", ["rack", "sack", "newreno"])
def test_it_fills_a_lossy_path_with_little_queue(control: str, recovery: str) -> None:
    loss = "0.2 %" if recovery != "newreno" else "0 %"
    done = run(control, loss, recovery)
    goodput = done.flows["goodput_bps"].to_pylist()
    assert all(8.4e6 < one < 9.7e6 for one in goodput), goodput
    assert all(rtt < 75 for rtt in done.flows["rtt_mean_ms"].to_pylist())


def test_a_series_shows_what_the_control_knows() -> None:
    series = run().flow_series
    states = series["bbr_state"].to_pylist()
    assert states[0] == STARTUP
    assert {DOWN, CRUISE} & {int(state) for state in states}
    # Of payload: 1448 of 1500 bytes.
    assert series["bbr_max_bw_bps"].to_pylist()[-1] == pytest.approx(10e6 * 1448 / 1500, rel=0.02)
    assert "bbr_state" not in run('"cubic"').flow_series.column_names


def test_the_wait_for_a_probe_is_random_and_follows_the_seed() -> None:
    waits = run().flow_series["bbr_bw_probe_wait_s"].to_pylist()
    drawn = {wait for wait in waits if wait > 0}
    assert len(drawn) >= 2
    assert all(2 <= wait <= 3 for wait in drawn)
    assert waits == run().flow_series["bbr_bw_probe_wait_s"].to_pylist()


def test_a_control_in_python_learns_of_losses_and_of_its_flight() -> None:
    told: list[tuple[float, int, int, int, bool]] = []
    flights: list[int] = []

    class Fixed:
        wants = ("rate-samples", "every-ack", "own-recovery")

        def __init__(self, mss: int, initial_window: int) -> None:
            self.cwnd = 40.0 * mss

        def on_ack(self, ack: AckSample) -> None:
            if ack.newest_in_flight is not None and ack.in_flight_after is not None:
                flights.append(ack.newest_in_flight)

        def on_congestion(self, event: CongestionEvent) -> None:
            pass

        def on_lost(self, now_s: float, size: int, in_flight: int, lost: int, app_limited: bool) -> None:
            told.append((now_s, size, in_flight, lost, app_limited))

    done = run('{ custom = "fixed" }', "1 %", controls={"fixed": Fixed})
    resent = sum(done.flows["retransmitted_packets"].to_pylist())
    assert 0 < len(told) <= resent + 5
    assert all(size == 1448 and size <= lost <= in_flight for _, size, in_flight, lost, _ in told)
    assert max(flights) == 40 * 1448


def test_a_trial_goes_from_startup_to_drain_at_the_rate_of_its_path() -> None:
    trial = Trial(1).until(DRAIN)
    assert trial.points[-1]["max_bw_bps"] == pytest.approx(trial.rate_bps, rel=0.02)
    assert math.isnan(trial.points[-1]["inflight_longterm_bytes"])


def test_a_bound_that_never_falls_counts_as_a_number_beyond_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    [claim] = [one for one in papers.paper("bbr").claims if one.id == "A16-shortterm"]
    monkeypatch.setattr(cases, "_FALLS_S", 1.0)  # 31 rounds of 40 ms are longer
    rounds = [cases.a16(seed).values["A16-shortterm"] for seed in range(3)]
    assert rounds == [25.0] * 3
    assert judge(claim, Value(sim=cases._shown(rounds))).verdict == "differs"


def test_the_first_version_finds_a_policers_rate_and_keeps_to_it() -> None:
    """Of a link of 20 Mb/s a policer leaves 5: BBR then stops probing for 48 round trips, as Linux's does."""

    def steady(queue: Any) -> tuple[float, float]:
        text = PATH.format(control='"bbr"', loss="0 %", recovery="rack").replace("10 Mbit/s", "20 Mbit/s")
        scenario = tomllib.loads(text) | {"duration": "20 s", "warmup": "5 s"}
        scenario["topology"]["dumbbell"]["forward"]["queue"] = queue
        result = varicap.run(varicap.load(scenario), seeds=10, series=True)
        series = result.flow_series
        gains = [
            gain
            for gain, at in zip(series["bbr1_pacing_gain"].to_pylist(), series["time_s"].to_pylist(), strict=True)
            if at > 5
        ]
        return result.summary["flows"][0]["goodput_bps"]["mean"], gains.count(1.0) / len(gains)

    goodput, share = steady({"policer": {"rate": "5 Mbit/s", "burst": "60 kB"}})
    assert goodput > 0.97 * 5e6 * 1448 / 1500
    assert share > 0.9
    # Six phases of eight.
    assert steady({"drop-tail": {"limit": "4 bdp"}})[1] < 0.85
