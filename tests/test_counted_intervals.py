"""Policies and environments that act after acknowledgements or round trips, instead of after a time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray
from test_environments import Scenario, actions, dumbbell, episode, move

import varicap
from varicap.gym import FlowEnv, FlowReward, FlowVectorEnv
from varicap.gym.parallel import FlowsEnv


def column(infos: list[Any], name: str) -> NDArray[np.float64]:
    return np.array([info[name] for info in infos])


@pytest.mark.parametrize("interval", ["1 acks", "4 acks", "1 rtt"])
def test_gymnasium_finds_nothing_wrong(interval: str) -> None:
    check_env(FlowEnv(dumbbell(), interval=interval), skip_render_check=True)
    check_env(
        FlowEnv([dumbbell(), dumbbell("2 Mbit/s", "40 ms")], interval=interval, moves="rate"), skip_render_check=True
    )


def test_an_interval_of_acknowledgements_has_so_many_of_them() -> None:
    for count in (1, 4):
        _, _, infos = episode(FlowEnv(dumbbell(duration="20 s"), interval=f"{count} acks"), 1, actions(300))
        assert set(column(infos, "acks")) == {count}, "each at an instant of its own"
        assert (column(infos, "span") > 0).all()
    _, _, infos = episode(FlowEnv(dumbbell(duration="20 s"), interval="1 acks"), 1, actions(300))
    assert set(column(infos, "delivered")[1:]) <= {0, 1448, 2 * 1448}, "it is the sample of one acknowledgement"


def test_acknowledgements_of_one_instant_belong_to_one_interval(tmp_path: Path) -> None:
    # Four packets leave at once, and their acknowledgements arrive so.
    (tmp_path / "bursts").write_text("\n".join(["5"] * 4 + ["10"]) + "\n")
    opportunities = dumbbell({"opportunities": {"file": str(tmp_path / "bursts")}}, tcp={"ack": "every"})
    _, _, infos = episode(FlowEnv(opportunities, interval="1 acks"), 1, np.zeros((200, 1), np.float32))
    assert (np.diff(column(infos, "at")) > 0).all()
    assert {1, 4} <= set(column(infos, "acks"))


def test_an_interval_of_a_round_trip_lasts_as_long_as_the_path_is() -> None:
    scenario = dumbbell(duration="10 s")
    _, _, infos = episode(FlowEnv(scenario, interval="1 rtt"), 1, np.zeros((200, 1), np.float32))
    # Ten packets of 30 ms, before the pipe of 15 is full: what was sent at the beginning comes back a round trip later.
    assert column(infos, "span")[2:].mean() == pytest.approx(column(infos, "rtt")[2:].mean(), rel=0.1)
    assert column(infos, "acks")[2:].mean() == pytest.approx(10, rel=0.6)


@pytest.mark.parametrize("interval", ["1 acks", "3 acks", "1 rtt"])
@pytest.mark.parametrize("moves", ["window", "window-and-rate"])
def test_a_schedule_of_actions_gives_the_run_that_a_scenario_gives(interval: str, moves: Any) -> None:
    markov = {"markov": {"rates": ["1 Mbit/s", "9 Mbit/s"], "mean_holding": ["200 ms", "200 ms"]}}
    scenario = dumbbell(markov, jitter="1 ms")
    scenario["flows"]["b"] = {"datagrams": {"rate": "1 Mbit/s", "size": "1000 B", "spacing": "poisson"}}
    schedule = actions(4000, 2 if moves == "window-and-rate" else 1)
    seen, _, infos = episode(FlowEnv(scenario, "a", interval=interval, moves=moves), 7, schedule)
    heard: list[bytes] = []

    def replay(_connection: str) -> Callable[[NDArray[np.float32]], Any]:
        def act(observation: NDArray[np.float32]) -> NDArray[np.float32]:
            heard.append(observation.tobytes())
            decided: NDArray[np.float32] = schedule[len(heard) - 1]
            return decided

        return act

    policy = {"custom": "replay", "moves": moves, "interval": interval}
    scenario["flows"]["a"]["tcp"] = {"congestion": {"policy": policy}}
    result = varicap.run(scenario, seeds=1, seed=7, controls={"replay": replay})
    # The last observation of an episode is that of the end of the run, at which no policy is asked.
    assert len(seen) > 50
    assert heard == seen[:-1]
    assert result.flows["sent_packets"][0].as_py() * 1448 >= column(infos, "delivered").sum() > 100e3


def test_environments_of_a_vector_are_single_ones_and_threads_change_nothing() -> None:
    count, steps = 5, 400
    scenarios = [dumbbell(duration="1 s"), dumbbell("1 Mbit/s", duration="1 s")]
    schedule = np.random.default_rng(5).uniform(-1, 1, (steps, count, 1)).astype(np.float32)

    def rows(threads: int) -> list[tuple[bytes, ...]]:
        many = FlowVectorEnv(scenarios, count, interval="2 acks", threads=threads)
        found: list[tuple[bytes, ...]] = [(many.reset(seed=20)[0].tobytes(),)]
        found += [tuple(part.tobytes() for part in many.step(action)[:4]) for action in schedule]
        return found

    assert rows(1) == rows(2)
    many = FlowVectorEnv(scenarios, count, interval="2 acks", threads=2)
    observation, _ = many.reset(seed=20)
    seen = [[one.tobytes()] for one in observation]
    over = np.zeros(count, bool)
    for action in schedule:
        observation, _, terminated, truncated, _ = many.step(action)
        for place in np.flatnonzero(~over).tolist():
            seen[place].append(observation[place].tobytes())
        over |= terminated | truncated
    one = FlowEnv(scenarios, interval="2 acks")
    for place in range(count):
        single, _, _ = episode(one, 20 + place, schedule[:, place])
        assert single == seen[place]


def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    scenario = dumbbell({"markov": {"rates": ["1 Mbit/s", "9 Mbit/s"], "mean_holding": ["200 ms", "200 ms"]}})
    schedule = actions(2000)
    first, again = (episode(FlowEnv(scenario, interval="1 acks"), 1, schedule) for _ in range(2))
    assert first == again
    assert episode(FlowEnv(scenario, interval="1 acks"), 2, schedule)[0] != first[0]


def test_rewards_are_what_the_formula_says_and_add_up_however_intervals_are_cut() -> None:
    weights = FlowReward(throughput=2.0, delay=0.3, loss=5.0)
    sums = []
    for interval in ("1 acks", "8 acks", "1 rtt"):
        # The window of ten packets stays, and loses nothing.
        _, rewards, infos = episode(
            FlowEnv(dumbbell("2 Mbit/s"), interval=interval, reward=weights), 1, np.zeros((5000, 1), np.float32)
        )
        rtt = infos[0]["rtt"]
        for reward, info in zip(rewards, infos[1:], strict=True):
            rtt = info["rtt"] or rtt
            worth = 8 * (2.0 * info["delivered"] - 5.0 * info["lost"]) / (2e6 * 0.03)
            expected = worth - 0.3 * min(max(rtt / 0.03 - 1, 0), 10) * info["span"] / 0.03
            assert reward == pytest.approx(expected, rel=1e-9, abs=1e-9)
        spans = column(infos, "span")[1:].sum()
        sums.append(sum(rewards) / spans)
    assert sums[1] == pytest.approx(sums[0], rel=0.03)
    assert sums[2] == pytest.approx(sums[0], rel=0.03)


def test_an_outage_is_one_long_interval() -> None:
    steps = {"steps": {"at": ["0 s", "1 s", "2 s"], "rates": ["6 Mbit/s", "0 bit/s", "6 Mbit/s"]}}
    _, _, infos = episode(FlowEnv(dumbbell(steps), interval="1 acks"), 1, np.zeros((3000, 1), np.float32))
    longest = infos[int(column(infos, "span").argmax())]
    assert longest["span"] > 1.0
    assert longest["timeouts"] > 0
    assert infos[-1]["at"] == 3.0


def test_a_transfer_that_is_over_terminates_its_episode_at_once() -> None:
    scenario = dumbbell(app={"transfer": {"size": "300 kB"}}, duration="100 s")
    # The last acknowledgement is none of a whole interval.
    for interval in ("1 acks", "7 acks", "1 rtt"):
        env = FlowEnv(scenario, interval=interval)
        env.reset(seed=1)
        terminated = truncated = False
        while not (terminated or truncated):
            _, _, terminated, truncated, info = env.step(move(0.0))
        assert (terminated, truncated) == (True, False)
        assert info["at"] < 5
        with pytest.raises(ResetNeeded):
            env.step(move(0.0))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: FlowEnv(dumbbell(), interval="0 acks"), "interval.*at least one"),
        (lambda: FlowEnv(dumbbell(), interval="1.5 acks"), "whole acknowledgements or round trips"),
        (lambda: FlowEnv(dumbbell(), interval="4 packets"), "whole acknowledgements or round trips"),
        (lambda: FlowsEnv(dumbbell(count=2), interval="4 acks"), "interval of 4 acks is one flow's: a.0, a.1"),
        (lambda: FlowEnv([dumbbell(), dumbbell(delay="0 s")], interval="1 rtt"), "needs a path with a round trip"),
    ],
)
def test_mistakes_are_told(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make().reset(seed=1)


def test_flows_of_a_scenario_count_for_themselves(tmp_path: Path) -> None:
    from varicap.policies import OBSERVED, Layers

    weight = np.zeros((1, len(OBSERVED)))
    weight[0, [name for name, _ in OBSERVED].index("excess")] = -1.0
    Layers((weight,), (np.array([0.3]),)).save(tmp_path / "keeps.npz")
    policy = {"policy": {"file": str(tmp_path / "keeps.npz"), "interval": "1 rtt"}}
    scenario: Scenario = dumbbell(count=2, tcp={"congestion": policy}, jitter="1 ms", duration="10 s")
    scenario["flows"]["b"] = {"tcp": {"congestion": {"policy": {**policy["policy"], "interval": "2 acks"}}}}
    rows = [varicap.run(scenario, seeds=2).flows.to_pylist() for _ in range(2)]
    assert str(rows[0]) == str(rows[1])
    assert min(row["goodput_bps"] for row in rows[0]) > 0.1e6
    assert sum(row["goodput_bps"] for row in rows[0]) > 0.8 * 2 * 5.8e6, "in two runs"
