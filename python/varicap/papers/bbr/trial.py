"""A bulk flow of BBRv3 over a path that a test case can change at any instant, as the draft's examples ask.

::

    sender ──► policer? lose? ──► buffer ──► bottleneck ──► delay, hold back? ──► receiver
           ◄───────────────── delay, gather acknowledgements? ◄─────────────────

The two ends are varicap's own TCP, driven packet by packet: a case may slow the path down, lose, hold back, or silence
the application at the very acknowledgement upon which BBR enters a state, which no scenario could know beforehand.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from varicap.tcp import Receiver, Segment, Sender

STATES = ("Startup", "Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT")
STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
MSS = 1448
"""Payload of a segment [B]; a segment is 52 B longer on the wire, whose rate is the path's."""
WIRE = MSS + 52
_SETTINGS: dict[str, Any] = {"congestion": "bbr3", "stack": "linux", "ack": "every", "ecn": "none"}


@dataclass(frozen=True)
class Point:
    """What holds after an acknowledgement."""

    time_s: float
    in_flight: int
    cwnd: int
    shown: dict[str, float]

    @property
    def state(self) -> int:
        """BBR.state, an index into `STATES`."""
        return int(self.shown["bbr_state"])

    def __getitem__(self, name: str) -> float:
        return self.shown[f"bbr_{name}"]


