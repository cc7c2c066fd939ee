"""What an environment decides about: the flows of a scenario, a link's capacity, or what a link advises.

A task prepares scenarios (an environment acts where the scenario has a control of its own) and says what an interval is
worth.  Rewards are computed beside the simulation; a function of the samples may take their place.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from varicap.engines.scenarios import AnyScenario, load, load_reactive_tables
from varicap.interface import Episodes, Scenario

Observations: TypeAlias = NDArray[np.float32]
Rewards: TypeAlias = NDArray[np.float64]

_BOUND = 10.0
_HIGHEST = 1e9  # above any observation of a link


class Samples(Mapping[str, NDArray[np.float64]]):
    """What happened in an interval, by the names in `quantities`; each an array over environments and agents."""

    def __init__(self, quantities: Sequence[str], values: NDArray[np.float64]) -> None:
        self.values_ = values
        self._places = {name: place for place, name in enumerate(quantities)}

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.values_[..., self._places[name]]
        return found

    def __iter__(self) -> Any:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


RewardFunction: TypeAlias = Callable[[Samples], NDArray[np.float64]]
"""What intervals are worth, an array of the same shape as each of the samples' quantities."""


@dataclass(frozen=True)
class FlowReward:
    """What an interval is worth to a flow.

        throughput * delivered / (capacity * span) - delay * (rtt / base_rtt - 1) - loss * lost / (lost + delivered)

    `capacity` is the mean capacity of the slowest link to the receiver, `base_rtt` the round trip of the empty path,
    and `rtt` the mean of the interval, or the last one that there was; its term counts from 0 to 10 round trips.
    Intervals that are counted in acknowledgements or round trips differ in length, and what they are worth adds up:

        (throughput * delivered - loss * lost) / (capacity * base_rtt) - delay * (rtt / base_rtt - 1) * span / base_rtt
    """

    throughput: float = 1.0
    """Worth of a link that is used fully."""
    delay: float = 0.2
    """Cost of each base round trip for which packets wait in queues."""
    loss: float = 1.0
    """Cost of losing everything."""


@dataclass(frozen=True)
class AdviceReward:
    """What an interval is worth to a link that advises.

        throughput * carried / offered - delay * waiting - loss * lost / arrived

    `waiting` is the mean backlog as what the mean capacity carries in base round trips, at most 10; the first term is 0
    where the capacity offered nothing.
    """

    throughput: float = 1.0
    """Worth of a link that is used fully."""
    delay: float = 0.2
    """Cost of a backlog of what the link carries in a base round trip."""
    loss: float = 1.0
    """Cost of losing everything."""


@dataclass(frozen=True)
class Cost:
    """What a second costs a load-reactive link; the reward of an interval is its cost, negative."""

    per_mbps: float = 1.0
    """For each Mb/s of capacity."""
    per_kb: float = 0.1
    """For each 1000 bytes that wait, in the mean."""
    per_lost: float = 0.1
    """For each packet that is lost, whenever."""


Moves: TypeAlias = Literal["window", "rate", "window-and-rate"]


@dataclass(frozen=True)
class Task:
    """What an environment decides about; all agents of one have the same spaces."""

    kind: ClassVar[str]

    reward: Any

    @property
    def name(self) -> str:
        """Whom or what it is about."""
        return ""

    @property
    def step_bps(self) -> float:
        """By how much an action of 1 moves a capacity [b/s]."""
        return 0.0

    def prepared(self, scenario: Scenario) -> Scenario:
        """The scenario, in which an environment acts."""
        return scenario

    def spaces(self, observed: int, actions: int) -> tuple[gym.spaces.Box, gym.Space[Any]]:
        """The spaces of the observations and the actions of an agent."""
        seen = gym.spaces.Box(-_BOUND, _BOUND, (observed,), np.float32)
        return seen, gym.spaces.Box(-1.0, 1.0, (actions,), np.float32)

    def numbers(self, actions: Any) -> NDArray[np.float32]:
        """Actions as the simulator takes them."""
        return np.asarray(actions, np.float32)

    def episodes(
        self, scenarios: AnyScenario | Sequence[AnyScenario], duration: str | None, count: int, threads: int
    ) -> Episodes:
        """Places for `count` episodes at a time, each in one of `scenarios`, drawn by its seed."""
        several: list[Any] = list(scenarios) if isinstance(scenarios, list | tuple) else [scenarios]
        overrides = {} if duration is None else {"duration": duration}
        loaded = [self.prepared(load(scenario, overrides)) for scenario in several]
        weights = tuple(asdict(self.reward).values()) if not callable(self.reward) else (0.0, 0.0, 0.0)
        return Episodes(
            loaded, self.kind, self.name, weights=weights, step_bps=self.step_bps, count=count, threads=threads
        )


