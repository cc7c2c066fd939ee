"""How many steps of environments a second has, with an agent that keeps the link busy."""

import time
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from varicap.gym.vector import FlowVectorEnv

RATES = ("5 Mbit/s", "10 Mbit/s", "20 Mbit/s", "50 Mbit/s")
"""What a step costs depends on its packets above all."""
INTERVAL = "10 ms"
_WARM_STEPS = 300
_STEPS = 60
_REPEATS = 40
_PACKET_BYTES = 1448
_QUEUEING = 0  # its place in an observation


@dataclass(frozen=True)
class Speed:
    """What a call of `step` for all environments costs."""

    rate: str
    """Capacity of the link of each environment."""
    environments: int
    threads: int
    """0 for one on each core."""
    steps_per_s: float
    """Steps of an environment in a second, as a clock sees them."""
    cpu_ns_per_step: float
    """Processor time of all threads for a step."""
    packets_per_step: float
    """Packets that were acknowledged in a step, in the mean."""

    def to_dict(self) -> dict[str, float | int | str]:
        """For JSON."""
        return asdict(self)


def measure(rate: str, environments: int = 100, threads: int = 0) -> Speed:
    """Steps per second of so many environments with an interval of 10 ms and a round trip of 40 ms.

    The agent opens its window while less than 0.3 round trips of data wait, and closes it otherwise.  The quickest of
    many short repeats counts: what other programs take is not ours.
    """
    link = {"capacity": rate, "delay": "20 ms", "queue": {"drop-tail": {"limit": "1 bdp"}}}
    scenario = {"duration": "1000 s", "topology": {"dumbbell": {"forward": link, "reverse": {"delay": "20 ms"}}}}
    envs = FlowVectorEnv({**scenario, "flows": {"flow": {}}}, environments, interval=INTERVAL, threads=threads)
    observations, _ = envs.reset(seed=1)
    observations, _ = _step(envs, observations, _WARM_STEPS)
    clock_s, cpu_s, delivered = float("inf"), float("inf"), 0.0
    for _ in range(_REPEATS):
        begin = time.perf_counter(), time.process_time()
        observations, more = _step(envs, observations, _STEPS)
        clock_s = min(clock_s, time.perf_counter() - begin[0])
        cpu_s = min(cpu_s, time.process_time() - begin[1])
        delivered += more
    envs.close()
    steps = environments * _STEPS
    packets = delivered / _PACKET_BYTES / (steps * _REPEATS)
    return Speed(rate, environments, threads, steps / clock_s, 1e9 * cpu_s / steps, packets)


def _step(envs: FlowVectorEnv, observations: NDArray[np.float32], count: int) -> tuple[NDArray[np.float32], float]:
    """Act so often; what is observed then, and the bytes that were delivered."""
    place, delivered = envs.quantities.index("delivered"), 0.0
    for _ in range(count):
        actions = np.where(observations[:, _QUEUEING] > 0.3, -0.5, 0.3).astype(np.float32)
        observations, _, _, _, infos = envs.step(actions[:, None])
        delivered += float(infos["sample"][:, place].sum())
    return observations, delivered
