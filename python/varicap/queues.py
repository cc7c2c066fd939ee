"""Queues of links written in Python.

A scenario names the queue: ``queue = { custom = "mine" }``.  `varicap.run` is given what makes it, called with the name
of each link in each run: usually a class.  The link offers it each packet that arrives, and asks it for one whenever it
can send.  What the queue neither drops nor gives is still waiting; a packet that has left or was dropped is gone, and
naming it again ends the run with an error.

>>> import varicap
>>> class Newest:
...     '''Last in, first out.'''
...     def __init__(self, link: str) -> None:
...         self.packets: list[Packet] = []
...     def enqueue(self, now_s: float, packet: Packet) -> None:
...         self.packets.append(packet)
...     def dequeue(self, now_s: float) -> Packet | None:
...         return self.packets.pop() if self.packets else None
>>> overrides = {"topology.dumbbell.forward.queue": '{ custom = "newest" }', "duration": "20 s"}
>>> result = varicap.run("examples/fixed.toml", seeds=1, overrides=overrides, queues={"newest": Newest})
>>> result.links["dropped_packets"][0].as_py()
0
"""

from typing import Protocol

from varicap._core import Packet

__all__ = ["MakeQueue", "Packet", "Queue"]


class Queue(Protocol):
    """A queue of one link in one run."""

    def enqueue(self, now_s: float, packet: Packet, /) -> None:
        """A packet arrives.  It waits from now on, unless `packet.drop()` says otherwise."""
        ...

    def dequeue(self, now_s: float, /) -> Packet | float | None:
        """The packet that goes next.

        None leaves the link idle until something arrives, a time [s] until then at the latest.
        """
        ...


class MakeQueue(Protocol):
    """Makes the queue of one link in one run, from the link's name: usually a class."""

    def __call__(self, link: str, /) -> Queue:
        """The queue of a link."""
        ...
