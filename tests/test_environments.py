"""Environments for congestion control, rate advice and load-reactive links: their contracts, and what they equal."""

import json
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from conftest import ROOT
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pettingzoo.test import parallel_api_test

import varicap
from varicap.gym import (
    AdviceEnv,
    AdviceReward,
    AdviceVectorEnv,
    Env,
    FlowEnv,
    FlowReward,
    FlowVectorEnv,
    LinkEnv,
    LinkVectorEnv,
    Samples,
)
from varicap.gym.parallel import FlowsEnv

LRL = ROOT / "examples" / "lrl.toml"
Scenario = dict[str, Any]


def dumbbell(rate: Any = "6 Mbit/s", delay: str = "15 ms", duration: str = "3 s", **flow: Any) -> Scenario:
    forward = {"capacity": rate, "delay": delay, "queue": {"drop-tail": {"limit": "30 packets"}}}
    topology = {"dumbbell": {"forward": forward, "reverse": {"delay": delay}}}
    return {"name": "dumbbell", "duration": duration, "topology": topology, "flows": {"a": flow}}


def advised() -> Scenario:
    markov = {"markov": {"rates": ["2 Mbit/s", "6 Mbit/s"], "mean_holding": ["500 ms", "500 ms"]}}
    return dumbbell(markov, tcp={"congestion": "ratcp"}, feedback={})


def actions(count: int, size: int = 1, seed: int = 5) -> NDArray[np.float32]:
    return np.random.default_rng(seed).uniform(-1, 1, (count, size)).astype(np.float32)


def move(*numbers: float) -> NDArray[np.float32]:
    return np.array(numbers, np.float32)


def episode(env: Env, seed: int | None, moves: NDArray[Any]) -> tuple[list[bytes], list[float], list[Any]]:
    """Observations, rewards and infos of an episode."""
    observation, info = env.reset(seed=seed)
    seen, rewards, infos = [observation.tobytes()], [], [info]
    for action in moves:
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(observation.tobytes())
        rewards.append(reward)
        infos.append(info)
        if terminated or truncated:
            break
    return seen, rewards, infos


@pytest.mark.parametrize(
    "make",
    [
        lambda: FlowEnv(dumbbell()),
        lambda: FlowEnv(dumbbell(), moves="rate", history=3),
        lambda: FlowEnv([dumbbell(), dumbbell("2 Mbit/s", "40 ms")], moves="window-and-rate"),
        lambda: AdviceEnv(advised(), "a"),
        lambda: LinkEnv(LRL, duration="3 s"),
    ],
    ids=["window", "rate", "both", "advice", "link"],
)
def test_gymnasium_finds_nothing_wrong(make: Callable[[], Env]) -> None:
    check_env(make(), skip_render_check=True)


def test_gymnasium_makes_environments_by_name() -> None:
    env = gym.make("varicap/Flow-v0", scenarios=dumbbell())
    observation, _ = env.reset(seed=1)
    assert observation in env.observation_space
    env.close()
    several = gym.make_vec("varicap/Link-v0", num_envs=3, scenario=LRL, duration="3 s")
    assert several.reset(seed=1)[0].shape == (3, 5)
    several.close()


def test_pettingzoo_finds_nothing_wrong() -> None:
    scenario = dumbbell(count=2)
    scenario["flows"]["b"] = {"start": "1 s"}
    scenario["flows"]["c"] = {"tcp": {"congestion": "cubic"}}
    env = FlowsEnv(scenario, ["a", "b"])
    assert env.possible_agents == ["a.0", "a.1", "b"]
    parallel_api_test(env, num_cycles=700)


@pytest.mark.parametrize("moves", ["window", "rate", "window-and-rate"])
def test_a_schedule_of_actions_gives_the_run_that_a_scenario_gives(moves: Any) -> None:
    size = 2 if moves == "window-and-rate" else 1
    scenario = {**dumbbell(), "tcp": {"ecn": True}}
    # Events of its own at the very instants of decisions, and random ones in between.
    scenario["flows"]["b"] = {"datagrams": {"rate": "1 Mbit/s", "size": "1250 B", "spacing": "constant"}}
    scenario["flows"]["c"] = {"datagrams": {"rate": "1 Mbit/s", "size": "1000 B", "spacing": "poisson"}}
    schedule = actions(400, size)
    env = FlowEnv(scenario, "a", moves=moves)
    seen, _, infos = episode(env, 7, schedule)
    heard: list[bytes] = []

    def replay(connection: str) -> Callable[[NDArray[np.float32]], Any]:
        assert connection == "a.0"

        def act(observation: NDArray[np.float32]) -> NDArray[np.float32]:
            heard.append(observation.tobytes())
            decided: NDArray[np.float32] = schedule[len(heard) - 1]
            return decided

        return act

    scenario["flows"]["a"] = {"tcp": {"congestion": {"policy": {"custom": "replay", "moves": moves}}}}
    result = varicap.run(scenario, seeds=1, seed=7, controls={"replay": replay})
    assert len(seen) == 300
    assert heard == seen
    delivered = sum(info["delivered"] for info in infos)
    assert result.flows["sent_packets"][0].as_py() * 1448 >= delivered > 100e3


