"""The RATCP model against its paper and its limits, and what an answer loads."""

import math
import subprocess
import sys
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from conftest import ROOT

from varicap.analyse import markov
from varicap.analyse.models import ratcp, ratcp_long_run, timeout_cycle
from varicap.analyse.models.ratcp import Parameters

RATES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.33, 0.5, 1.0, 2.0)
"""Columns of [ratcp, Table I]: arrivals of ephemeral sessions [1/s]."""


ROWS = {
    "ratcp": Parameters(),
    "tcp": Parameters(control="tcp"),
    "ratcp_beta4": Parameters(backlog_packets=4),
    "ratcp_buffer8": Parameters(buffer_packets=8),
    "tcp_buffer8": Parameters(control="tcp", buffer_packets=8),
}


PUBLISHED = {
    "ratcp": (99.60, 95.69, 85.87, 74.75, 57.27, 43.68, 34.73, 27.19, 24.70),
    "tcp": (85.54, 84.36, 77.23, 68.75, 57.27, 42.71, 34.44, 26.93, 24.37),
    "ratcp_beta4": (99.68, 97.33, 87.51, 76.93, 59.96, 46.55, 37.60, 29.57, 27.67),
    "ratcp_buffer8": (99.60, 93.46, 83.62, 74.59, 57.08, 43.29, 34.43, 26.95, 24.65),
    "tcp_buffer8": (83.13, 81.49, 74.92, 66.43, 55.30, 41.06, 33.16, 26.11, 23.57),
}
"""The analysis rows of [ratcp, Table I], kB/s."""


@pytest.fixture(scope="module")
def table() -> dict[str, np.ndarray]:
    return {
        row: np.array([result.throughput_Bps / 1e3 for result in ratcp.sweep(parameters, RATES)])
        for row, parameters in ROWS.items()
    }


# Mean absolute error of each row [%], measured (4.26, 5.68, 1.94, 4.17, 6.28), rounded up.  The paper leaves details to
# a thesis; the natural reading comes to 4.5 % over all cells, and only a reading fitted to these very cells to 2 %.
@pytest.mark.parametrize(
    ("row", "error"),
    [("ratcp", 4.3), ("tcp", 5.8), ("ratcp_beta4", 2.0), ("ratcp_buffer8", 4.3), ("tcp_buffer8", 6.4)],
)
def test_table_1_is_met_as_closely_as_the_paper_defines_it(
    table: dict[str, np.ndarray], row: str, error: float
) -> None:
    assert 100 * np.abs(table[row] / PUBLISHED[row] - 1).mean() < error


def test_no_cell_of_table_1_is_far_off(table: dict[str, np.ndarray]) -> None:
    errors = np.concatenate([table[row] / PUBLISHED[row] - 1 for row in ROWS])
    assert 100 * np.abs(errors).mean() < 4.5  # measured: 4.46
    assert 100 * np.abs(errors).max() < 11  # measured: 10.5, TCP with B = 8 at lambda = 0.2


def test_growth_of_delayed_acks_comes_closer_to_table_1(table: dict[str, np.ndarray]) -> None:
    errors = []
    for row, parameters in ROWS.items():
        found = [result.throughput_Bps / 1e3 for result in ratcp.sweep(replace(parameters, growth="delayed"), RATES)]
        errors.append(np.abs(np.array(found) / PUBLISHED[row] - 1).mean())
    assert 100 * np.mean(errors) < 2.9  # measured: 2.79


def test_ratcp_is_never_worse_than_tcp_in_table_1(table: dict[str, np.ndarray]) -> None:
    assert (table["ratcp"] >= table["tcp"]).all()
    assert (table["ratcp_buffer8"] >= table["tcp_buffer8"]).all()


def test_the_gain_of_ratcp_fades_as_the_rate_changes_faster(table: dict[str, np.ndarray]) -> None:
    gain = table["ratcp"] / table["tcp"]
    assert (np.diff(gain) < 0).all()


def test_a_larger_backlog_target_gains(table: dict[str, np.ndarray]) -> None:
    assert (table["ratcp_beta4"][1:] > table["ratcp"][1:]).all()


def test_a_smaller_buffer_costs_tcp_more_than_ratcp(table: dict[str, np.ndarray]) -> None:
    ratcp_cost = 1 - table["ratcp_buffer8"] / table["ratcp"]
    tcp_cost = 1 - table["tcp_buffer8"] / table["tcp"]
    assert (ratcp_cost[1:] > 0).all()
    assert (tcp_cost > ratcp_cost).all()


