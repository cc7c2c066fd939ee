"""TCP by hand: the two halves of a connection as values, without a network or a clock.

Push what arrives, poll until there is nothing more, then ask `poll_at` when to poll again.  Polling early is harmless,
polling late is a mistake.  Times are seconds, data are bytes; settings are those of a scenario's ``tcp`` table.

>>> sender = Sender(mss="1000 B", initial_window="2 packets", handshake=False)
>>> receiver = Receiver(mss="1000 B", handshake=False, ack="every")
>>> sender.write(3000)
>>> first, second = sender.poll(0.0), sender.poll(0.0)
>>> second
<segment data 1000..2000>
>>> sender.poll(0.0) is None
True
>>> receiver.push(0.05, second)
0
>>> receiver.poll(0.05)
<segment ack 0, sack 1000..2000>
>>> receiver.push(0.06, first)
2000
>>> answer = receiver.poll(0.06)
>>> answer
<segment ack 2000>
>>> sender.push(0.11, answer)
>>> sender.poll(0.11)
<segment PUSH, data 2000..3000>
>>> sender.cwnd  # Linux counts the segments that were acknowledged, and not the acknowledgements
4000

Whatever is not given is as the `stack` has it, or has its default:

>>> settings(stack="bsd-reno", initial_window="4 packets")["timer"]["ticks"]["tick"]
'500 ms'

A sender with a reservation marks what conforms to it, and may send it by a timer; the keys are those of a flow's
``reservation`` table.

>>> terms = {"rate": "4 Mbit/s", "bucket": "3 kB", "timed": {"interval": "20 ms"}}
>>> packets = {"stack": "rfc", "mss": "1000 B", "header": "0 B", "initial_window": "2 packets"}
>>> sender = Sender(handshake=False, reservation=terms, **packets)
>>> sender.write()
>>> sender.poll(0.0)
<segment RESERVED, data 0..1000>
>>> sender.poll(0.0)
<segment RESERVED, data 1000..2000>
>>> sender.poll(0.0) is None, sender.poll_at()
(True, 0.02)
>>> [sender.poll(0.02).seq for _ in range(3)], sender.poll(0.02)
([2000, 3000, 4000], None)
>>> sender.cwnd, sender.in_flight, sender.lost_tokens(0.02)
(2000, 5000, 8000.0)

A congestion control may be written in Python.  It is called at each acknowledgement, so a run with it is some twenty
times slower than with one that is built in.

>>> class Fixed:
...     def __init__(self, mss: int, initial_window: int) -> None:
...         self.cwnd = 20 * mss
...     def on_ack(self, ack: AckSample) -> None:
...         pass
...     def on_congestion(self, event: CongestionEvent) -> None:
...         pass
>>> Sender(control=Fixed, mss="1000 B").cwnd
20000
"""

import json
from typing import TYPE_CHECKING, Any, Protocol

from varicap._core import AckSample, CongestionEvent, Receiver, Segment, Sender
from varicap._core import stacks as _stacks
from varicap._core import tcp_settings as _settings
from varicap._names import on_first_use

if TYPE_CHECKING:
    from varicap.dialogue import dialogue

__all__ = [
    "AckSample",
    "CongestionControl",
    "CongestionEvent",
    "MakeControl",
    "Receiver",
    "Segment",
    "Sender",
    "dialogue",
    "settings",
    "stacks",
]

if not TYPE_CHECKING:
    # A product over this module, known under its name: nothing here needs it.
    __getattr__ = on_first_use(__name__, {"varicap.dialogue": ["dialogue"]})


def settings(**tcp: Any) -> dict[str, Any]:
    """All settings of a connection of which some are given, as in a scenario's ``tcp`` table.

    What is not given is as the ``stack`` has it, or has its default.

    >>> settings(stack="linux")["timestamps"], settings(stack="linux", timestamps=False)["timestamps"]
    (True, False)

    Raises:
        ScenarioError: a setting is wrong.
    """
    found: dict[str, Any] = json.loads(_settings(**tcp))
    return found


def stacks() -> dict[str, dict[str, Any]]:
    """The habits of each stack, by its name: keys of a scenario's ``tcp`` table.

    Of a choice it may have the parameters of several alternatives, of which the first is the stack's own; no stack
    chooses the congestion control.

    >>> list(stacks())
    ['linux', 'rfc', 'bsd-tahoe', 'bsd-reno', 'ns-1', 'ns-2', 'ns-2.35']
    >>> stacks()["ns-2"]["ack"]
    {'every': {}, 'delayed': {'segments': 2, 'timeout': '100 ms'}}
    """
    found: dict[str, dict[str, Any]] = json.loads(_stacks())
    return found


class CongestionControl(Protocol):
    """How much may be in flight; loss detection, retransmission and the RTO belong to the sender.

    Optional attributes: ``ssthresh`` [B] (None or infinite: there is none yet); ``pacing_rate_bps``, the rate at which
    packets leave, headers included [b/s] (None: as acknowledgements come); ``wants``, names of what the control asks of
    its connection, set once:

    - ``"each-mark"``: every packet is ECN-capable and acknowledged by itself, and ``ack.marked`` is its own mark;
    - ``"rate-samples"``: acknowledgements say at what rate the path delivered (``ack.rate_bps``) and how the flight
      fares (``ack.in_flight_after`` and what follows it);
    - ``"every-ack"``: `on_ack` is called in recovery, too, and for duplicates and ECN echoes;
    - ``"own-recovery"``: in recovery the window is what the control says, and falls in no proportion to what is
      delivered (RFC 9937).

    Optional methods: ``on_recovered(now_s, limit)`` when recovery has ended, where a window above ``limit`` [B]
    (None: no limit) would let out a burst (RFC 6582 §3.2); ``on_undo(now_s)`` when the last reduction by a loss was
    spurious, so that the window and ssthresh should be at least what they were before it (``recovery = "rack"`` with
    ``undo``); ``on_start(now_s, idle_s)`` when data leaves while none is in flight, ``idle_s`` after the last segment
    left; with ``"rate-samples"``, ``on_restart(now_s)`` when it does so after the application had left a gap, and
    ``on_lost(now_s, size, in_flight, lost, app_limited)`` for each segment that is found to be lost, with its data,
    what was in flight when it left, and what has been lost since, itself included [B]; ``on_idle(restart_window)``
    after an idle RTO (RFC 5681 §4.1); ``on_unused(window)`` when the window was not used and is to fall to ``window``
    [B], while ssthresh remembers three quarters of it (``validation = "decay"``, RFC 2861; without this method,
    `on_idle` is called with that window); ``on_rate_feedback(now_s, rate_bps)`` when the network advertises a rate
    (the flow's ``feedback``; None: none is known any more); ``on_reservation(now_s, rate_bps)`` when the flow's
    reservation begins or changes (None: the sender no longer trusts it).
    """

    cwnd: float
    """Congestion window [B]; less than one MSS counts as one MSS."""

    def on_ack(self, ack: AckSample) -> None:
        """New data was acknowledged outside of recovery; with ``"every-ack"``, any acknowledgement arrived."""

    def on_congestion(self, event: CongestionEvent) -> None:
        """A fast retransmit or an ECN echo, once per episode, or an expiry of the retransmission timer."""


class MakeControl(Protocol):
    """Makes the congestion control of one connection, from its MSS and initial window [B]: usually a class."""

    def __call__(self, mss: int, initial_window: int, /) -> CongestionControl:
        """The control of a new connection."""
        ...