@dataclass
class Trial:
    """A connection and its path; change what it is at any time."""

    seed: int
    rate_bps: float = 10e6
    """Of payload: what BBR.max_bw is to find [b/s]."""
    delay_s: float = 0.04
    """Of a round trip, without transmission and queues [s]."""
    buffer: float = 4.0
    """Bandwidth-delay products of the rate at the beginning."""
    settings: dict[str, Any] = field(default_factory=dict)
    offers_bps: float | None = None
    """Rate of the application [b/s]; none: it always has more to send, and little more than may leave now."""
    lose: Callable[[int], bool] = lambda _number: False
    """Whether the packet of this number is lost before it reaches the buffer."""
    hold_s: Callable[[int], float] = lambda _number: 0.0
    """How much later than others the packet of this number arrives [s]."""
    gather_s: float = 0.0
    """Acknowledgements are delivered at multiples of this [s]."""
    police: tuple[float, float] | None = None
    """Rate [b/s of payload] and depth [B] of a token bucket that drops what does not conform."""
    on_point: Callable[["Trial", Point], None] | None = None

    def __post_init__(self) -> None:
        self.now = 0.0
        self.points: list[Point] = []
        self.sent = self.dropped = 0
        self.silent = False
        self.limit = self.buffer * self.rate_bps / 8 * self.delay_s
        self._free_at = 0.0
        self._tokens, self._tokens_at = (self.police[1] if self.police else 0.0), 0.0
        self.next_write = 0.0
        self._order = 0
        self._flying: list[tuple[float, int, bool, Segment]] = []
        settings = _SETTINGS | self.settings
        self.sender = Sender(seed=self.seed, **settings)
        self.receiver = Receiver(**settings)
        self._written = self._first = 0

    # ---- what happens ----------------------------------------------------------------------------------------------

    def run(self, until_s: float, stop: Callable[[Point], bool] = lambda _point: False) -> "Trial":
        """Go on until this time, or until `stop` says so of a point."""
        while True:
            self.settle()
            times = [at for end in (self.sender, self.receiver) if (at := end.poll_at()) is not None]
            times += [self._flying[0][0]] if self._flying else []
            times += [self.next_write] if self._writes else []
            due = min(times, default=math.inf)
            if due > until_s:
                self.now = until_s
                return self
            self.now = max(self.now, due)
            if self._writes and self.next_write <= self.now:
                self._write(MSS)
                self.next_write = self.now + MSS * 8 / (self.offers_bps or math.inf)
            if self._flying and self._flying[0][0] <= self.now:
                _, _, forward, segment = heapq.heappop(self._flying)
                if forward:
                    self.receiver.push(self.now, segment)
                else:
                    self.sender.push(self.now, segment)
                    if self._note(stop):
                        return self

    def until(self, state: int, limit_s: float = 60.0) -> "Trial":
        """Go on until BBR is in this state."""
        return self.run(self.now + limit_s, lambda point: point.state == state)

    @property
    def _writes(self) -> bool:
        return self.offers_bps is not None and not self.silent

    def _note(self, stop: Callable[[Point], bool]) -> bool:
        point = Point(self.now, self.sender.in_flight, self.sender.cwnd, self.sender.shown)
        self.points.append(point)
        if self.on_point is not None:
            self.on_point(self, point)
        return stop(point)

    def _write(self, size: int) -> None:
        self.sender.write(size)
        self._written += size

    def settle(self) -> None:
        """Send what may leave now."""
        if self.offers_bps is None and not self.silent:
            # Always a few segments more than the window takes: what is offered never limits.
            more = self._first + self.sender.cwnd + 20 * MSS - self._written
            if more > 0:
                self._write(more + 20 * MSS)
        while (segment := self.sender.poll(self.now)) is not None:
            self._pass(segment)
        while (answer := self.receiver.poll(self.now)) is not None:
            at = self.now + self.delay_s / 2
            if self.gather_s:
                at = math.ceil(at / self.gather_s) * self.gather_s
            self._fly(at, False, answer)

    def _pass(self, segment: Segment) -> None:
        number, self.sent = self.sent, self.sent + 1
        self._first = max(self._first, segment.seq + segment.len)
        waits_s = max(self._free_at - self.now, 0.0)
        over = waits_s * self.rate_bps / 8 + segment.len > max(self.limit, MSS)
        if self.lose(number) or over or not self._conforms(segment.len):
            self.dropped += 1
            return
        self._free_at = max(self._free_at, self.now) + segment.len * 8 / self.rate_bps
        self._fly(self._free_at + self.delay_s / 2 + self.hold_s(number), True, segment)

    def _conforms(self, size: int) -> bool:
        if self.police is None:
            return True
        rate_bps, depth = self.police
        self._tokens = min(depth, self._tokens + (self.now - self._tokens_at) * rate_bps / 8)
        self._tokens_at = self.now
        if self._tokens < size:
            return False
        self._tokens -= size
        return True

    def _fly(self, at: float, forward: bool, segment: Segment) -> None:
        self._order += 1
        heapq.heappush(self._flying, (at, self._order, forward, segment))

    def slow_to(self, rate_bps: float) -> None:
        """From now on the bottleneck has this rate; what waits there leaves at it [b/s]."""
        waits_s = max(self._free_at - self.now, 0.0)
        shift_s = waits_s * (self.rate_bps / rate_bps - 1)
        moved = []
        for at, order, forward, segment in self._flying:
            leaves_s = at - self.delay_s / 2 - self.now
            is_waiting = forward and leaves_s > 0
            late_s = leaves_s * (self.rate_bps / rate_bps - 1) if is_waiting else 0.0
            moved.append((at + late_s, order, forward, segment))
        heapq.heapify(moved)
        self._flying, self._free_at, self.rate_bps = moved, self._free_at + shift_s, rate_bps

    def stall(self, span_s: float) -> None:
        """Nothing arrives for so long; then everything does, in order [s]."""
        self._flying = [
            (at + span_s if forward else at, order, forward, segment) for at, order, forward, segment in self._flying
        ]
        heapq.heapify(self._flying)
        self._free_at = max(self._free_at, self.now) + span_s
        self.limit += span_s * self.rate_bps / 8

    # ---- what is read ----------------------------------------------------------------------------------------------

    @property
    def visits(self) -> list[tuple[int, int, int]]:
        """The states in their order: each with its first point, and the one after its last."""
        found: list[tuple[int, int, int]] = []
        for index, point in enumerate(self.points):
            if found and found[-1][0] == point.state:
                found[-1] = (point.state, found[-1][1], index + 1)
            else:
                found.append((point.state, index, index + 1))
        return found

    def follows(self, state: int) -> list[int]:
        """Which states follow this one, each time."""
        visits = self.visits
        return [after[0] for before, after in pairwise(visits) if before[0] == state]
