"""Agents for load-reactive links, and what an agent earns."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from varicap.gym.single import LinkEnv

Observation: TypeAlias = NDArray[np.float32]

DOWN, STAY, UP = 0, 1, 2

Agent: TypeAlias = Callable[[Observation], int]
"""From an observation to an action."""


def hysteresis(low_kb: float = 2.0, high_kb: float = 6.0) -> Agent:
    """The paper's hysteresis as an agent.  Source: [lrl, §3.2]."""

    def act(observation: Observation) -> int:
        return UP if observation[1] > high_kb else DOWN if observation[1] < low_kb else STAY

    return act


def pi(target_kb: float = 4.0, proportional: float = 1.0, integral: float = 1.0, interval_s: float = 0.1) -> Agent:
    """Proportional-integral control as an agent: a step up or down where that comes closest to what it wants."""
    before = wanted = 0.0

    def act(observation: Observation) -> int:
        nonlocal before, wanted
        capacity, waiting = float(observation[0]), float(observation[1])
        change = proportional * (waiting - before) + integral * (waiting - target_kb) * interval_s
        before = waiting
        # What steps could not yet follow is remembered, within a few of them.
        wanted = min(max(wanted + change * 8e-3, -0.2), 0.2)
        if abs(wanted) < 0.025 or (wanted < 0 and capacity <= 0):
            return STAY
        action = UP if wanted > 0 else DOWN
        wanted -= 0.05 * (action - STAY)
        return action

    return act


def play(env: LinkEnv, agent: Agent, *, seed: int) -> float:
    """The reward of one episode."""
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(np.int64(agent(observation)))
        total += reward
        over = terminated or truncated
    return total
