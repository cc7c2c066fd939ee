r"""The formulas of [minrate], and the share of the excess capacity that a reserved flow can expect.

***Token buckets.** A bucket of depth b [B] is inspected every tau seconds by a timer that takes out whole packets of m
bytes. Up to m - 1 tokens may stay in it, so that none is lost if b >= r tau + m - 1 [minrate, §IV-A, §V-B].  Each
router must have room for the buckets of all connections.

**ERED.** At most max_th of a queue are unmarked packets.  They are gone after max_th / L; meanwhile marked packets
that arrive at the peak rates accumulate at (sum r_p - L).  None is lost if that fits into the rest of the buffer B
[minrate, §II-B]:

    (sum r_p - L) max_th / L < B - max_th,    that is    sum r_p < L B / max_th.

**Excess shares** (an analysis of ours; the paper only simulates).  A reserved flow with timed transmissions sends r
in any case.  Of a window C the reservation fills M = r T, T being the round trip with its queueing; C - M packets per
round trip are unmarked, if C > M.  Each unmarked packet is lost with probability p, a marked one never.  The window
is C = R + V, of which a loss halves V: R = 0 is TCP's own window (Fig. 6), R = r T_0 the rate adaptive window with
the best round trip (Fig. 7), R = r T with the average.  V grows by a packet per round trip, faster while C < M, since
acknowledgements come at the rate max(C / T, r) and each adds 1 / C.  With d = M - R, losses 1/p unmarked packets
apart, and V_1 at a loss,

    [(V_1 - d)^2 - max(V_1 / 2 - d, 0)^2] / 2 = 1 / p

packets of excess are sent in a cycle that lasts T (V_1 - max(V_1 / 2, d)) and, if V_1 / 2 < d, further T [M^2 - (V_1
/ 2 + R)^2] / (2 M) below the reservation, without any excess.  d = 0 gives the law of best effort, sqrt(3 / (2 p)) /
T: that flow shares fairly.  All flows of a link see the same p and T, which follow from the capacity that the
reservations leave and from RED's law of p against its queue.  Timeouts are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias

Window: TypeAlias = Literal["whole", "best-rtt", "average-rtt"]
"""What a loss halves: all of cwnd, or the part above the reserved rate times the best or the average round trip."""

_LEAST_LOSS, _MOST_LOSS = 1e-9, 1.0


def lossless_interval_s(depth_bytes: float, rate_bps: float, packet_bytes: float) -> float:
    """The longest timer interval in which a bucket loses no token [s].  Source: [minrate, §IV-A].

    >>> round(1e3 * lossless_interval_s(25_000, 4e6, 1000), 3)
    48.002
    """
    if depth_bytes < packet_bytes:
        raise ValueError(
            f"a bucket of {depth_bytes:g} B never holds the tokens of a packet of {packet_bytes:g} B: nothing conforms"
        )
    return 8 * (depth_bytes - (packet_bytes - 1)) / _positive("a reserved rate", rate_bps)


def least_depth_bytes(interval_s: float, rate_bps: float, packet_bytes: float) -> float:
    """The least depth of a bucket that loses no token between expiries of a timer [B].  Source: [minrate, §V-B].

    >>> round(least_depth_bytes(0.020, 4e6, 1000))
    10999
    """
    _positive("a timer interval", interval_s)
    return _positive("a reserved rate", rate_bps) * interval_s / 8 + packet_bytes - 1


def admissible_peak_bps(rate_bps: float, buffer_bytes: float, max_threshold_bytes: float) -> float:
    """The bound below which the sum of all peak rates must stay, so that ERED loses no marked packet [b/s].

    Source: [minrate, §II-B].

    >>> admissible_peak_bps(10e6, 100e3, 80e3) / 1e6
    12.5
    """
    if not 0 < max_threshold_bytes < buffer_bytes:
        raise ValueError(
            f"the maximum threshold lies between nothing and the buffer of {buffer_bytes:g} B, "
            f"not at {max_threshold_bytes:g} B"
        )
    return _positive("a capacity", rate_bps) * buffer_bytes / max_threshold_bytes


def is_admissible(peaks_bps: Sequence[float], rate_bps: float, buffer_bytes: float, max_threshold_bytes: float) -> bool:
    """Whether reservations with these peak rates lose no marked packet, even if all burst at once.

    Source: [minrate, §II-B].

    >>> is_admissible([6e6, 6e6], 10e6, 100e3, 80e3), is_admissible([6e6, 6.5e6], 10e6, 100e3, 80e3)
    (True, False)
    """
    return sum(peaks_bps) < admissible_peak_bps(rate_bps, buffer_bytes, max_threshold_bytes)


def highest_threshold_bytes(peaks_bps: Sequence[float], rate_bps: float, buffer_bytes: float) -> float:
    """The bound on the maximum threshold for these peak rates [B]; the buffer, if they fit the capacity.

    >>> highest_threshold_bytes([10e6, 6e6], 10e6, 100e3)
    62500.0
    """
    return buffer_bytes * min(1.0, _positive("a capacity", rate_bps) / sum(peaks_bps))


def excess_window(loss: float, marked: float, reserved: float) -> float:
    """Mean number of unmarked packets that a flow sends per round trip [packets].

    `loss` is the probability p that one is lost, `marked` the part of a window that the reservation fills, M, and
    `reserved` the part of cwnd that a loss leaves unchanged, R <= M, both in packets.

    >>> round(excess_window(0.01, 0, 0), 3)  # best effort: sqrt(3 / (2 p))
    12.247
    >>> round(excess_window(0.01, 40, 40), 3)  # the same
    12.247
    >>> round(excess_window(0.01, 40, 0), 3)
    4.003
    """
    if not 0 < loss <= 1:
        raise ValueError(f"a loss probability lies between 0 and 1, not at {loss!r}")
    if not 0 <= reserved <= marked:
        raise ValueError(f"of a window's {marked:g} marked packets {reserved:g} cannot be left alone")
    offset = marked - reserved
    # With V_1 >= 2 d the cycle never falls below the reservation: 3/8 V^2 - d V / 2 = 1/p.
    top = (offset / 2 + sqrt(offset**2 / 4 + 1.5 / loss)) / 0.75
    if top >= 2 * offset:
        return 1 / loss / (top / 2)
    top = offset + sqrt(2 / loss)
    below = (marked**2 - (top / 2 + reserved) ** 2) / (2 * marked)
    return 1 / loss / (top - offset + below)


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """An ERED queue that all flows share, and the round trip without it.  Defaults: [minrate, §III-A]."""

    rate_bps: float = 10e6
    """Capacity [b/s]."""
    base_rtt_s: float = 0.1
    """Round trip without queueing [s]."""
    packet_bytes: float = 1000.0
    min_threshold: float = 20.0
    """[packets]"""
    max_threshold: float = 80.0
    """[packets]"""
    max_probability: float = 0.02
    spacing: float = 1.5
    """Unmarked packets between drops, as a multiple of 1/p: 1.5 where drops wait (ns-2), 0.5 uniform, 1 geometric."""

    def rtt_s(self, queue: float) -> float:
        """The round trip while this many packets wait [s]."""
        return self.base_rtt_s + queue / self.packet_rate

    @property
    def packet_rate(self) -> float:
        """Capacity [packets/s]."""
        return self.rate_bps / (8 * self.packet_bytes)

    def loss(self, queue: float) -> float:
        """Probability that an unmarked packet is lost at this average queue, up to the maximum threshold [1]."""
        share = (queue - self.min_threshold) / (self.max_threshold - self.min_threshold)
        return min(1.0, max(_LEAST_LOSS, share * self.max_probability / self.spacing))


@dataclass(frozen=True, kw_only=True)
class Shares:
    """What each flow can expect in the long run."""

    excess_bps: tuple[float, ...]
    """Rate of unmarked packets of each flow [b/s]."""
    loss: float
    """Loss probability of an unmarked packet [1]."""
    queue: float
    """Average queue [packets]."""
    rtt_s: float
    """Round trip with that average queue [s]."""


def shares(reservations_bps: Sequence[float], window: Window, at: Bottleneck | None = None) -> Shares:
    """How flows with these reservations (0: best effort) share the capacity that the reservations leave.

    `window` says what a loss halves.  Where RED's law is too weak, the queue stays at its maximum threshold, and p is
    as large as the capacity requires.

    >>> found = shares([4e6, 2e6, 1e6, 0, 0, 0], "average-rtt")
    >>> len({round(one) for one in found.excess_bps})
    1
    """
    at = at or Bottleneck()
    free = at.rate_bps - sum(reservations_bps)
    if min(reservations_bps) < 0 or not free > 0:
        total, capacity = sum(reservations_bps) / 1e6, at.rate_bps / 1e6
        raise ValueError(f"reservations of {total:g} Mb/s leave nothing of a capacity of {capacity:g} Mb/s")

    def windows(loss: float, queue: float) -> list[float]:
        rtt = at.rtt_s(queue)
        base = {"whole": 0.0, "best-rtt": at.rtt_s(0.0), "average-rtt": rtt}[window]
        unit = 8 * at.packet_bytes
        return [excess_window(loss, rate * rtt / unit, rate * base / unit) for rate in reservations_bps]

    def too_much(loss: float, queue: float) -> float:
        """By how much the flows exceed the capacity [packets per round trip]."""
        return sum(windows(loss, queue)) - free / (8 * at.packet_bytes) * at.rtt_s(queue)

    from scipy.optimize import brentq  # slow to import

    queue = at.max_threshold
    if too_much(at.loss(queue), queue) <= 0:
        queue = brentq(lambda one: too_much(at.loss(one), one), at.min_threshold, at.max_threshold)
        loss = at.loss(queue)
    elif too_much(_MOST_LOSS, queue) >= 0:
        raise ValueError("so many flows do not fit: each has a packet in flight at least")
    else:
        loss = brentq(lambda one: too_much(one, queue), at.loss(queue), _MOST_LOSS)
    rtt = at.rtt_s(queue)
    excess = tuple(8 * at.packet_bytes * one / rtt for one in windows(loss, queue))
    return Shares(excess_bps=excess, loss=loss, queue=queue, rtt_s=rtt)


def _positive(what: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{what} is more than nothing, not {value:g}")
    return value
