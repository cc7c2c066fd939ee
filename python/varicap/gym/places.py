"""Places with episodes, and the arrays into which the simulator writes what comes of them."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from varicap.engines.scenarios import AnyScenario
from varicap.gym.tasks import Samples, Task

STEP, BEGIN, LEAVE = 0, 1, 2
_RUNNING, _TRUNCATED, _TERMINATED = 0, 1, 2
_LARGEST_SEED = 2**63


class Places:
    """`count` places, in each of which one episode follows the other.

    Episode number k of a place with seed s is replication k of seed s: what `varicap.run` gives for the same scenario.
    Each call has new arrays, so that those of earlier calls stay as they were.
    """

    def __init__(
        self,
        task: Task,
        scenarios: AnyScenario | Sequence[AnyScenario],
        *,
        duration: str | None,
        count: int,
        threads: int,
    ) -> None:
        if count < 1:
            raise ValueError(f"{count} environments, expected at least 1")
        self._task, self._count = task, count
        self._core = task.episodes(scenarios, duration, count, threads)
        self.agents: list[str] = self._core.agents
        observed, actions, sampled = self._core.sizes
        self.quantities = tuple(name for name, _, _ in self._core.sampled)
        self.observation_space, self.action_space = task.spaces(observed, actions)
        self._shape = (count, len(self.agents))
        self._sampled, self._observed = (*self._shape, sampled), (*self._shape, observed)
        self.samples: NDArray[np.float64] = np.zeros(self._sampled)
        self.observations: NDArray[np.float32] = np.zeros(self._observed, np.float32)
        self.rewards: NDArray[np.float64] = np.zeros(self._shape)
        self.outcomes: NDArray[np.uint8] = np.full(count, _TRUNCATED, np.uint8)
        self._nothing: NDArray[np.float32] = np.zeros((*self._shape, actions), np.float32)
        self._steps: NDArray[np.uint8] = np.full(count, STEP, np.uint8)
        self._seeded = False
        self._is_over = True

    @property
    def is_any_over(self) -> bool:
        """Whether an episode is over anywhere."""
        return self._is_over

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """Where there is nothing to decide any more."""
        found: NDArray[np.bool_] = self.outcomes == _TERMINATED
        return found

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """Where the run has come to its end."""
        found: NDArray[np.bool_] = self.outcomes == _TRUNCATED
        return found

    @property
    def over(self) -> NDArray[np.bool_]:
        """Where an episode is over, or has not begun."""
        found: NDArray[np.bool_] = self.outcomes != _RUNNING
        return found

    def scenario(self, place: int) -> int:
        """Which of the scenarios the episode of a place is in."""
        return self._core.scenario(place) or 0

    def begin(
        self,
        seed: int | Sequence[int | None] | None,
        random: np.random.Generator,
        mask: NDArray[np.bool_] | None = None,
    ) -> None:
        """Begin episodes in all places, or in those of `mask`; a seed makes it the first of that seed."""
        if seed is None or isinstance(seed, int | np.integer):
            seeds: list[int | None] = [None if seed is None else int(seed) + place for place in range(self._count)]
        else:
            seeds = list(seed)
        if len(seeds) != self._count:
            raise ValueError(f"{len(seeds)} seeds for {self._count} environments")
        if not self._seeded:
            drawn = random.integers(_LARGEST_SEED, size=self._count)
            seeds = [int(other) if one is None else one for one, other in zip(seeds, drawn, strict=True)]
        for place, one in enumerate(seeds):
            if one is not None and (mask is None or mask[place]):
                self._core.seed(place, one)
        self._seeded = True
        commands = np.where(True if mask is None else mask, BEGIN, LEAVE)
        self._go_on(np.broadcast_to(commands, (self._count,)).astype(np.uint8), self._nothing)

    def step(self, actions: Any, commands: NDArray[np.uint8] | None = None) -> None:
        """Let the agents act, or do what `commands` say for each place."""
        numbers = self._task.numbers(actions)
        if numbers.size != self._nothing.size:
            expected = " × ".join(map(str, self._nothing.shape))
            raise ValueError(f"actions of shape {numbers.shape}, expected {expected} numbers")
        commands = self._steps if commands is None else commands
        if self._is_over and ((commands == STEP) & self.over).any():
            raise gym.error.ResetNeeded("call reset() before step(), and after the end of an episode")
        self._go_on(commands, np.ascontiguousarray(numbers.reshape(self._nothing.shape)))
        if callable(self._task.reward):
            worth = np.asarray(self._task.reward(Samples(self.quantities, self.samples)), np.float64)
            self.rewards = np.where((commands == STEP)[:, None], np.broadcast_to(worth, self._shape), 0.0)

    def _go_on(self, commands: NDArray[np.uint8], actions: NDArray[np.float32]) -> None:
        # What is left alone keeps what it reported last.
        left = None if commands is self._steps else commands == LEAVE
        if left is None:
            samples, observations = np.empty(self._sampled), np.empty(self._observed, np.float32)
            rewards = np.empty(self._shape)
        else:
            samples, observations, rewards = self.samples.copy(), self.observations.copy(), self.rewards.copy()
        outcomes = np.empty(self._count, np.uint8)
        self._core.go_on(commands, actions, samples, observations, rewards, outcomes)
        if left is not None:
            outcomes[left] = self.outcomes[left]
        # Not before the call has succeeded: after an error all is as it was.
        self.samples, self.observations, self.rewards, self.outcomes = samples, observations, rewards, outcomes
        self._is_over = bool(outcomes.any())

    def info(self, place: int = 0, agent: int = 0) -> dict[str, Any]:
        """What happened in the last interval, by name."""
        return dict(zip(self.quantities, self.samples[place, agent].tolist(), strict=True))

    def close(self) -> None:
        """End all episodes."""
        self._core.clear()
        self._is_over = True
        self.outcomes = np.full(self._count, _TRUNCATED, np.uint8)
