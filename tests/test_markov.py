"""Markov chains and renewal processes: their solutions, and what cannot be solved."""

import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from varicap.analyse import markov, together
from varicap.analyse.renewal import MarkovRenewal, reward_rate


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
    monkeypatch.setattr(markov, "SHIFT", 0.1)
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


def test_reward_rate_of_two_states_worked_by_hand() -> None:
    # Of three epochs one is in state 0 (pi = 1/3, 2/3): 4 rewards in 2 s, and twice 1 reward in 5 s: 6 in 12 s.
    chain = MarkovRenewal(transition=np.array([[0.0, 1.0], [0.5, 0.5]]), mean_holding_s=np.array([2.0, 5.0]))
    assert reward_rate(chain, np.array([4.0, 1.0])) == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("holding", [[1.0], [1.0, -1.0], [0.0, 0.0]])
def test_holding_times_must_make_sense(holding: list[float]) -> None:
    with pytest.raises(ValueError, match="holding times"):
        MarkovRenewal(transition=np.eye(2), mean_holding_s=np.array(holding))


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
