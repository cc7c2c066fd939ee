"""Chains that are solved together, and large ones by level, beside the elimination of one at a time."""

from typing import Any

import numpy as np
import pytest

from varicap.analyse import censored, climbing, markov
from varicap.analyse.effective import SlottedChain
from varicap.analyse.models import abr, abr_chain, abr_slot


def walk(states: int, chains: int, rng: np.random.Generator) -> tuple[censored.Branches, Any]:
    """A ring of states with shortcuts, some of which every third chain does not take, and branches that repeat."""
    ways = 4
    source = np.repeat(np.arange(states), ways)
    target = rng.integers(0, states, (states, ways))
    target[:, 0] = (np.arange(states) + 1) % states
    chances = rng.random((states, ways, chains)) * (rng.random((states, ways, 3)) < 0.7)[..., np.arange(chains) % 3]
    chances[:, 0] += 1e-3
    chances /= chances.sum(axis=1, keepdims=True)
    return censored.Branches(states, source, target.ravel()), chances.reshape(-1, chains)


@pytest.mark.parametrize("states", [1, 2, 7, 60, 300])
def test_chains_with_the_same_branches_have_the_distribution_of_each(states: int) -> None:
    branches, chances = walk(states, 9, np.random.default_rng(states))
    for number, found in enumerate(branches.stationary_all(chances)):
        assert isinstance(found, censored.Found)
        matrix = markov.matrix(states, branches.source, branches.target, chances[:, number])
        np.testing.assert_allclose(found.shares, markov.stationary(matrix), rtol=1e-12)
        assert found.residual < 1e-14


def test_few_chains_are_solved_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    branches, chances = walk(60, 2, np.random.default_rng(1))
    monkeypatch.setattr(censored, "_plan", None)  # is not needed
    censored._planned.cache_clear()
    for number, found in enumerate(branches.stationary_all(chances)):
        assert isinstance(found, censored.Found)
        matrix = markov.matrix(60, branches.source, branches.target, chances[:, number])
        assert (found.shares == markov.stationary(matrix)).all()
        assert found.residual < 1e-14


def test_small_probabilities_keep_their_relative_accuracy() -> None:
    # Up with 1e-9, down with 1 - 1e-9: detailed balance has the answer.
    states, up = 30, np.array([1e-9, 1e-3, 0.4])
    place = np.arange(states)
    source = np.concatenate([place, place])
    target = np.concatenate([np.minimum(place + 1, states - 1), np.maximum(place - 1, 0)])
    chances = np.repeat([up, 1 - up], states, axis=0)
    for number, found in enumerate(censored.Branches(states, source, target).stationary_all(chances)):
        assert isinstance(found, censored.Found)
        one = up[number]
        exact = markov.birth_death(np.full(states - 1, one), np.full(states - 1, 1 - one))
        np.testing.assert_allclose(found.shares, exact, rtol=1e-12)


def test_chains_may_recur_in_different_states() -> None:
    # 0 and 1 alternate; 2 and 3 do, and 0 may lead there or not.
    branches = censored.Branches(4, np.array([0, 0, 1, 2, 3, 3]), np.array([1, 2, 0, 3, 2, 1]))
    chances = np.array([[1, 0, 1, 1, 1, 0], [0.5, 0.5, 1, 1, 1, 0], [0.5, 0.5, 1, 1, 0, 1]]).T
    first, second, third = branches.stationary_all(chances.astype(float))
    assert "2 recurrent classes" in str(first)
    assert isinstance(second, censored.Found)
    assert second.shares.tolist() == [0, 0, 0.5, 0.5]
    assert isinstance(third, censored.Found)
    np.testing.assert_allclose(third.shares, [1 / 3, 1 / 3, 1 / 6, 1 / 6], rtol=1e-15)


def test_probabilities_that_are_none_spoil_only_their_chain() -> None:
    branches = censored.Branches(2, np.array([0, 0, 1]), np.array([0, 1, 0]))
    chances = np.array([[0.5, 0.5, 1], [0.5, 0.6, 1], [-0.5, 1.5, 1], [np.nan, 1, 1]]).T
    found, *errors = branches.stationary_all(chances)
    assert isinstance(found, censored.Found)
    np.testing.assert_allclose(found.shares, [2 / 3, 1 / 3], rtol=1e-15)
    assert [str(error) for error in errors] == [
        "row 0 of the transition matrix sums to 1.1, not 1",
        "a transition probability is negative or not a number",
        "a transition probability is negative or not a number",
    ]


def test_each_state_needs_a_branch_and_there_may_not_be_too_many() -> None:
    with pytest.raises(ValueError, match="a state has no branch"):
        censored.Branches(2, np.array([0]), np.array([1]))
    many = np.arange(censored.MOST_STATES + 1)
    with pytest.raises(ValueError, match="too many to be censored together"):
        censored.Branches(many.size, many, many)


