"""Tabular Q-learning sets the capacity of a load-reactive link, beside the paper's hysteresis and PI.

    python examples/lrl_q_learning.py [EPISODES]        needs varicap[gym]

The load responds to no feedback: Poisson datagrams of 0.6 Mb/s, and 0.8 Mb/s more from 7 s to 14 s of a 20 s episode.
Each second costs 1 per Mb/s of capacity and 0.1 per 1000 bytes in the queue, and each lost packet costs 0.1.  The
agent observes the backlog and by how much the capacity exceeds the arrival rate, both in a few classes.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from varicap.gym import Agent, LinkEnv, Observation, hysteresis, pi, play

DATAGRAMS = {"size": "1000 B", "spacing": "poisson"}
SCENARIO = {
    "name": "q-learning",
    "duration": "20 s",
    "topology": {
        "dumbbell": {
            "forward": {
                "capacity": {"load-reactive": {"minimum": "20 kbit/s", "residual": "4 Mbit/s"}},
                "delay": "20 ms",
                "queue": {"drop-tail": {"limit": "50 packets"}},
            }
        }
    },
    "flows": {
        "always": {"datagrams": {"rate": "0.6 Mbit/s", **DATAGRAMS}},
        "at-times": {"datagrams": {"rate": "0.8 Mbit/s", **DATAGRAMS}, "start": "7 s", "stop": "14 s"},
    },
}

WAITING_KB = (1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 25.0)
EXCESS_MBPS = (-0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4)


class Learner:
    """A table of values, a smoothed rate of arrivals, and an epsilon-greedy choice of actions."""

    def __init__(self, seed: int) -> None:
        self.values: NDArray[np.float64] = np.zeros((len(WAITING_KB) + 1, len(EXCESS_MBPS) + 1, 3))
        self.random = np.random.default_rng(seed)
        self.arrivals = 0.0

    def state(self, observation: Observation) -> tuple[int, int]:
        """The classes of an observation; the rate of arrivals is smoothed over a few samples."""
        capacity, waiting, _, arrivals, _ = map(float, observation)
        self.arrivals += 0.2 * (arrivals - self.arrivals)
        return int(np.searchsorted(WAITING_KB, waiting)), int(np.searchsorted(EXCESS_MBPS, capacity - self.arrivals))

    def best(self, observation: Observation) -> int:
        """The action with the highest value."""
        return int(self.values[self.state(observation)].argmax())

    def train(self, env: LinkEnv, episodes: int, discount: float = 0.95) -> None:
        """Q-learning: each value drifts towards the reward plus the discounted best value of the next state."""
        for episode in range(episodes):
            progress = episode / episodes
            rate, exploring = 0.2 * (1 - progress) + 0.01, 0.3 * (1 - progress)
            observation, _ = env.reset(seed=1000 + episode)
            state, over = self.state(observation), False
            while not over:
                explores = self.random.random() < exploring
                action = int(self.random.integers(3)) if explores else int(self.values[state].argmax())
                observation, reward, terminated, over, _ = env.step(np.int64(action))
                over = over or terminated
                following = self.state(observation)
                target = reward + discount * self.values[following].max()
                self.values[(*state, action)] += rate * (target - self.values[(*state, action)])
                state = following


def compare(episodes: int, seeds: range = range(20)) -> dict[str, NDArray[np.float64]]:
    """The cost of an episode for each agent, on the same seeds, none of which was used for training."""
    env = LinkEnv(SCENARIO)
    learner = Learner(seed=1)
    learner.train(env, episodes)
    agents: dict[str, Callable[[], Agent]] = {
        "hysteresis, 2 and 6 kB": hysteresis,
        "hysteresis, 1 and 3 kB": lambda: hysteresis(1.0, 3.0),
        "PI": pi,
        "Q-learning": lambda: learner.best,
    }
    costs = {name: np.array([-play(env, make(), seed=seed) for seed in seeds]) for name, make in agents.items()}
    env.close()
    return costs


def main() -> None:
    """Train, and print what each agent costs."""
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    costs = compare(episodes)
    reference = costs["hysteresis, 2 and 6 kB"]
    print(f"cost of an episode after {episodes} episodes of training, mean of {reference.size} seeds")
    for name, cost in costs.items():
        difference = cost - reference
        half = 2.09 * difference.std(ddof=1) / np.sqrt(difference.size)
        print(f"  {name:24} {cost.mean():7.2f}   {difference.mean():+6.2f} ± {half:.2f} against hysteresis")


if __name__ == "__main__":
    main()
