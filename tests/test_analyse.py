"""Stationary distributions, renewal rewards, and the RATCP model: closed forms, its paper, a plain simulation."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import ROOT

from varicap.analyse import markov, together
from varicap.analyse.models import ratcp, ratcp_chain, timeout_cycle
from varicap.analyse.models.ratcp import Parameters
from varicap.analyse.models.ratcp_slot import Slots, spacing
from varicap.analyse.renewal import MarkovRenewal, reward_rate

# --- markov ----------------------------------------------------------------------------------------------------------


def random_walk(states: int, up: float, down: float) -> sp.csr_array:
    """A birth-death chain that stays where it is at its ends."""
    chain = sp.diags_array([np.full(states - 1, up), np.full(states - 1, down)], offsets=[1, -1]).tolil()
    chain.setdiag(1 - np.asarray(chain.sum(axis=1)).ravel())
    return sp.csr_array(chain)


@pytest.mark.parametrize("states", [1, 2, 7, 150])
def test_gth_gives_the_geometric_distribution_of_a_random_walk(states: int) -> None:
    expected = 0.4 ** np.arange(states)
    found = markov.gth(random_walk(states, 0.2, 0.5).toarray())
    # Nothing is subtracted: rounding is the only error, in the smallest probability (10^-60) as in the largest.
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-12)


def test_gth_solves_two_states_in_closed_form() -> None:
    a, b = 1e-9, 0.3
    np.testing.assert_allclose(markov.gth([[1 - a, a], [b, 1 - b]]), [b / (a + b), a / (a + b)], rtol=1e-14)


def test_a_large_sparse_chain_has_the_same_solution_as_a_small_dense_one() -> None:
    expected = 0.98 ** np.arange(1000)
    found = markov.stationary(random_walk(1000, 0.49, 0.5))
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-13)  # rounding over the gap, about 10^-4


def test_a_rarely_visited_start_does_not_spoil_a_large_chain() -> None:
    found = markov.stationary(random_walk(400, 0.5, 0.2))
    expected = 0.4 ** np.arange(400)[::-1]
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-14)


def test_a_chain_of_two_halves_that_hardly_communicate_is_an_error() -> None:
    halves = sp.block_diag([random_walk(200, 0.2, 0.5), random_walk(200, 0.3, 0.5)]).tolil()
    halves[0, 200] = halves[200, 0] = 1e-14
    with pytest.raises(markov.NotConverged, match="hardly communicate"):
        markov.stationary(halves)

    def share(chain: Any) -> together.Computation[float]:
        return float((yield markov.stationary_all, chain)[0])

    failed, found = together.run([share(halves), share([[0.5, 0.5], [0.5, 0.5]])])
    assert isinstance(failed, markov.NotConverged)
    assert found == 0.5, "the others have their answers"


def test_a_very_large_chain_is_solved_without_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.sparse.linalg.splu", None)
    # Two walks side by side, whose distribution is the product of theirs.
    found = markov.stationary(sp.kron(random_walk(130, 0.3, 0.5), random_walk(130, 0.4, 0.5)).tocsr())
    expected = np.outer(0.6 ** np.arange(130), 0.8 ** np.arange(130)).ravel()
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-13)


def test_a_very_large_chain_that_mixes_slowly_is_factorised_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markov, "_FACTORISED_STATES", 300)
    monkeypatch.setattr(markov, "_DENSE_STATES", 300)
    test_a_large_sparse_chain_has_the_same_solution_as_a_small_dense_one()
    test_a_chain_of_two_halves_that_hardly_communicate_is_an_error()


def test_a_solution_that_does_not_solve_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markov, "_CHANGE", math.inf)  # content with the first iteration
    monkeypatch.setattr(markov, "_SHIFT", 0.1)
    with pytest.raises(markov.NotConverged, match="300 states leaves a residual of"):
        markov.stationary(random_walk(300, 0.2, 0.5))


def test_transient_states_have_no_probability() -> None:
    assert markov.stationary([[0.5, 0.25, 0.25], [0, 0, 1], [0, 1, 0]]).tolist() == [0, 0.5, 0.5]


def test_chains_that_are_solved_together_have_the_solutions_of_each() -> None:
    rng = np.random.default_rng(1)
    chains: list[Any] = [rng.random((states, states)) for states in (1, 2, 40, 7, 40, 300, 7)]
    chains = [chain / chain.sum(axis=1, keepdims=True) for chain in chains]
    chains[3:3] = [np.eye(2), random_walk(900, 0.2, 0.3), random_walk(150, 0.2, 0.5), [[0.5, 0.6], [0.5, 0.5]]]
    found = markov.stationary_all(chains)
    for chain, one in zip(chains, found, strict=True):
        if isinstance(one, Exception):
            with pytest.raises(ValueError, match=re.escape(str(one))):
                markov.stationary(chain)
        else:
            np.testing.assert_array_equal(one, markov.stationary(chain))
            assert markov.residual(markov.validate(chain), one) < 1e-13
    assert [isinstance(one, Exception) for one in found].count(True) == 2


def test_a_chain_whose_chances_vanish_leaves_the_others_theirs() -> None:
    # Irreducible as it is written, but the way back from the second state has a chance of 1e-400.
    least = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 1e-200], [1e-200, 0.5, 0.5]])
    fine = np.full((3, 3), 1 / 3)
    first, failed, last = markov.stationary_all([fine, least, fine])
    assert not isinstance(first, Exception)
    assert not isinstance(last, Exception)
    np.testing.assert_allclose([first, last], 1 / 3)
    assert isinstance(failed, ValueError)
    assert "not irreducible" in str(failed)


def test_a_computation_that_fails_leaves_the_others_alone() -> None:
    def share(chain: Any, factor: float) -> together.Computation[float]:
        found = yield markov.stationary_all, chain
        if factor < 0:
            raise ValueError("a factor below zero")
        return float(found[0]) * factor

    mixed = [([[0.9, 0.1], [0.3, 0.7]], 2.0), (np.eye(2), 1.0), ([[0.5, 0.5], [0.5, 0.5]], -1.0), ([[1.0]], 3.0)]
    found = together.run([share(*one) for one in mixed])
    assert [found[0], found[3]] == pytest.approx([1.5, 3.0])
    assert [str(found[at])[:12] for at in (1, 2)] == ["the chain ha", "a factor bel"]
    with pytest.raises(ValueError, match="2 recurrent classes"):
        together.alone(share(np.eye(2), 1.0))


def test_an_argument_that_spoils_a_call_for_all_spoils_its_own_computation_alone() -> None:
    def numbers(texts: list[str]) -> list[float]:
        return [float(text) for text in texts]

    def half(text: str) -> together.Computation[float]:
        return float((yield numbers, text)) / 2

    first, failed, last = together.run([half("1"), half("one"), half("3")])
    assert (first, last) == (0.5, 1.5)
    assert "could not convert" in str(failed)


def test_two_recurrent_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="2 recurrent classes"):
        markov.stationary(np.eye(2))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.5]], "square"),
        ([[1.1, -0.1], [0.5, 0.5]], "negative"),
        ([[math.nan, 1.0], [0.5, 0.5]], "not a number"),
        ([[0.5, 0.5], [0.5, 0.4]], "row 1 .* sums to 0.9, not 1"),
    ],
)
def test_what_is_no_transition_matrix_is_refused(matrix: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        markov.stationary(matrix)


def test_a_birth_death_process_is_truncated_poisson_with_ample_servers() -> None:
    load = 2.5
    weight = [load**n / math.factorial(n) for n in range(6)]
    np.testing.assert_allclose(markov.birth_death([load] * 5, range(1, 6)), np.array(weight) / sum(weight), rtol=1e-14)


@pytest.mark.parametrize(("up", "down"), [([1.0], [0.0]), ([-1.0], [1.0]), ([1.0, 1.0], [1.0])])
def test_a_birth_death_process_without_a_way_down_is_refused(up: list[float], down: list[float]) -> None:
    with pytest.raises(ValueError, match=r"ways (up|down)"):
        markov.birth_death(up, down)


# --- renewal ---------------------------------------------------------------------------------------------------------


def test_reward_rate_of_two_states_worked_by_hand() -> None:
    # Of three epochs one is in state 0 (pi = 1/3, 2/3): 4 rewards in 2 s, and twice 1 reward in 5 s: 6 in 12 s.
    chain = MarkovRenewal(transition=np.array([[0.0, 1.0], [0.5, 0.5]]), mean_holding_s=np.array([2.0, 5.0]))
    assert reward_rate(chain, np.array([4.0, 1.0])) == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("holding", [[1.0], [1.0, -1.0], [0.0, 0.0]])
def test_holding_times_must_make_sense(holding: list[float]) -> None:
    with pytest.raises(ValueError, match="holding times"):
        MarkovRenewal(transition=np.eye(2), mean_holding_s=np.array(holding))


# --- the RATCP model against its paper -------------------------------------------------------------------------------

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


# --- limits ----------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(ratcp_chain, "MAX_STATES", 500)
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


@pytest.mark.parametrize("states", [63, 64, 65, 150])
def test_elimination_in_blocks_solves_a_chain_that_leads_everywhere(states: int) -> None:
    chain = np.random.default_rng(states).random((states, states)) ** 20
    chain /= chain.sum(axis=1, keepdims=True)
    found = markov.gth(chain)
    np.testing.assert_allclose(found @ chain, found, rtol=1e-11)


def test_dense_and_sparse_chains_have_the_same_classes() -> None:
    loop = np.roll(np.eye(4), 1, axis=1)
    trap = np.zeros((7, 7))
    trap[:4, :4], trap[4:, 4:] = loop, np.roll(np.eye(3), 1, axis=1)
    with pytest.raises(ValueError, match="2 recurrent classes"):
        markov.recurrent_class(trap)
    trap[0, 1], trap[0, 5] = 0.5, 0.5
    for chain in (trap, sp.csr_array(trap)):
        markov.recurrent_class(chain)[:] = 0  # whoever asked may change what it got
        assert markov.recurrent_class(chain).tolist() == [4, 5, 6]


def test_ratcp_that_settles_from_one_beginning_alone_is_strained_and_not_refused() -> None:
    """The first timer expires as the round trip ends: with more than one packet there, what is sent again is late."""
    timer = timeout_cycle.Timer(minimum_s=0.2)
    path = timeout_cycle.Parameters(capacity_pps=500, delay_s=1.0, room_packets=750, rate_window=550, timer=timer)
    found = timeout_cycle.throughput(path)
    assert found.throughput_pps == pytest.approx(500)
    assert "or is caught in timeouts, depends on instants, and on how it began" in found.validity[0]


# --- the RATCP model against a plain simulation of its process -------------------------------------------------------


class Walk:
    """The process of the model, packet by packet and slot by slot, with all that is random drawn at random."""

    def __init__(self, parameters: Parameters, seed: int) -> None:
        self.p = parameters
        self.random = np.random.default_rng(seed)
        self.chain = ratcp.session_chain(parameters)
        self.room = parameters.buffer_packets + (not parameters.counts_in_service)
        self.before = self.now = 0
        self.slots = 0
        self.packets = 0.0
        self.share = 0.0
        self.avoiding = self.losses = self.failures = 0
        self.state = 0, 1, 1

    def rate_window(self, sessions: int) -> int:
        return max(1, math.floor(self.p.slot / (sessions + 1) + 1e-9) + self.p.backlog_packets)

    def next_slot(self) -> None:
        self.slots += 1
        self.share += 1 / (self.now + 1)
        self.before, self.now = self.now, int(self.random.choice(self.chain.shape[0], p=self.chain[self.now]))

    def queue(self, backlog: int, released: list[int]) -> tuple[int, int, int | None]:
        """Departure by departure: packets admitted and left behind, and the acknowledgement whose packet was lost."""
        service = self.now + 1
        fit = self.p.slot / service
        extra = self.random.random() < fit - math.floor(fit + 1e-9) - 1e-9
        begun = math.ceil(fit - 1e-9) * service - self.p.slot if extra else 0.0
        departures = [(i + 1) * service - begun for i in range(backlog)]
        gap = min(self.before + 1, self.p.slot / max(1, len(released)))
        admitted = 0
        for ack, count in enumerate(released):
            at = (ack + 1) * gap
            for _ in range(count):
                if sum(departure > at + 1e-9 for departure in departures) >= self.room:
                    return admitted, 0, ack
                departures.append(max(at, departures[-1] if departures else 0.0) + service)
                admitted += 1
        return admitted, sum(departure > self.p.slot + 1e-9 for departure in departures), None

    def recover(self, half: int) -> tuple[int, int, int]:
        """From the end of the slot of a loss to congestion avoidance: backlog, delay, cwnd."""
        while True:
            ssthresh = max(2, half) if self.p.control == "tcp" else self.rate_window(self.now)
            self.next_slot()
            self.next_slot()
            window = 1
            while window < ssthresh:
                backlog, delay = self.split(window)
                grown = min(2 * window, ssthresh)
                released = [2 if i < grown - window else 1 for i in range(delay)]
                admitted, _, lost = self.queue(backlog, released)
                self.packets += window + admitted if lost is not None else grown - window
                self.next_slot()
                if lost is not None:
                    self.failures += 1
                    half = (window + min(lost + 1, grown - window)) // 2
                    break
                window = grown
            else:
                return *self.split(window), window

    def split(self, window: int) -> tuple[int, int]:
        backlog = min(self.room, max(0, window - math.floor(self.p.slot / (self.before + 1) + 1e-9)))
        return backlog, window - backlog

    def run(self, slots: int) -> None:
        backlog, delay, window = self.state
        while self.slots < slots:
            limit = self.rate_window(self.before) if self.p.control == "ratcp" else 10**9
            window = min(window, limit)
            waits = min(delay, max(0, backlog + delay - window))
            acks = delay - waits
            growth = int(self.random.binomial(acks, (1 if self.p.growth == "per-ack" else 0.5) / window))
            if self.p.clip == "ack":
                growth = min(growth, limit - window)
            released = [0] * waits + [1] * acks
            for nth in range(1, growth + 1):
                released[waits + math.ceil(nth * acks / (growth + 1)) - 1] += 1
            admitted, left, lost = self.queue(backlog, released)
            self.packets += delay
            self.avoiding += 1
            if lost is None:
                backlog, delay, window = left, backlog + admitted - left, window + growth
                self.next_slot()
            else:
                self.losses += 1
                self.packets += backlog + admitted
                grown = window + sum(count - 1 for count in released[waits : lost + 1])
                self.next_slot()
                backlog, delay, window = self.recover(grown // 2)
        self.state = backlog, delay, window


OFF_PAPER = [
    Parameters(
        capacity_pps=155,
        delay_s=0.08,
        buffer_packets=7,
        backlog_packets=2,
        arrival_rate=0.8,
        mean_session_packets=150,
        max_sessions=2,
        clip="slot",
    ),
    Parameters(
        capacity_pps=125,
        delay_s=0.15,
        buffer_packets=12,
        control="tcp",
        arrival_rate=0.8,
        mean_session_packets=120,
        max_sessions=4,
    ),
    Parameters(
        capacity_pps=300,
        buffer_packets=15,
        backlog_packets=3,
        arrival_rate=1.0,
        max_sessions=1,
        growth="delayed",
        counts_in_service=False,
    ),
    Parameters(
        capacity_pps=100,
        delay_s=0.2,
        buffer_packets=6,
        backlog_packets=0,
        arrival_rate=1.5,
        mean_session_packets=50,
        clip="slot",
    ),
    Parameters(
        capacity_pps=90,
        delay_s=0.1,
        buffer_packets=4,
        backlog_packets=3,
        arrival_rate=1.5,
        mean_session_packets=25,
        clip="ack",
    ),
    Parameters(
        capacity_pps=170,
        delay_s=0.1,
        buffer_packets=20,
        control="tcp",
        arrival_rate=2.0,
        mean_session_packets=60,
        growth="delayed",
    ),
]


def test_runs_of_acknowledgements_are_worked_off_as_one_by_one() -> None:
    walk = Walk(Parameters(), seed=5)  # 20 packets per slot and sessions that divide it: nothing is random
    random = np.random.default_rng(6)
    losses = 0
    for _ in range(300):
        walk.before, walk.now = random.choice([0, 1, 3], 2).tolist()
        walk.room = int(random.integers(2, 12))
        backlog = int(random.integers(0, walk.room + 1))
        runs = [(int(random.integers(0, 9)), released) for released in (0, *random.integers(1, 3, 3).tolist())]
        released = [count for acks, count in runs for _ in range(acks)]
        slots = Slots(
            work=np.array([backlog * (walk.now + 1.0)]),
            spacing=spacing(20.0, np.array([len(released)]), np.array([walk.before + 1.0])),
            service=np.array([walk.now + 1.0]),
            room=walk.room,
        )
        for acks, count in runs:
            slots.run(np.array([acks]), count)
        admitted, left, lost = walk.queue(backlog, released)
        assert (slots.lost[0], slots.admitted[0]) == (lost is not None, admitted)
        if lost is None:
            assert slots.backlog(20.0)[0] == left
        else:
            losses += 1
            assert slots.growth[0] == sum(count == 2 for count in released[: lost + 1])
    assert 50 < losses < 250  # both outcomes were seen


def test_growth_in_a_slot_is_binomial() -> None:
    # 20 acknowledgements and 1 packet at the link: a buffer of B overflows when cwnd grows by B or more.
    for buffer in (3, 5):
        path = ratcp_chain.Path(
            slot=20,
            room=buffer,
            rate_window=(21,),
            growth=1.0,
            clip_at_ack=False,
            service=(1.0,),
            leads=((0,),),
        )
        tail = sum(math.comb(20, n) * (1 / 21) ** n * (20 / 21) ** (20 - n) for n in range(buffer, 21))
        assert ratcp_chain.overshoot(path, 1) == pytest.approx(tail, abs=1e-5)  # what the chain leaves out


@pytest.mark.parametrize("parameters", OFF_PAPER)
def test_the_chain_gives_what_its_process_does(parameters: Parameters) -> None:
    batches = []
    for seed in range(20):
        walk = Walk(parameters, seed)
        walk.run(200)
        walk.slots, walk.packets, walk.share = 0, 0.0, 0.0
        walk.run(2000)
        batches.append((walk.packets / walk.slots, walk.share / walk.slots))
    carried, share = np.array(batches).T
    # The sessions' part of the scatter is known: the mean share of the stated chain.  What remains is small.
    known = ratcp.throughput(parameters)
    slope = np.cov(carried, share)[0, 1] / share.var(ddof=1)
    rest = carried - slope * (share - known.fair_share_pps / parameters.capacity_pps)
    error = rest.std(ddof=1) / math.sqrt(rest.size)
    assert error < 0.01 * rest.mean()
    # Six points, each within 3.3 standard errors: a correct model fails one in 50 sets of seeds (Student, 18 degrees).
    assert known.throughput_pps * parameters.delay_s == pytest.approx(rest.mean(), abs=3.3 * error)


def test_losses_and_cycles_are_those_of_the_process() -> None:
    parameters = OFF_PAPER[4]
    batches = []
    for seed in range(20):
        walk = Walk(parameters, seed)
        walk.run(4000)  # the beginning is a hundredth of it
        timeouts = walk.losses + walk.failures
        batches.append(
            [
                walk.losses / walk.avoiding,
                walk.failures / timeouts,
                timeouts / walk.slots / parameters.delay_s,
                walk.slots * parameters.delay_s / (walk.avoiding + walk.failures),
            ]
        )
    found = np.array(batches)
    known = ratcp.throughput(parameters)
    expected = [known.loss_probability, known.slow_start_failure, known.timeouts_per_s, known.mean_cycle_s]
    error = found.std(axis=0, ddof=1) / math.sqrt(20)
    assert (error < 0.04 * found.mean(axis=0)).all()
    # Within 3.3 standard errors, as above.
    assert (np.abs(found.mean(axis=0) - expected) < 3.3 * error).all(), (found.mean(axis=0), expected, error)
