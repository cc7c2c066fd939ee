"""A load-reactive link as an environment of gymnasium: the agent sets its capacity at every sample.

    pip install varicap[gym]

One environment is one link of a scenario; its other links keep their own controllers.  The agent moves the capacity
down, leaves it or moves it up by a step, within the minimum and the residual, and pays for the capacity allocated, for
the packets that wait and for those that are lost.  The simulation runs in a thread of its own and waits at each sample
for the action, so actions hold from the very instant of the sample, as those of a built-in controller do: a policy
in the environment and the same policy in a scenario give the same run.

>>> env = LinkEnv("examples/lrl.toml", duration="10 s")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(np.int64(UP))
>>> round(float(observation[0]), 3)  # c0 and a step [Mb/s]
0.09
>>> env.close()
"""

import json
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from varicap.engines import sim
from varicap.engines.scenarios import AnyScenario, load, load_reactive_tables
from varicap.parts.reactive import QueueSample

Observation: TypeAlias = NDArray[np.float32]

DOWN, STAY, UP = 0, 1, 2
_CONTROL = "agent"
_HIGHEST = 1e9  # above any observation
_PATIENCE_S = 60.0  # longer than any simulation takes from one sample to the next


@dataclass(frozen=True)
class Cost:
    """What a second costs."""

    per_mbps: float = 1.0
    """For each Mb/s of capacity."""
    per_kb: float = 0.1
    """For each 1000 bytes that wait, in the mean."""
    per_lost: float = 0.1
    """For each packet that is lost, whenever."""

    def of(self, sample: QueueSample) -> float:
        """Of the time since the last sample, in which the capacity was as the sample has it."""
        running = self.per_mbps * sample.capacity_bps / 1e6 + self.per_kb * sample.mean_bytes / 1e3
        return running * sample.span_s + self.per_lost * sample.lost_packets


class _EpisodeOver(Exception):  # noqa: N818 -- it is no error
    """The agent has gone: the rest of the run does not matter."""


@dataclass(frozen=True)
class _End:
    """The simulation is over; what went wrong, if anything did."""

    error: BaseException | None = None


class LinkEnv(gym.Env[Observation, np.int64]):
    """One load-reactive link of a scenario.

    Actions: 0 down, 1 stay, 2 up, by `step_bps`.  Observations: capacity [Mb/s], what waits [kB], its mean since the
    last sample [kB], the rate of arrivals since then [Mb/s], packets lost since then.  The reward is the negative cost
    of the time until the next sample.  An episode ends (is truncated) with the scenario's duration.
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
        loaded = load(scenario, {} if duration is None else {"duration": duration})
        tables = load_reactive_tables(json.loads(loaded.to_json()))
        names = {entry["path"]: entry["name"] for network in json.loads(loaded.facts()) for entry in network["links"]}
        places = {names[table.removesuffix(".capacity.load-reactive")]: table for table in tables}
        if not places:
            raise ValueError(f"`{loaded.name}` has no link with a load-reactive capacity")
        self.link = next(iter(places)) if link is None else link
        if self.link not in places:
            raise ValueError(f"`{self.link}` is not load-reactive; {', '.join(places)} are")
        self._scenario = load(loaded, {f"{places[self.link]}.control": f'{{ custom = "{_CONTROL}" }}'})
        self._step_bps, self._cost = step_bps, cost or Cost()
        self.action_space = gym.spaces.Discrete(3)
        self.observation_space = gym.spaces.Box(0.0, _HIGHEST, (5,), np.float32)
        self._thread: threading.Thread | None = None
        self._samples: queue.SimpleQueue[QueueSample | _End] = queue.SimpleQueue()
        self._actions: queue.SimpleQueue[float | None] = queue.SimpleQueue()
        self._sample: QueueSample | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a run of its own; the same seed gives the same run."""
        super().reset(seed=seed)
        self.close()
        base_seed = int(self.np_random.integers(1, 2**31))
        self._samples, self._actions = queue.SimpleQueue(), queue.SimpleQueue()
        arguments = (base_seed, self._samples, self._actions)
        self._thread = threading.Thread(target=self._simulate, args=arguments, daemon=True)
        self._thread.start()
        sample = self._next()
        if sample is None:
            raise ValueError("the run is over before the first sample")
        self._sample = sample
        return _observe(sample), _info(sample)

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Set the capacity and wait for the next sample."""
        if self._sample is None:
            raise gym.error.ResetNeeded("call reset() before step(), and after the end of an episode")
        before = self._sample
        self._actions.put(before.capacity_bps + (int(action) - STAY) * self._step_bps)
        sample = self._next()
        if sample is None:
            self._sample = None
            return _observe(before), 0.0, False, True, _info(before)
        self._sample = sample
        return _observe(sample), -self._cost.of(sample), False, False, _info(sample)

    def close(self) -> None:
        """End the run."""
        if self._thread is not None:
            self._actions.put(None)
            self._thread.join(_PATIENCE_S)
        self._thread, self._sample = None, None

    def _next(self) -> QueueSample | None:
        """The next sample; none if the run is over."""
        found = self._samples.get(timeout=_PATIENCE_S)
        if not isinstance(found, _End):
            return found
        if found.error is not None:
            raise found.error
        return None

    def _simulate(
        self,
        seed: int,
        samples: "queue.SimpleQueue[QueueSample | _End]",
        actions: "queue.SimpleQueue[float | None]",
    ) -> None:
        """The run, in a thread of its own."""

        def policy(sample: QueueSample) -> float:
            samples.put(sample)
            action = actions.get()
            if action is None:
                raise _EpisodeOver
            return action

        try:
            sim.run(
                self._scenario, seeds=1, seed=seed, controls={_CONTROL: lambda _link: policy}, jobs=1, max_time=None
            )
        except _EpisodeOver:
            return
        except Exception as error:
            samples.put(_End(error))
            return
        samples.put(_End())


def _info(sample: QueueSample) -> dict[str, Any]:
    """What is worth knowing in addition to the observation."""
    return {"at_s": sample.at_s, "residual_bps": sample.residual_bps, "arrived_packets": sample.arrived_packets}


def _observe(sample: QueueSample) -> Observation:
    arrivals = sample.arrived_bytes * 8 / 1e6 / sample.span_s if sample.span_s > 0 else 0.0
    waiting, mean = sample.waiting_bytes / 1e3, sample.mean_bytes / 1e3
    return np.array([sample.capacity_bps / 1e6, waiting, mean, arrivals, sample.lost_packets], dtype=np.float32)


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
