"""Transports written in Python: both ends of a connection, in simulated time.

A scenario names the transport of a flow: ``endpoint = { name = "mine" }``.  `varicap.run` is given what makes it,
called with a `Start` for each side of each connection: usually a class.  Datagrams are what UDP carries; the links add
28 B of IPv4 and UDP.  After each call but `Endpoint.report` an endpoint is polled until it has nothing to send, and
then again at the instant of `Endpoint.poll_at`.  It has no clock and no random numbers but those that it is given, so
that the same run gives the same bytes.

A run ends with an error that names the flow, the endpoint and its side if one raises, sends without end at one instant
or more than fits a packet, asks to be polled in the past, takes back what it delivered, or never answers: for a second
or longer, up to the end of the run, it has had something to answer and has never sent anything.

>>> import varicap
>>> class Window:
...     '''Ten numbered datagrams in flight, each acknowledged; nothing is sent again.'''
...     def __init__(self, start: Start) -> None:
...         self.is_sender = start.side == "sender"
...         self.sent = self.acked = self.received = 0
...         self.answers: list[bytes] = []
...     def write(self, now_s: float, size: int | None) -> None:
...         pass
...     def push(self, now_s: float, data: bytes, ecn: int) -> None:
...         if self.is_sender:
...             self.acked += 1
...         else:
...             self.received += len(data)
...             self.answers.append(b"ok")
...     def poll(self, now_s: float) -> bytes | None:
...         if self.is_sender and self.sent < self.acked + 10:
...             self.sent += 1
...             return bytes(1000)
...         return self.answers.pop() if self.answers else None
...     def poll_at(self) -> float | None:
...         return None
...     def delivered(self) -> int:
...         return self.received
>>> overrides = {"flows": '{ a = { endpoint = { name = "window" } } }', "duration": "20 s"}
>>> result = varicap.run("examples/fixed.toml", seeds=1, overrides=overrides, endpoints={"window": Window})
>>> result.flows["goodput_bps"][0].as_py() > 100_000
True
"""

from typing import Protocol, TypedDict

from varicap._core import Start

__all__ = ["Endpoint", "MakeEndpoint", "Report", "Start"]


class Report(TypedDict, total=False):
    """What an endpoint may say of itself; counts are since its beginning, and what is left out is not known."""

    cwnd: int
    """Congestion window [B]."""
    ssthresh: int
    """Slow start threshold [B]."""
    in_flight: int
    """Data in flight [B]."""
    srtt_s: float
    """Smoothed round-trip time [s]."""
    rto_s: float
    """Retransmission timeout [s]."""
    latest_rtt_s: float
    """The last sample of the round-trip time [s]."""
    rtt_samples: int
    """Samples of it so far."""
    lost_packets: int
    """Packets that it has found to be lost."""
    congestion_events: int
    """Reductions of its window."""
    timeouts: int
    """Collapses of its window, as nothing was acknowledged for long."""
    stage: str
    """``running``, ``over`` (all that was written is acknowledged, the end included) or ``gave-up``."""


class Endpoint(Protocol):
    """One side of a connection.

    Besides these it may have ``withdraw(now_s)``: the application takes back what has not left; ``end(now_s)``: it
    writes nothing more; ``report()``: a `Report`.  Without the latter two, transfers never end.
    """

    def write(self, now_s: float, size: int | None, /) -> None:
        """The application of the sender writes so many bytes; None: without end."""
        ...

    def push(self, now_s: float, data: bytes, ecn: int, /) -> None:
        """A datagram has arrived, with the two bits of its ECN field (0: not-ECT, 1: ECT(1), 2: ECT(0), 3: CE)."""
        ...

    def poll(self, now_s: float, /) -> bytes | tuple[bytes, int] | None:
        """The next datagram to send, alone or with its ECN field; timers that are due have their effect first."""
        ...

    def poll_at(self) -> float | None:
        """The instant at which to poll it next [s], whatever happens; None: nothing is to happen by itself."""
        ...

    def delivered(self) -> int:
        """Data delivered in order to the application of the receiver so far [B]."""
        ...


class MakeEndpoint(Protocol):
    """Makes one side of a connection: a class, or a function."""

    def __call__(self, start: Start, /) -> Endpoint:
        """The side that `start` says."""
        ...
