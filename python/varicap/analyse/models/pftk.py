"""Reno under random loss, with timeouts: the steady state of [pftk].

A packet is lost with probability p, and with it what follows in its round trip.  An acknowledgement answers b packets,
a round trip takes RTT and a first timeout T_0.  The mean window before a loss is

    E W = (2 + b) / 3b + sqrt(8 (1 - p) / 3bp + ((2 + b) / 3b)^2)                                            (eq. 13)

a loss costs a timeout with probability Q(E W) (eq. 24), and the sender sends

    B = ((1 - p) / p + E W + Q / (1 - p)) / (RTT (b/2 E W + 1) + Q T_0 f(p) / (1 - p))                         (eq. 32)

packets per second, f(p) = 1 + p + 2 p^2 + 4 p^3 + 8 p^4 + 16 p^5 + 32 p^6; of a limited window W_max takes the place
of E W where that is larger (eq. 32, too).  Of what is sent 1 - p is delivered.
"""

from dataclasses import dataclass
from math import inf, sqrt


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A flow whose losses are random.  Raises ``ValueError`` for values outside the model."""

    loss: float
    """Probability that a packet is lost, p [1]."""
    round_trip_s: float
    """Round trip, RTT [s]."""
    timeout_s: float
    """First retransmission timeout, T_0 [s]."""
    packets_per_ack: int = 1
    """Data packets per acknowledgement, b."""
    max_window_packets: float = inf
    """Limit of the window, W_max."""
    duplicate_acks: int = 3
    """Duplicate acknowledgements that it takes to avert a timeout.  One is enough with limited transmit (RFC
    3042), where each releases the packet that causes the next; the model's authors had three."""

    def __post_init__(self) -> None:
        if not 0 < self.loss < 1:
            raise ValueError(f"loss is a probability between 0 and 1, not {self.loss!r}")
        for name in ("round_trip_s", "timeout_s", "max_window_packets"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is a positive number, not {getattr(self, name)!r}")
        for name in ("packets_per_ack", "duplicate_acks"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is a whole number, 1 or more, not {getattr(self, name)!r}")


@dataclass(frozen=True, kw_only=True)
class Result:
    """The results of the model in the steady state."""

    send_pps: float
    """Packets sent per second [packets/s]."""
    throughput_pps: float
    """Packets delivered per second [packets/s]."""
    mean_peak_packets: float
    """Mean window at a loss, E W."""
    timeout_share: float
    """Share of the losses that cost a timeout, Q [1]."""
    waiting_share: float
    """Share of the time that is spent in timeouts [1]."""


def throughput(parameters: Parameters) -> Result:
    """The steady state under random loss.

    Assumptions: the link never fills, so the round trip is constant; losses of different round trips are independent,
    and of one round trip all that follows a loss is lost.  Independent losses leave more for NewReno and SACK, which
    then have fewer timeouts: where timeouts dominate (`Result.waiting_share`) they get up to a third more.

    >>> round(throughput(Parameters(loss=0.01, round_trip_s=0.1, timeout_s=0.2)).send_pps * 0.1, 1)
    11.6
    """
    p, b = parameters.loss, parameters.packets_per_ack
    peak = (2 + b) / (3 * b) + sqrt(8 * (1 - p) / (3 * b * p) + ((2 + b) / (3 * b)) ** 2)
    limited = peak >= parameters.max_window_packets
    window = min(peak, parameters.max_window_packets)
    timeouts = _timeout_share(p, window, parameters.duplicate_acks)
    waiting = timeouts * parameters.timeout_s * _backoff(p) / (1 - p)
    sent = (1 - p) / p + window + timeouts / (1 - p)
    rounds = b / 8 * window + (1 - p) / (p * window) + 2 if limited else b / 2 * window + 1
    cycle = parameters.round_trip_s * rounds + waiting
    return Result(
        send_pps=sent / cycle,
        throughput_pps=sent / cycle * (1 - p),
        mean_peak_packets=window,
        timeout_share=timeouts,
        waiting_share=waiting / cycle,
    )


def _timeout_share(p: float, window: float, needed: int) -> float:
    """Q, the probability that fewer than `needed` duplicate ACKs follow a loss.  Source: [pftk, eq. (24)], for 3."""
    kept = 1 - p
    early = kept**needed
    later = 1 - kept ** max(window - needed, 0.0)
    return float(min(1.0, (1 - early) * (1 + early * later) / (1 - kept**window)))


def _backoff(p: float) -> float:
    """f, the mean length of a row of timeouts over the first one's, times 1 - p.  Source: [pftk, eq. (29)]."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