def test_a_link_of_an_environment_is_a_link_of_a_pool() -> None:
    up_and_down = np.random.default_rng(3).integers(0, 3, 101)
    env = LinkEnv(LRL, duration="10 s")
    _, _, infos = episode(env, 4, up_and_down)
    found: list[tuple[float, float]] = []

    def make(_link: str) -> Callable[[Any], float]:
        def act(sample: Any) -> float:
            found.append((sample.capacity_bps, sample.waiting_bytes))
            return max(0.0, float(sample.capacity_bps + (int(up_and_down[len(found) - 1]) - 1) * 50e3))

        return act

    key = "topology.dumbbell.forward.capacity.load-reactive"
    overrides = {"duration": "10 s", f"{key}.pool": '"one"', f"{key}.control": '{ custom = "agent" }'}
    varicap.run(LRL, seeds=1, seed=4, overrides=overrides, controls={"agent": make})
    assert found == [(info["capacity"], info["waiting"]) for info in infos]


@pytest.mark.parametrize("kind", ["flow", "advice", "link"])
def test_environments_of_a_vector_are_single_ones_byte_for_byte(kind: str) -> None:
    count, steps = 5, 340
    make: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "flow": (
            lambda: FlowEnv([dumbbell(), dumbbell("1 Mbit/s")]),
            lambda: FlowVectorEnv([dumbbell(), dumbbell("1 Mbit/s")], count, threads=2),
        ),
        "advice": (lambda: AdviceEnv(advised(), "a"), lambda: AdviceVectorEnv(advised(), count, "a", threads=2)),
        "link": (lambda: LinkEnv(LRL, duration="3 s"), lambda: LinkVectorEnv(LRL, count, duration="3 s", threads=2)),
    }
    one, many = make[kind][0](), make[kind][1]()
    many.action_space.seed(1)
    many_actions = [many.action_space.sample() for _ in range(steps)]
    observation, _ = many.reset(seed=20)
    rows = [(observation, np.zeros(count), np.zeros(count, bool), np.zeros(count, bool))]
    rows += [many.step(action)[:4] for action in many_actions]
    drawn = set()
    for place in range(count):
        observation, info = one.reset(seed=20 + place)
        drawn.add(info["scenario"])
        reward, over = 0.0, (False, False)
        for number, row in enumerate(rows):
            found = tuple(part[place] for part in row)
            assert found[0].tobytes() == observation.tobytes(), (place, number)
            assert (float(found[1]), *map(bool, found[2:])) == (reward, *over), (place, number)
            if number == steps:
                break
            if any(over):  # the next step begins the next episode, whatever the action
                observation, info = one.reset()
                reward, over = 0.0, (False, False)
            else:
                observation, reward, *ends, _ = one.step(many_actions[number][place])
                over = (ends[0], ends[1])
    assert drawn == ({0, 1} if kind == "flow" else {0})


def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    scenario = dumbbell({"markov": {"rates": ["1 Mbit/s", "9 Mbit/s"], "mean_holding": ["200 ms", "200 ms"]}})
    env, schedule = FlowEnv(scenario), actions(400)
    first = episode(env, 1, schedule)
    following = episode(env, None, schedule)
    assert episode(env, 1, schedule) == first
    assert episode(env, None, schedule) == following, "the second episode of a seed"
    other = episode(FlowEnv(scenario), 2, schedule)
    assert len({tuple(found[0]) for found in (first, following, other)}) == 3
    assert episode(FlowEnv(scenario), 1, schedule) == first
    env.reset(seed=9)
    env.step(schedule[0])
    assert episode(env, 1, schedule) == first, "an episode that was left has no effect"


def test_threads_change_nothing() -> None:
    def trace(threads: int) -> list[bytes]:
        env = FlowVectorEnv(dumbbell(), 7, threads=threads)
        found = [env.reset(seed=3)[0].tobytes()]
        for row in actions(100, 7):
            observation, reward, *_ = env.step(row[:, None])
            found += [observation.tobytes(), reward.tobytes()]
        return found

    assert trace(1) == trace(2) == trace(3)


