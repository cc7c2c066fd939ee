"""Chains of the RATCP model that are found and solved together, beside each alone."""

import weakref
from dataclasses import fields, replace

import numpy as np
import pytest

from varicap.analyse import censored, markov
from varicap.analyse.models import ratcp, ratcp_chain, ratcp_long_run
from varicap.analyse.models.ratcp import Parameters
from varicap.analyse.models.ratcp_long_run import Chain, Solution, Wanted

SESSIONS = Parameters(arrival_rate=0.1, backlog_packets=4)
ALIKE = [replace(SESSIONS, delay_s=delay_s) for delay_s in (0.09, 0.0925, 0.1, 0.1001)]
UNLIKE = [
    replace(SESSIONS, buffer_packets=3),
    replace(SESSIONS, buffer_packets=20, backlog_packets=9, delay_s=0.14),
    replace(SESSIONS, clip="slot"),
    replace(SESSIONS, growth="delayed"),
    replace(SESSIONS, control="tcp"),
    replace(SESSIONS, control="tcp", delay_s=0.07),
    replace(SESSIONS, max_sessions=1),
]


def wanted(parameters: Parameters) -> Wanted:
    return Wanted(path=ratcp._path(parameters), capacity=ratcp.session_chain(parameters))


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratcp_long_run, "_kept", type(ratcp_long_run._kept)())


def alone(one: Wanted) -> Chain:
    ratcp_long_run._kept.clear()
    (chain,) = explored([one])
    return chain


def explored(several: list[Wanted]) -> list[Chain]:
    keys = [(one.path, one.most) for one in several]
    found = dict(ratcp_long_run.explored(keys))
    chains = [chain for chain in map(found.get, keys) if isinstance(chain, Chain)]
    assert len(chains) == len(several)
    return chains


def test_chains_that_are_found_together_are_those_found_alone() -> None:
    several = [wanted(parameters) for parameters in [*ALIKE, *UNLIKE]]
    together = explored(several)
    assert len({chain.size for chain in together}) > len(UNLIKE)
    for one, chain in zip(several, together, strict=True):
        other = alone(one)
        for column in fields(chain.states):
            if column.name != "path":
                assert (getattr(chain.states, column.name) == getattr(other.states, column.name)).all()
        for name in ("slot", "source", "target", "steps"):
            assert (getattr(chain, name) == getattr(other, name)).all()
        for name in ("chance", "reward", "loss"):
            np.testing.assert_allclose(getattr(chain, name), getattr(other, name), rtol=1e-14)


@pytest.mark.parametrize("several", [ALIKE, UNLIKE, [*ALIKE, ALIKE[0]], [SESSIONS, SESSIONS]])
def test_chains_that_are_solved_together_have_the_long_run_of_each(several: list[Parameters]) -> None:
    for parameters, found in zip(several, ratcp_long_run.solve_all([*map(wanted, several)]), strict=True):
        one = wanted(parameters)
        chain = alone(one)
        transition = chain.transition(one.capacity)
        share = markov.stationary(transition)
        exact = ratcp_long_run._long_run(chain, censored.Found(shares=share, residual=0.0), one.capacity)
        assert isinstance(found, Solution)
        assert found.states == exact.states
        assert found.residual < 1e-14
        for name in ("packets_per_slot", "loss_probability", "slow_start_failure", "timeouts_per_slot", "cycle_slots"):
            assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=1e-12, abs=1e-300)


def test_chains_that_are_alike_are_solved_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = [alone(wanted(parameters)) for parameters in ALIKE]
    union = ratcp_long_run._Union.of(chains)
    assert union is not None
    assert max(chain.size for chain in chains) < union.size < sum(chain.size for chain in chains)
    small = alone(wanted(replace(SESSIONS, max_sessions=0)))
    assert ratcp_long_run._Union.of([*chains, alone(wanted(UNLIKE[1])), small]) is None, "they have no state in common"
    states = chains[0].states
    far = replace(chains[0], states=replace(states, delay=states.delay + 2**40, window=states.window + 2**40))
    assert ratcp_long_run._Union.of([*chains, far]) is None, "their states have no common numbers"
    monkeypatch.setattr(ratcp_long_run, "_UNLIKE", 1)
    assert ratcp_long_run._Union.of(chains) is None, "each would be solved with many states of others"


def test_states_are_counted_with_that_of_the_capacity_which_after_a_loss_is_all_that_matters() -> None:
    one = wanted(replace(SESSIONS, control="tcp"))
    chain, leads = alone(one), one.capacity > 0
    states = chain.states
    expected = {
        (*numbers[:5], 0 if numbers[0] == ratcp_chain.LOST else before, now)
        for *numbers, before in zip(
            *(column.tolist() for name, column in vars(states).items() if name != "path"), strict=True
        )
        for now in np.flatnonzero(leads[before]).tolist()
    }
    assert ratcp_chain.counted(states, leads) == len(expected) < chain.reward.size
    assert (states.kind[chain.slot[0]] == ratcp_chain.LOST).any()


def test_a_path_of_too_many_states_spoils_no_other() -> None:
    small, large = wanted(UNLIKE[0]), wanted(SESSIONS)
    most, more = (ratcp_chain.counted(alone(one).states, one.capacity > 0) for one in (small, large))
    assert alone(small).size < most < more, "states are counted with that of the capacity"
    ratcp_long_run._kept.clear()
    shorter = wanted(replace(UNLIKE[0], delay_s=0.09))
    several = [replace(one, most=most) for one in (small, shorter, large, replace(shorter, capacity=small.capacity))]
    first, second, refused, last = ratcp_long_run.solve_all(several)
    assert isinstance(first, Solution)
    assert isinstance(second, Solution)
    assert isinstance(last, Solution)
    assert second != first != last
    assert f"more than {most} states" in str(refused)


def test_the_last_chains_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [wanted(parameters) for parameters in ALIKE[:3]]
    first, second, third = explored(several)
    ratcp_long_run._kept.clear()
    monkeypatch.setattr(ratcp_long_run, "_MOST_KEPT", second.chance.size + third.chance.size)
    first, _, third = explored(several)
    assert list(ratcp_long_run._kept) == [(one.path, one.most) for one in several[1:]]
    assert explored(several[2:])[0] is third
    assert explored(several[:1])[0] is not first


def test_large_chains_are_held_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [wanted(parameters) for parameters in [*ALIKE, *UNLIKE, ALIKE[0]]]
    exact = ratcp_long_run.solve_all(several)
    monkeypatch.setattr(ratcp_long_run, "_TOGETHER", 1)
    monkeypatch.setattr(ratcp_long_run, "_MOST_KEPT", 1)
    monkeypatch.setattr(censored, "MOST_STATES", 1)
    ratcp_long_run._kept.clear()
    held: list[weakref.ref[Chain]] = []
    large = ratcp_long_run._large

    def counted(chain: Chain, capacities: list[np.ndarray]) -> object:
        held.append(weakref.ref(chain))
        assert sum(one() is not None for one in held) <= 2, "this one, and the one that was kept"
        return large(chain, capacities)

    monkeypatch.setattr(ratcp_long_run, "_large", counted)
    for found, one in zip(ratcp_long_run.solve_all(several), exact, strict=True):
        assert isinstance(found, Solution)
        assert isinstance(one, Solution)
        assert found.packets_per_slot == pytest.approx(one.packets_per_slot, rel=1e-12)
    assert len(held) == len(several) - 1, "each path once"
