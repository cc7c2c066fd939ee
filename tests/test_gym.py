"""A load-reactive link as an environment of gymnasium."""

import numpy as np
import pytest
from conftest import ROOT
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from lrl_q_learning import compare

import varicap
from varicap.gym import DOWN, STAY, UP, Cost, LinkEnv, hysteresis, pi, play

pytestmark = pytest.mark.slow

LRL = ROOT / "examples" / "lrl.toml"


@pytest.fixture
def env() -> LinkEnv:
    return LinkEnv(LRL, duration="10 s")


def test_gymnasium_finds_nothing_wrong(env: LinkEnv) -> None:
    check_env(env, skip_render_check=True)


def test_actions_move_the_capacity_from_the_sample_on(env: LinkEnv) -> None:
    observation, _ = env.reset(seed=1)
    assert observation[0] == pytest.approx(0.04)
    seen = [float(env.step(np.int64(action))[0][0]) for action in (UP, UP, STAY, DOWN, DOWN, DOWN)]
    assert seen == pytest.approx([0.09, 0.14, 0.14, 0.09, 0.04, 0.04]), "not below the minimum"


def test_an_episode_ends_with_the_scenario(env: LinkEnv) -> None:
    env.reset(seed=1)
    steps, truncated = 0, False
    while not truncated:
        _, reward, terminated, truncated, _ = env.step(np.int64(STAY))
        assert reward <= 0
        assert not terminated
        steps += 1
    assert steps == 100, "samples at 0, 0.1, …, 10 s; an action at the end would move nothing"
    with pytest.raises(ResetNeeded):
        env.step(np.int64(STAY))


def test_the_same_seed_gives_the_same_episode_and_an_early_reset_does_no_harm(env: LinkEnv) -> None:
    first = play(env, hysteresis(), seed=3)
    env.reset(seed=4)
    env.step(np.int64(UP))
    assert play(env, hysteresis(), seed=3) == first


def test_hysteresis_in_the_environment_is_the_built_in_one() -> None:
    env = LinkEnv(LRL, duration="20 s", cost=Cost(per_mbps=1.0, per_kb=0.0, per_lost=0.0))
    mean_mbps = -play(env, hysteresis(), seed=1) / 20
    built_in = varicap.run(LRL, seeds=1, overrides={"duration": "20 s"}).links["capacity_bps"][0].as_py() / 1e6
    # Runs differ in what RED drops only: there is next to nothing.
    assert mean_mbps == pytest.approx(built_in, rel=0.01)


def test_pi_holds_the_queue_near_its_target() -> None:
    agent, env = pi(target_kb=4.0), LinkEnv(LRL, duration="20 s")
    observation, _ = env.reset(seed=1)
    waiting = []
    for _ in range(199):
        observation, *_ = env.step(np.int64(agent(observation)))
        waiting.append(float(observation[1]))
    assert 2.0 < float(np.mean(waiting[100:])) < 7.0


def test_mistakes_are_told() -> None:
    with pytest.raises(ValueError, match="no link with a load-reactive capacity"):
        LinkEnv(ROOT / "examples" / "fixed.toml")
    with pytest.raises(ValueError, match="`sideways` is not load-reactive; forward, reverse are"):
        LinkEnv(LRL, "sideways")


def test_q_learning_beats_hysteresis_on_the_stated_cost() -> None:
    costs = compare(episodes=300, seeds=range(8))
    difference = costs["Q-learning"] - costs["hysteresis, 2 and 6 kB"]
    half = 2.36 * difference.std(ddof=1) / np.sqrt(difference.size)
    assert difference.mean() + half < 0, "on the same load, with a 95 % interval"
