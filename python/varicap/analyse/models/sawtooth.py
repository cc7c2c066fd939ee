"""Reno alone on a fixed link with a drop-tail buffer: the deterministic sawtooth.

A round trip without queueing takes T_0, in which the link carries W* = C T_0 packets.  The window w grows by one packet
every b round trips, and packets arrive in bursts of b, the last of which finds b - 1 more waiting.  The first packet
that finds no room is lost, at w_peak = floor(W* + B - (b - 1)) + 1; a round trip later the window is halved to w_low =
w_peak / 2, and recovery lasts one more round trip, of a full queue.  While w < W*
the link is idle for W* - w packets of each round trip; else it is busy.  Counted in packets that the link could carry:

    cycle = b sum_{w_low}^{w_peak} max(w, W*) + W* + B
    idle  = b sum_{w_low}^{w_peak} max(0, W* - w) + max(0, W* - w_low)

so the link is used 1 - idle / cycle.  A lost packet leaves a hole that its retransmission fills: what the link carries
is goodput.  If the window's limit lies below w_peak nothing is lost, and the flow gets min(C, w_max / T_0).

Source: the sawtooth of [jacobson88, §3, appendix D]; its counting is ours.
"""

from dataclasses import dataclass
from math import ceil, floor, inf


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A flow alone on a link.  Raises ``ValueError`` for values outside the model."""

    capacity_pps: float
    """Capacity, C [packets/s]."""
    round_trip_s: float
    """Round trip without queueing, the transmission of a packet included, T_0 [s]."""
    waiting_packets: float
    """Packets that may wait behind the one in service, B."""
    packets_per_ack: int = 1
    """Data packets per acknowledgement, b."""
    rounds_per_packet: int | None = None
    """Round trips in which the window grows by a packet: b where acknowledgements are counted (the default), 1 where
    what they cover is."""
    max_window_packets: float = inf
    """Limit of the window."""

    def __post_init__(self) -> None:
        for name in ("capacity_pps", "round_trip_s", "max_window_packets"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is a positive number, not {getattr(self, name)!r}")
        if self.rounds_per_packet is not None and self.rounds_per_packet < 1:
            raise ValueError(f"a window grows in one round trip or more, not in {self.rounds_per_packet}")
        if not self.waiting_packets >= 0 or self.packets_per_ack < 1:
            raise ValueError("a buffer has room for 0 packets or more, and an acknowledgement answers at least one")
        if self.pipe < 2:
            raise ValueError(f"the link carries {self.pipe:.3g} packets in a round trip: too few for a sawtooth")

    @property
    def pipe(self) -> float:
        """The window that just fills the link, W* [packets]."""
        return self.capacity_pps * self.round_trip_s


@dataclass(frozen=True, kw_only=True)
class Result:
    """One cycle of the sawtooth, repeated indefinitely."""

    throughput_pps: float
    """Packets delivered per second [packets/s]."""
    utilisation: float
    """Share of the capacity that is used [1]."""
    low_packets: float
    """Window after a loss."""
    peak_packets: float
    """Window at a loss; the limit of the window if there is none."""
    period_s: float
    """Time from loss to loss [s]; infinite if there is none."""


def throughput(parameters: Parameters) -> Result:
    """The sawtooth in the long run.

    Assumptions: one flow; one loss in each cycle, found by duplicate ACKs; growth of one packet in
    `rounds_per_packet` round trips; acknowledgements are neither lost nor queued.

    >>> fixed = Parameters(capacity_pps=0.8e6 / 8 / 552, round_trip_s=0.1 + 552 * 8 / 0.8e6, waiting_packets=10)
    >>> result = throughput(fixed)
    >>> result.low_packets, result.peak_packets, round(result.utilisation, 3)
    (15.0, 30.0, 0.963)
    """
    pipe, most = parameters.pipe, parameters.max_window_packets
    room = max(0.0, parameters.waiting_packets - (parameters.packets_per_ack - 1))
    peak = floor(pipe + room) + 1.0
    if most < peak:
        rate = min(parameters.capacity_pps, most / parameters.round_trip_s)
        return Result(
            throughput_pps=rate,
            utilisation=rate / parameters.capacity_pps,
            low_packets=most,
            peak_packets=most,
            period_s=inf,
        )
    low = max(2.0, peak / 2)
    windows = ceil(peak - low + 0.5)
    below = min(max(0, ceil(pipe - low)), windows)  # of these the link is idle for a part of the round trip
    packets, packets_below = (count * low + count * (count - 1) / 2 for count in (windows, below))
    rounds = parameters.rounds_per_packet or parameters.packets_per_ack
    cycle = rounds * (below * pipe + packets - packets_below) + pipe + room
    idle = rounds * (below * pipe - packets_below) + max(pipe - low, 0.0)
    used = 1.0 - idle / cycle
    return Result(
        throughput_pps=used * parameters.capacity_pps,
        utilisation=used,
        low_packets=low,
        peak_packets=peak,
        period_s=cycle / parameters.capacity_pps,
    )