def explored(parameters: abr.Parameters) -> tuple[abr_chain.Chain, Any, Any]:
    """The chain of a path, and the probabilities of its branches and of the changes that these have in common."""
    rules, conditions = abr_slot.conditions(abr._path(parameters))
    chain = abr_chain.explore(rules)
    given = [conditions], parameters.capacity.transition[None]
    return chain, chain.chances(*given)[:, 0], chain.changing(*given)[:, 0]


@pytest.mark.parametrize("lasting", [2.0, 20.0, 2000.0])
def test_a_window_that_climbs_has_the_distribution_of_the_whole_chain(
    lasting: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = abr.Parameters(capacity=SlottedChain.symmetric(lasting), max_window=40)
    chain, chances, changing = explored(parameters)
    small = markov.stationary(markov.matrix(chain.before.size, chain.source, chain.target, chances))
    monkeypatch.setattr(markov, "stationary", None)  # is not needed
    found = chain.climbing.stationary(changing)
    np.testing.assert_allclose(found.shares, small, rtol=1e-11, atol=1e-15)
    assert found.residual < markov.RESIDUAL


def test_what_changes_sum_up_to_is_foreseen_where_they_shrink_by_one_ratio() -> None:
    # Eigenvalues 0.95 and 0.45: step by step the iteration would be given up after 200 of them.
    chain = np.array([[0.98, 0.02, 0.0], [0.01, 0.75, 0.24], [0.05, 0.28, 0.67]])
    steps = 0

    def step(shares: Any) -> Any:
        nonlocal steps
        steps += 1
        return shares @ chain

    found = climbing._iterated(step, 3)
    assert found is not None
    np.testing.assert_allclose(found, markov.stationary(chain), rtol=1e-13)
    assert steps < 100


def test_levels_may_be_of_no_use() -> None:
    # Nothing falls where the chain recurs; or it is slow from fall to fall, too, as a walk is.
    flip = climbing.Branches(np.array([0, 1, 1]), np.array([0, 1, 2]), np.array([1, 2, 1]))
    assert flip.stationary(np.ones(3)).shares.tolist() == [0, 0.5, 0.5]
    states = 400
    place = np.arange(states)
    source, target = np.tile(place, 2), np.concatenate([np.minimum(place + 1, states - 1), np.maximum(place - 1, 0)])
    walks = climbing.Branches(place, source, target)
    np.testing.assert_allclose(walks.stationary(np.full(2 * states, 0.5)).shares, 1 / states, rtol=1e-9)


def test_what_recurs_may_differ_between_chains_with_the_same_branches() -> None:
    source, target = np.array([0, 0, 1, 1, 2, 3, 3]), np.array([1, 2, 0, 3, 0, 0, 3])
    branches = climbing.Branches(np.array([0, 1, 1, 0]), source, target)
    for returns, leaves in ((1.0, 1.0), (0.5, 1.0), (0.5, 0.0)):
        chances = np.array([0.25, 0.75, returns, 1 - returns, 1, leaves, 1 - leaves])
        expected = markov.stationary(markov.matrix(4, source, target, chances))
        np.testing.assert_allclose(branches.stationary(chances).shares, expected, rtol=1e-12, atol=1e-300)
    with pytest.raises(ValueError, match="2 recurrent classes"):
        branches.stationary(np.array([0.25, 0.75, 1, 0, 1, 0, 1]))
    with pytest.raises(ValueError, match=r"row 1 of the transition matrix sums to 0\.5, not 1"):
        branches.stationary(np.array([0.25, 0.75, 0.5, 0, 1, 1, 0]))


def test_a_window_that_hardly_ever_falls_is_solved_or_refused_as_by_the_whole_chain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(markov, "_DENSE_STATES", 0)
    monkeypatch.setattr(markov, "_SPARSE_STATES", 0)
    for lasting, is_refused in ((1e9, False), (1e12, True)):
        changes = np.array([1.3, 0.7123]) / lasting
        capacity = SlottedChain(np.array([1.0, 0.5]), np.eye(2) + np.outer(changes * [1, -1], [-1, 1]))
        chain, chances, changing = explored(abr.Parameters(capacity=capacity, max_window=40))
        transition = markov.matrix(chain.before.size, chain.source, chain.target, chances)
        assert not isinstance(transition, np.ndarray)
        if is_refused:
            with pytest.raises(markov.NotConverged, match="hardly communicate"):
                chain.climbing.stationary(changing)
        else:
            assert (chain.climbing.stationary(changing).shares == markov.stationary(transition)).all()
