"""Environments to learn in: congestion control, rate advice and load-reactive capacity.

    pip install varicap[gym]

An environment is a scenario in which a program takes the place of a control: a simulation pauses at the end of each
interval, shows what happened in it and waits for an action.  `FlowEnv` is one flow, `FlowsEnv` several (PettingZoo),
`AdviceEnv` a link that advises flows about their rate, `LinkEnv` a link whose capacity follows its load.  Given several
scenarios, each episode draws one.  `FlowVectorEnv`, `AdviceVectorEnv` and `LinkVectorEnv` step many at a time without
the interpreter's lock.  The same seed gives the same episodes, and the same actions give the run that a scenario with
the same policy gives.

>>> env = FlowEnv("examples/fixed.toml", duration="20 s")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(np.float32([1.0]))
>>> observation in env.observation_space
True
>>> env.close()
"""

import gymnasium as gym
import numpy as np  # noqa: F401 -- the example above

from varicap.gym.agents import DOWN, STAY, UP, Agent, Observation, hysteresis, pi, play
from varicap.gym.places import Places
from varicap.gym.single import AdviceEnv, Env, FlowEnv, LinkEnv
from varicap.gym.tasks import AdviceReward, Cost, FlowReward, RewardFunction, Samples
from varicap.gym.vector import AdviceVectorEnv, FlowVectorEnv, LinkVectorEnv, VectorEnv

__all__ = [
    "DOWN",
    "STAY",
    "UP",
    "AdviceEnv",
    "AdviceReward",
    "AdviceVectorEnv",
    "Agent",
    "Cost",
    "Env",
    "FlowEnv",
    "FlowReward",
    "FlowVectorEnv",
    "FlowsEnv",
    "LinkEnv",
    "LinkVectorEnv",
    "Observation",
    "Places",
    "RewardFunction",
    "Samples",
    "VectorEnv",
    "hysteresis",
    "pi",
    "play",
]

for _name in ("Flow", "Advice", "Link"):
    gym.register(
        id=f"varicap/{_name}-v0",
        entry_point=f"varicap.gym:{_name}Env",
        vector_entry_point=f"varicap.gym:{_name}VectorEnv",
    )


def __getattr__(name: str) -> object:
    # PettingZoo is needed by it alone.
    if name == "FlowsEnv":
        from varicap.gym.parallel import FlowsEnv

        return FlowsEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