def test_rewards_are_what_the_formula_says() -> None:
    weights = FlowReward(throughput=2.0, delay=0.3, loss=5.0)
    env = FlowEnv(dumbbell(), reward=weights)
    _, rewards, infos = episode(env, 1, np.ones((300, 1), np.float32))
    rtt = 0.0
    lost_ever = 0.0
    for reward, info in zip([None, *rewards], infos, strict=True):
        rtt = info["rtt"] or rtt
        lost_ever += info["lost"]
        if reward is None:
            continue
        arrived = info["delivered"] + info["lost"]
        expected = (
            2.0 * 8 * info["delivered"] / (6e6 * info["span"])
            - 0.3 * min(max(rtt / 0.03 - 1, 0), 10)
            - 5.0 * (info["lost"] / arrived if arrived else 0.0)
        )
        assert reward == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert lost_ever > 0, "a window that only grows loses packets"


def test_a_reward_may_be_a_function_of_the_samples() -> None:
    def power(samples: Samples) -> NDArray[np.float64]:
        assert set(samples) >= {"delivered", "span", "rtt"}
        return samples["delivered"] / samples["span"]

    env = FlowVectorEnv(dumbbell(), 3, reward=power)
    env.reset(seed=1)
    for _ in range(50):
        _, reward, *_, infos = env.step(np.zeros((3, 1), np.float32))
    column = env.quantities.index("delivered")
    assert reward.tolist() == (infos["sample"][:, column] / 0.01).tolist()
    assert reward.min() > 0


def test_the_reward_of_a_link_that_advises_is_what_the_formula_says() -> None:
    env = AdviceEnv(advised(), "a", reward=AdviceReward(1.0, 0.5, 2.0))
    _, rewards, infos = episode(env, 3, np.ones((29, 1), np.float32))
    for reward, info in zip(rewards, infos[1:], strict=True):
        waiting = min(8 * info["mean_waiting"] / (4e6 * 0.03), 10)
        used = min(8 * info["carried"] / info["offered"], 1) if info["offered"] else 0.0
        lost = min(info["lost_packets"] / info["arrived_packets"], 1) if info["arrived_packets"] else 0.0
        assert reward == pytest.approx(used - 0.5 * waiting - 2.0 * lost, rel=1e-6)
    assert infos[-1]["factor"] == 2.0


def test_advice_reaches_the_senders() -> None:
    def mean_backlog(action: float) -> float:
        env = AdviceEnv(advised(), "a")
        _, _, infos = episode(env, 3, np.full((29, 1), action, np.float32))
        return float(np.mean([info["mean_waiting"] for info in infos[10:]]))

    assert mean_backlog(-1.0) < 0.5 * mean_backlog(0.0)
    assert mean_backlog(1.0) > 2 * mean_backlog(0.0)


def test_an_outage_is_an_ordinary_state() -> None:
    steps = {"steps": {"at": ["0 s", "1 s", "2 s"], "rates": ["6 Mbit/s", "0 bit/s", "6 Mbit/s"]}}
    # Long enough for the third expiry of the timer, after about 2 s of backoff.
    env = FlowEnv(dumbbell(steps, duration="6 s"))
    observation, _ = env.reset(seed=1)
    silence = dict.fromkeys(range(7), 0.0)
    timeouts = delivered = 0.0
    for _ in range(599):
        observation, reward, _, over, info = env.step(move(0.2))
        assert np.isfinite(observation).all()
        assert observation in env.observation_space
        assert np.isfinite(reward)
        second = int(info["at"])
        silence[second] = max(silence[second], float(observation[9]))
        timeouts += info["timeouts"]
        delivered += info["delivered"] if info["at"] > 2.5 else 0.0
    assert over
    assert silence[1] == 10.0, "of the smoothed RTT, and not more"
    assert timeouts > 0
    assert delivered > 0, "the flow goes on after an outage"


def test_a_flow_that_begins_late_decides_when_it_has_begun() -> None:
    env = FlowEnv(dumbbell(start="1 s"))
    _, info = env.reset(seed=1)
    assert info["at"] == pytest.approx(1.01, abs=0.011)


def test_a_transfer_that_is_over_terminates_its_episode() -> None:
    env = FlowEnv(dumbbell(app={"transfer": {"size": "300 kB"}}))
    env.reset(seed=1)
    for _ in range(300):
        _, _, terminated, truncated, _ = env.step(move(0.0))
        if terminated or truncated:
            break
    assert (terminated, truncated) == (True, False)
    with pytest.raises(ResetNeeded):
        env.step(move(0.0))


def test_before_a_reset_after_an_end_and_after_closing_there_is_nothing_to_step() -> None:
    env = FlowEnv(dumbbell(duration="100 ms"))
    with pytest.raises(ResetNeeded):
        env.step(move(0.0))
    episode(env, 1, np.zeros((20, 1), np.float32))
    with pytest.raises(ResetNeeded):
        env.step(move(0.0))
    env.reset()
    env.close()
    with pytest.raises(ResetNeeded):
        env.step(move(0.0))
    env.reset(seed=1)


