"""Several flows that act at the same time, as an environment of PettingZoo."""

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from varicap.gym.places import Places
from varicap.gym.single import Scenarios
from varicap.gym.tasks import FlowReward, FlowTask, Moves, RewardFunction

Observations = dict[str, NDArray[np.float32]]
Infos = dict[str, dict[str, Any]]


class FlowsEnv(ParallelEnv):  # type: ignore[misc]  # it carries no types
    """Congestion control of several flows: as `FlowEnv`, with an agent for each member of the flow groups `flows`.

    All TCP flows act if none are named; others keep their own controls.  All episodes end at the same time; a flow that
    has not begun, or whose transfer is over, observes zeros, is rewarded with 0, and its actions do nothing.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "varicap_flows_v0", "render_modes": []}

    def __init__(
        self,
        scenarios: Scenarios,
        flows: Sequence[str] | None = None,
        *,
        interval: str = "10 ms",
        moves: Moves = "window",
        step: float = 0.25,
        history: int = 1,
        reward: FlowReward | RewardFunction | None = None,
        duration: str | None = None,
    ) -> None:
        chosen = None if flows is None else tuple(flows)
        task = FlowTask(FlowReward() if reward is None else reward, chosen, interval, moves, step, history)
        self.places = Places(task, scenarios, duration=duration, count=1, threads=1)
        self.render_mode = None
        self.possible_agents: list[str] = list(self.places.agents)
        self.agents: list[str] = []
        spaces = self.places.observation_space, self.places.action_space
        self.observation_spaces: dict[str, gym.Space[Any]] = dict.fromkeys(self.possible_agents, spaces[0])
        self.action_spaces: dict[str, gym.Space[Any]] = dict.fromkeys(self.possible_agents, spaces[1])
        self._random, _ = seeding.np_random()

    def observation_space(self, agent: str) -> gym.Space[Any]:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gym.Space[Any]:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        """Begin an episode: the first of a seed, or the next one."""
        if seed is not None:
            self._random, _ = seeding.np_random(seed)
        self.places.begin(seed, self._random)
        self.agents = list(self.possible_agents)
        return self._observations(), self._infos()

    def step(
        self, actions: dict[str, NDArray[np.float32]]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Act, and wait for the end of the interval."""
        missing = [agent for agent in self.agents if agent not in actions]
        if missing or not self.agents:
            what = f"no action for {', '.join(missing)}" if missing else "call reset() before step()"
            raise ValueError(what)
        places = self.places
        places.step(np.stack([np.asarray(actions[agent], np.float32) for agent in self.agents]))
        found = self._observations(), dict(zip(self.agents, places.rewards[0].tolist(), strict=True))
        flags = [dict.fromkeys(self.agents, bool(flag[0])) for flag in (places.terminated, places.truncated)]
        infos = self._infos()
        if places.over[0]:
            self.agents = []
        return *found, flags[0], flags[1], infos

    def _observations(self) -> Observations:
        return dict(zip(self.agents, self.places.observations[0], strict=True))

    def _infos(self) -> Infos:
        return {agent: self.places.info(0, number) for number, agent in enumerate(self.agents)}

    def render(self) -> None:
        """There is nothing to see; `varicap.run` draws."""

    def close(self) -> None:
        """End the episode."""
        self.places.close()
