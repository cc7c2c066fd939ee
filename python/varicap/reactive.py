"""Load-reactive links whose capacity a policy written in Python sets.

A scenario names the policy: ``load-reactive = { minimum = "20 kbit/s", control = { custom = "mine" } }``.
`varicap.run` is given what makes it, called with the name of each link in each run: a class, or a function that gives
a function.  The policy is called at every sample and answers with a capacity [b/s], which the link keeps between its
minimum and the residual, or with a `Setting`.  What is negative or no number is an error.

>>> import varicap
>>> class Drain:
...     '''As much as drains the queue in 50 ms.'''
...     def __init__(self, link: str) -> None:
...         self.link = link
...     def __call__(self, sample: QueueSample) -> float:
...         return sample.waiting_bytes * 8 / 0.05
>>> control = {"topology.dumbbell.forward.capacity.load-reactive.control": '{ custom = "drain" }'}
>>> result = varicap.run("examples/lrl.toml", seeds=1, overrides=control, controls={"drain": Drain})
>>> bool(result.links["capacity_max_bps"][0].as_py() > 1e6)
True
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from varicap._core import QueueSample

__all__ = ["MakePolicy", "Policy", "QueueSample", "Setting"]


@dataclass(frozen=True)
class Setting:
    """What a link is to be until the next sample."""

    capacity_bps: float
    """The capacity [b/s]; the link keeps it between its minimum and the residual."""
    delay_s: float | None = None
    """The propagation delay, if it is to change [s].  Packets keep their order."""
    limit_packets: float | None = None
    """The limit of the queue in packets, if it is to change.  What waits already stays."""
    limit_bytes: float | None = None
    """The limit of the queue in bytes, if it is to change [B]."""


Policy: TypeAlias = Callable[[QueueSample], float | Setting]
"""From what a link sees at a sample to what it is to offer."""


class MakePolicy(Protocol):
    """Makes the policy of one link in one run, from the link's name: usually a class."""

    def __call__(self, link: str, /) -> Policy:
        """The policy of a link."""
        ...