def test_a_vector_begins_anew_at_once_or_never_as_it_is_told() -> None:
    moves = np.zeros((2, 1), np.float32)
    at_once = FlowVectorEnv(dumbbell(duration="100 ms"), 2, autoreset_mode=AutoresetMode.SAME_STEP)
    at_once.reset(seed=1)
    for _ in range(8):
        at_once.step(moves)
    observation, _, _, truncated, infos = at_once.step(moves)
    assert truncated.all()
    assert infos["_final_obs"].all()
    column = at_once.quantities.index("at")
    assert infos["final_info"]["sample"][:, column].tolist() == [0.1, 0.1]
    assert infos["sample"][:, column].tolist() == [0.01, 0.01]
    assert not np.array_equal(infos["final_obs"], observation)
    never = FlowVectorEnv(dumbbell(duration="100 ms"), 2, autoreset_mode="Disabled")
    never.reset(seed=1)
    for _ in range(9):
        _, _, _, truncated, _ = never.step(moves)
    assert truncated.all()
    with pytest.raises(ResetNeeded):
        never.step(moves)
    _, infos = never.reset(options={"reset_mask": np.array([True, False])})
    assert infos["sample"][:, column].tolist() == [0.01, 0.1]


def test_a_vector_may_be_reset_in_the_middle() -> None:
    env = FlowVectorEnv(dumbbell(), 3)
    first = env.reset(seed=[4, 5, 6])[0].tobytes()
    env.step(np.ones((3, 1), np.float32))
    assert env.reset(seed=[4, 5, 6])[0].tobytes() == first
    assert [env.places.scenario(place) for place in range(3)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: FlowEnv(dumbbell(), "b"), "there is no flow `b`; there are a"),
        (lambda: FlowEnv(dumbbell(count=2)), "a.0, a.1 would all act"),
        (lambda: FlowEnv(dumbbell(), interval="0 s"), "interval.*more than 0 s"),
        (lambda: FlowEnv(dumbbell(), step=0.0), "step.*above 0, and at most 4"),
        (lambda: FlowEnv(dumbbell(), history=0), "history.*at least 1"),
        (lambda: FlowEnv(dumbbell(), moves="sideways"), "sideways"),  # type: ignore[arg-type]
        (lambda: FlowEnv([]), "an environment needs a scenario"),
        (lambda: FlowEnv([dumbbell(), dumbbell(count=2)]), "the scenarios differ"),
        (lambda: FlowEnv(dumbbell("unlimited")), "`a` passes no link with a capacity"),
        (lambda: FlowEnv(dumbbell(datagrams={"rate": "1 Mbit/s"})), "no flow has a policy without a file"),
        (lambda: FlowEnv({**dumbbell(), "isolate": True, "flows": {"a": {}, "b": {}}}), "isolated"),
        (lambda: FlowEnv(dumbbell(start="2 s"), duration="1 s"), "."),
        (lambda: FlowVectorEnv(dumbbell(), 0), "0 environments, expected at least 1"),
        (lambda: AdviceEnv(dumbbell(), "b"), "there is no flow `b`"),
        (lambda: LinkEnv(dumbbell()), "no link with a load-reactive capacity"),
    ],
)
def test_mistakes_are_told(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make().reset(seed=1)


def test_wrong_actions_are_told() -> None:
    env = FlowEnv(dumbbell())
    env.reset(seed=1)
    with pytest.raises(ValueError, match="an action is not a number"):
        env.step(move(np.nan))
    with pytest.raises(ValueError, match="expected 1 × 1 × 1 numbers"):
        env.step(move(0.0, 0.0))
    several = FlowVectorEnv(dumbbell(), 2)
    with pytest.raises(ValueError, match="3 seeds for 2 environments"):
        several.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="reset_mask"):
        several.reset(options={"reset_mask": [True]})
    flows = FlowsEnv(dumbbell(count=2))
    with pytest.raises(ValueError, match="call reset"):
        flows.step({})
    flows.reset(seed=1)
    with pytest.raises(ValueError, match=r"no action for a\.1"):
        flows.step({"a.0": move(0.0)})


def test_a_run_without_anyone_who_decides_is_refused() -> None:
    scenario = dumbbell(tcp={"congestion": "policy"})
    with pytest.raises(varicap.ScenarioError, match="it has no `file`"):
        varicap.run(scenario, seeds=1)
    assert json.loads(varicap.load(scenario).to_json())["flows"]["a"]["tcp"]["congestion"]["policy"]["step"] == 0.25