def test_the_stationary_equation_is_solved_to_rounding() -> None:
    for parameters in ROWS.values():
        assert all(result.residual < 1e-12 for result in ratcp.sweep(parameters, RATES))


@pytest.mark.parametrize(
    ("buffer", "clip"), [(1, "ack"), (5, "ack"), (8, "ack"), (10, "ack"), (8, "slot"), (10, "slot"), (30, "slot")]
)
def test_ratcp_alone_fills_the_link_exactly(buffer: int, clip: Literal["slot", "ack"]) -> None:
    alone = ratcp.throughput(Parameters(buffer_packets=buffer, clip=clip))
    assert alone.throughput_Bps == pytest.approx(100e3, rel=1e-12)
    assert alone.timeouts_per_s == 0


def test_tcp_alone_repeats_a_sawtooth() -> None:
    # From ssthresh 15 cwnd grows by min(1, 20 / cwnd) per slot until a packet meets 10 others at cwnd 31; 3 + 4 slots
    # of recovery follow.  Growth is by chance, and the loss falls within a slot: about one slot of 26 either way.
    slots = sum(max(1.0, cwnd / 20) for cwnd in range(15, 31)) + 3 + 4
    alone = ratcp.throughput(Parameters(control="tcp"))
    assert 1 / alone.timeouts_per_s == pytest.approx(0.1 * slots, rel=1 / 26)


def test_no_place_for_sessions_is_the_same_as_no_arrivals() -> None:
    for control in ("ratcp", "tcp"):
        no_place = ratcp.throughput(Parameters(control=control, arrival_rate=1.0, max_sessions=0))
        assert no_place == ratcp.throughput(Parameters(control=control))


def test_rare_sessions_tend_to_none() -> None:
    for parameters in (Parameters(), Parameters(control="tcp")):
        rare = ratcp.throughput(replace(parameters, arrival_rate=1e-7))
        assert rare.throughput_pps == pytest.approx(ratcp.throughput(parameters).throughput_pps, rel=1e-5)


def test_without_a_target_backlog_ratcp_misses_a_little() -> None:
    # cwnd is C Delta, the round trip a transmission longer: one packet in 21 is missing; epochs hide half of it.
    found = ratcp.throughput(Parameters(backlog_packets=0))
    assert found.throughput_Bps == pytest.approx(100e3 * 19.5 / 20, rel=1e-12)


def test_the_fair_share_is_the_mean_over_the_sessions() -> None:
    # Detailed balance between neighbours, by hand.
    weight = np.cumprod([1, *((1 - math.exp(-0.2)) / (1 - math.exp(-0.05 * m / (m + 1))) for m in (1, 2, 3))])
    share = float(weight / weight.sum() @ [200, 100, 200 / 3, 50])
    assert ratcp.throughput(Parameters(arrival_rate=2.0)).fair_share_pps == pytest.approx(share, rel=1e-12)


def test_sessions_move_as_the_paper_says() -> None:
    chain = ratcp.session_chain(Parameters(arrival_rate=0.5))
    assert chain[1, 2] == pytest.approx(1 - math.exp(-0.05), rel=1e-12)
    assert chain[3, 2] == pytest.approx(1 - math.exp(-3 / 4 * 20 / 400), rel=1e-12)
    assert chain[0, 2] == chain[3, 0] == 0
    np.testing.assert_allclose(
        markov.stationary(chain), ratcp.session_distribution(Parameters(arrival_rate=0.5)), rtol=1e-12
    )


def test_throughput_stays_below_what_one_packet_of_backlog_could_carry() -> None:
    for parameters in ROWS.values():
        for result in ratcp.sweep(parameters, RATES):
            # Packets of a backlog that leave in a faster slot are not above the fair share: only 2 % of it by rounding.
            assert result.throughput_pps <= 1.02 * result.fair_share_pps


def test_growth_beyond_a_small_buffer_is_named_and_avoidable() -> None:
    tight = Parameters(backlog_packets=5, buffer_packets=7, arrival_rate=0.1)
    invented, clipped = ratcp.throughput(replace(tight, clip="slot")), ratcp.throughput(tight)
    assert any("beta = 5 is close to B = 7" in note for note in invented.validity)
    assert not any("close to B" in note for note in clipped.validity)
    assert invented.throughput_pps < 0.9 * clipped.throughput_pps


def test_a_slow_start_that_always_overflows_is_named() -> None:
    # Each of the 8 acknowledgements of a round releases two packets while one leaves: 9 packets meet a buffer of 6.
    found = ratcp.throughput(Parameters(buffer_packets=6, arrival_rate=0.01))
    assert found.slow_start_failure > 0.5
    assert any("trapped" in note for note in found.validity)


