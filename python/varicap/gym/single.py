"""Environments with one agent: a flow, a link that advises, or a load-reactive link."""

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from varicap.engines.scenarios import AnyScenario, load
from varicap.gym.places import Places
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
    reactive_links,
)

Scenarios: TypeAlias = AnyScenario | Sequence[AnyScenario]


class Env(gym.Env[NDArray[np.float32], Any]):
    """An agent and its scenario, or one of several, which each episode draws by its seed."""

    def __init__(self, task: Task, scenarios: Scenarios, duration: str | None) -> None:
        self.places = Places(task, scenarios, duration=duration, count=1, threads=1)
        if len(self.places.agents) != 1:
            names = ", ".join(self.places.agents)
            raise ValueError(f"{names} would all act: choose one flow, or take varicap.gym.FlowsEnv for several")
        self.observation_space = cast("gym.Space[NDArray[np.float32]]", self.places.observation_space)
        self.action_space = self.places.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode: the first of a seed, or the next one."""
        super().reset(seed=seed)
        self.places.begin(seed, self.np_random)
        return self.places.observations[0, 0], {**self.places.info(), "scenario": self.places.scenario(0)}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act, and wait for the end of the interval."""
        places = self.places
        places.step(action)
        reward, outcome = float(places.rewards[0, 0]), (bool(places.terminated[0]), bool(places.truncated[0]))
        return places.observations[0, 0], reward, *outcome, places.info()

    def close(self) -> None:
        """End the episode."""
        self.places.close()


class FlowEnv(Env):
    """Congestion control of one flow: at the end of each interval the agent moves the window, or the pacing rate.

    Actions: a number from -1 to 1, which multiplies the window (or what it `moves`) by 2 to the `step` times that; two
    numbers where it moves both.  The `interval` is a time, or what the flow counts: "1 acks" is each acknowledgement,
    "1 rtt" each round trip of data.  Observations: `varicap.policies.OBSERVED`, for the last interval and `history` - 1
    before it.  Rewards: `FlowReward`, or a function of the `Samples`.  An episode is truncated at the end of the
    scenario, and terminated when the flow's transfer is over.
    """

    def __init__(
        self,
        scenarios: Scenarios,
        flow: str | None = None,
        *,
        interval: str = "10 ms",
        moves: Moves = "window",
        step: float = 0.25,
        history: int = 1,
        reward: FlowReward | RewardFunction | None = None,
        duration: str | None = None,
    ) -> None:
        chosen = None if flow is None else (flow,)
        worth = FlowReward() if reward is None else reward
        super().__init__(FlowTask(worth, chosen, interval, moves, step, history), scenarios, duration)


class AdviceEnv(Env):
    """A link that advises flow group `flow` about its rate, every `interval`.

    Actions: a number from -1 to 1; what is advised is the exact rate, a flow's share of the capacity, times 2 to that.
    Rewards: `AdviceReward`, or a function of the `Samples`.
    """

    def __init__(
        self,
        scenarios: Scenarios,
        flow: str,
        *,
        interval: str = "100 ms",
        reward: AdviceReward | RewardFunction | None = None,
        duration: str | None = None,
    ) -> None:
        worth = AdviceReward() if reward is None else reward
        super().__init__(AdviceTask(worth, flow, interval), scenarios, duration)


class LinkEnv(Env):
    """One load-reactive link of a scenario; its other links keep their own controllers.

    Actions: 0 down, 1 stay, 2 up, by `step_bps`, within the minimum and the residual.  Observations: capacity [Mb/s],
    what waits [kB], its mean since the last sample [kB], the rate of arrivals since then [Mb/s], packets lost since
    then.  The reward is the negative `Cost` of the time since the last sample.  Actions hold from the instant of the
    sample on, after what departs at it, as on the links of a pool.
    """

    def __init__(
        self,
        scenario: AnyScenario,
        link: str | None = None,
        *,
        duration: str | None = None,
        step_bps: float = 50e3,
        cost: Cost | None = None,
    ) -> None:
        self.link = chosen_link(scenario, link)
        super().__init__(LinkTask(cost or Cost(), self.link, step_bps), [scenario], duration)


def chosen_link(scenario: AnyScenario, link: str | None) -> str:
    """The load-reactive link of that name, or the first one."""
    loaded = load(scenario)
    links = reactive_links(loaded)
    if not links:
        raise ValueError(f"`{loaded.name}` has no link with a load-reactive capacity")
    if link is not None and link not in links:
        raise ValueError(f"`{link}` is not load-reactive; {', '.join(links)} are")
    return links[0] if link is None else link