@dataclass(frozen=True)
class FlowTask(Task):
    """Congestion control: each member of the flow groups `flows` (all TCP flows by default) is an agent."""

    kind: ClassVar[str] = "flows"

    reward: FlowReward | RewardFunction = FlowReward()
    flows: tuple[str, ...] | None = None
    interval: str = "10 ms"
    moves: Moves = "window"
    step: float = 0.25
    history: int = 1

    def prepared(self, scenario: Scenario) -> Scenario:
        """The scenario whose flows have a policy without a file."""
        table: dict[str, Any] = json.loads(scenario.to_json())["flows"]
        chosen = self.flows
        if chosen is None:
            chosen = tuple(name for name, flow in table.items() if flow.get("datagrams") is None)
        for name in chosen:
            if name not in table:
                raise ValueError(f"there is no flow `{name}`; there are {', '.join(table)}")
        numbers = (
            f'interval = "{self.interval}", moves = "{self.moves}", step = {self.step!r}, history = {self.history!r}'
        )
        control = f"{{ policy = {{ {numbers} }} }}"
        return load(scenario, {f"flows.{json.dumps(name)}.tcp.congestion": control for name in chosen})


@dataclass(frozen=True)
class AdviceTask(Task):
    """Rate advice: the link that advises flow group `flow` departs from the exact rate by a factor of 1/2 to 2."""

    kind: ClassVar[str] = "advice"

    reward: AdviceReward | RewardFunction = AdviceReward()
    flow: str | None = None
    interval: str = "100 ms"

    @property
    def name(self) -> str:
        """The flow group."""
        return self.flow or ""

    def prepared(self, scenario: Scenario) -> Scenario:
        """The scenario whose feedback has the interval of the environment."""
        table: dict[str, Any] = json.loads(scenario.to_json())["flows"]
        if self.flow not in table:
            raise ValueError(f"there is no flow `{self.flow}`; there are {', '.join(table)}")
        key = f"flows.{json.dumps(self.flow)}.feedback.estimator"
        return load(scenario, {key: f'{{ exact = {{ interval = "{self.interval}" }} }}'})


@dataclass(frozen=True)
class LinkTask(Task):
    """Load-reactive capacity: a link moves its capacity down (0), not at all (1) or up (2) by a step."""

    kind: ClassVar[str] = "link"

    reward: Cost | RewardFunction = Cost()
    link: str = ""
    step: float = 50e3

    @property
    def name(self) -> str:
        """The link."""
        return self.link

    @property
    def step_bps(self) -> float:
        """A step [b/s]."""
        return self.step

    def spaces(self, observed: int, _actions: int) -> tuple[gym.spaces.Box, gym.Space[Any]]:
        """Sizes from 0 on, and three actions."""
        return gym.spaces.Box(0.0, _HIGHEST, (observed,), np.float32), gym.spaces.Discrete(3)

    def numbers(self, actions: Any) -> NDArray[np.float32]:
        """Down is -1, up is 1."""
        return np.asarray(actions, np.float32) - 1.0


def reactive_links(scenario: Scenario) -> list[str]:
    """The names of the load-reactive links of a scenario."""
    tables = load_reactive_tables(json.loads(scenario.to_json()))
    named = {entry["path"]: entry["name"] for network in json.loads(scenario.facts()) for entry in network["links"]}
    return [named[table.removesuffix(".capacity.load-reactive")] for table in tables]
