"""Many environments in one call: the simulator steps them on threads, and writes into arrays.

No environment has a Python object of its own.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from varicap.engines.scenarios import AnyScenario
from varicap.gym.places import BEGIN, STEP, Places
from varicap.gym.single import Scenarios, chosen_link
from varicap.gym.tasks import (
    AdviceReward,
    AdviceTask,
    Cost,
    FlowReward,
    FlowTask,
    LinkTask,
    Moves,
    RewardFunction,
    Task,
)

Observations = NDArray[np.float32]
Flags = NDArray[np.bool_]
Infos = dict[str, Any]


class VectorEnv(gym.vector.VectorEnv[Observations, Any, NDArray[Any]]):
    """`num_envs` environments of one task; each behaves as a single one with its seed.

    ``reset(seed=s)`` gives environment i the seed s + i.  ``infos["sample"]`` has what happened in the last interval, a
    row for each environment, in the order of `quantities`.
    """

    def __init__(
        self,
        task: Task,
        scenarios: Scenarios,
        num_envs: int,
        *,
        duration: str | None,
        threads: int,
        autoreset_mode: AutoresetMode | str,
    ) -> None:
        self.places = Places(task, scenarios, duration=duration, count=num_envs, threads=threads)
        if len(self.places.agents) != 1:
            names = ", ".join(self.places.agents)
            raise ValueError(f"{names} would all act: an environment of a vector has one agent")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = (
            self.places.observation_space,
            self.places.action_space,
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.quantities = self.places.quantities
        self._all: Flags = np.ones(num_envs, np.bool_)
        self._ended: Flags | None = None
        """Where an episode begins with the next step."""

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Begin an episode in each environment, or in those of ``options["reset_mask"]``."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        mask = (options or {}).get("reset_mask")
        if mask is not None and (
            not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,)
        ):
            raise ValueError(f"reset_mask: {mask!r}, expected an array of {self.num_envs} truth values")
        self.places.begin(seed, self.np_random, mask)
        self._note_ends()
        return self.places.observations[:, 0], self._infos()

    def step(self, actions: Any) -> tuple[Observations, NDArray[np.float64], Flags, Flags, Infos]:
        """Act in each environment, and wait for the end of the interval."""
        places = self.places
        mode = self.autoreset_mode
        begins = None if self._ended is None else np.where(self._ended, BEGIN, STEP).astype(np.uint8)
        places.step(actions, begins if mode is AutoresetMode.NEXT_STEP else None)
        rewards, terminated, truncated = places.rewards[:, 0], places.terminated, places.truncated
        infos: Infos = {}
        if mode is AutoresetMode.SAME_STEP and places.is_any_over:
            ended = places.over
            infos |= {"final_obs": places.observations[:, 0], "_final_obs": ended}
            infos |= {"final_info": {"sample": places.samples[:, 0], "_sample": ended}, "_final_info": ended}
            places.begin(None, self.np_random, ended)
        self._note_ends()
        return places.observations[:, 0], rewards, terminated, truncated, infos | self._infos()

    def _note_ends(self) -> None:
        self._ended = self.places.over if self.places.is_any_over else None

    def _infos(self) -> Infos:
        return {"sample": self.places.samples[:, 0], "_sample": self._all}

    def close_extras(self, **_kwargs: Any) -> None:
        """End all episodes."""
        self.places.close()


class FlowVectorEnv(VectorEnv):
    """Many of `FlowEnv`."""

    def __init__(
        self,
        scenarios: Scenarios,
        num_envs: int = 1,
        flow: str | None = None,
        *,
        interval: str = "10 ms",
        moves: Moves = "window",
        step: float = 0.25,
        history: int = 1,
        reward: FlowReward | RewardFunction | None = None,
        duration: str | None = None,
        threads: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        chosen = None if flow is None else (flow,)
        task = FlowTask(FlowReward() if reward is None else reward, chosen, interval, moves, step, history)
        super().__init__(task, scenarios, num_envs, duration=duration, threads=threads, autoreset_mode=autoreset_mode)


class AdviceVectorEnv(VectorEnv):
    """Many of `AdviceEnv`."""

    def __init__(
        self,
        scenarios: Scenarios,
        num_envs: int,
        flow: str,
        *,
        interval: str = "100 ms",
        reward: AdviceReward | RewardFunction | None = None,
        duration: str | None = None,
        threads: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        task = AdviceTask(AdviceReward() if reward is None else reward, flow, interval)
        super().__init__(task, scenarios, num_envs, duration=duration, threads=threads, autoreset_mode=autoreset_mode)


class LinkVectorEnv(VectorEnv):
    """Many of `LinkEnv`."""

    def __init__(
        self,
        scenario: AnyScenario,
        num_envs: int,
        link: str | None = None,
        *,
        step_bps: float = 50e3,
        cost: Cost | None = None,
        duration: str | None = None,
        threads: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        task = LinkTask(cost or Cost(), chosen_link(scenario, link), step_bps)
        super().__init__(task, [scenario], num_envs, duration=duration, threads=threads, autoreset_mode=autoreset_mode)