def test_the_packet_in_service_may_be_beside_the_buffer() -> None:
    for control in ("ratcp", "tcp"):
        beside = Parameters(control=control, arrival_rate=0.2, counts_in_service=False)
        within = replace(beside, counts_in_service=True, buffer_packets=11)
        assert ratcp.throughput(beside).throughput_pps == ratcp.throughput(within).throughput_pps


def test_parameters_speak_bits_as_well_as_packets() -> None:
    atm = Parameters.from_bits(capacity_bps=2e6, packet_bytes=1500, mean_session_bytes=1e6, arrival_rate=0.1)
    assert atm.slot == pytest.approx(2e6 / 12e3 * 0.1)
    assert atm.mean_session_packets == pytest.approx(1e6 / 1500)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("capacity_pps", 0, "capacity_pps is a positive number, not 0"),
        ("capacity_pps", math.nan, "capacity_pps is a positive number"),
        ("delay_s", -1, "delay_s is a positive number"),
        ("delay_s", 0.001, "at least one packet in flight"),
        ("delay_s", 60.0, "feedback is older than the sessions that it is about"),
        ("mean_session_packets", math.inf, "mean_session_packets is a positive number"),
        ("packet_bytes", 0, "packet_bytes is a positive number"),
        ("buffer_packets", 0, "buffer_packets is a whole number, 1 or more"),
        ("buffer_packets", 2.5, "buffer_packets is a whole number"),
        ("backlog_packets", -1, "backlog_packets is a whole number, 0 or more"),
        ("max_sessions", -1, "max_sessions is a whole number, 0 or more"),
        ("arrival_rate", -0.1, "arrival_rate is a number of sessions per second"),
        ("arrival_rate", math.inf, "arrival_rate is a number of sessions per second"),
        ("control", "reno", "control is 'ratcp' or 'tcp', not 'reno'"),
        ("growth", "fast", "growth is 'per-ack' or 'delayed'"),
        ("clip", "never", "clip is 'slot' or 'ack'"),
    ],
)
def test_what_is_outside_the_model_is_refused(field: str, value: object, message: str) -> None:
    values: dict[str, Any] = {"arrival_rate": 0.5, field: value}
    with pytest.raises(ValueError, match=message):
        Parameters(**values)


def test_a_model_too_large_to_solve_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratcp_long_run, "MAX_STATES", 500)
    with pytest.raises(ValueError, match=r"more than 500 states.*39 packets"):
        ratcp.throughput(Parameters(capacity_pps=390, control="tcp", arrival_rate=0.1))


def test_varicap_starts_without_scipy() -> None:
    code = "import sys, varicap, varicap.cli; print('scipy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        (["examples/fixed.toml", "--explain"], {"scipy", "numpy"}),
        (["examples/fixed.toml", "--engine", "model"], {"scipy", "numpy"}),
        (["examples/ratcp.toml", "--engine", "model"], {"scipy"}),
        # Of EFFCAP there are thousands of states; with a finite delta there is no model.
        (
            ["examples/effcap.toml", "--engine", "model", "--set", "flows.effcap.feedback.estimator.effective.delta=1"],
            {"scipy"},
        ),
        (["examples/markov.toml", "--engine", "model", "--set", "isolate=true"], {"scipy"}),
        (["examples/wireless.toml", "--engine", "model"], {"scipy"}),
        (["python/varicap/papers/ratcp/scenarios/persistent.toml", "--engine", "model"], {"scipy"}),
        (["examples/fixed.toml", "--seeds", "1", "--set", "duration=12 s", "--json"], {"scipy.optimize"}),
    ],
)
def test_an_answer_does_not_wait_for_libraries_that_it_does_not_need(arguments: list[str], spared: set[str]) -> None:
    code = (
        "import sys; from varicap.cli import main\n"
        f"sys.argv = ['varicap', 'run', *{arguments!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print(sorted({spared!r} & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True)
    assert ended.stderr.splitlines()[-1] == "[]"


def test_ratcp_that_settles_from_one_beginning_alone_is_strained_and_not_refused() -> None:
    """The first timer expires as the round trip ends: with more than one packet there, what is sent again is late."""
    timer = timeout_cycle.Timer(minimum_s=0.2)
    path = timeout_cycle.Parameters(capacity_pps=500, delay_s=1.0, room_packets=750, rate_window=550, timer=timer)
    found = timeout_cycle.throughput(path)
    assert found.throughput_pps == pytest.approx(500)
    assert "or is caught in timeouts, depends on instants, and on how it began" in found.validity[0]
