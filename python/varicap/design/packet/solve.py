"""How long the frames of a wireless link should be.

A long frame is more likely to meet a fade and is then sent again whole; many short ones pay a header each.  Each length
is judged by the throughput that TCP gets (`varicap.analyse.models.wireless`) with the same buffer, in TCP packets.  The
paper compares whole packets (System 1) with cells of 48 B and a header of 5 B (System 2).  Source: [wireless, §IV].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, hypot, nextafter
from typing import Any

from varicap.analyse.models.wireless import SHARE_OF_CAPACITY, estimate_all
from varicap.design.radio.confirm import Simulated, confirm
from varicap.design.radio.link import Radio
from varicap.statistics import Bounds, Interval, Verdict, together

_SEGMENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""Frames of a packet that are compared by default."""
_EXTENSIONS = 4
"""Shorter frames follow so many times while the shortest are best."""
_ALIKE = 0.02
"""The analysis does not tell lengths apart whose throughputs differ by no more than this share."""
_GAINS = Bounds(low=nextafter(0.0, 1.0))


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One length of a frame, and what TCP gets with it."""

    payload_bytes: float
    """Part of a packet that it carries [B]."""
    header_bytes: float
    """What it adds [B]."""
    segments: int
    """Frames of a packet."""
    slot_s: float
    """Its time on the link [s]."""
    received: float
    """Probability that it is received [1]."""
    throughput_bps: float
    """Throughput of TCP [b/s]."""
    simulated: tuple[Simulated, ...] = ()
    """What the simulator says of it: of the worst length, and of the best ones until one beats it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """The lengths that were compared, the best first."""

    radio: Radio
    buffer_packets: int
    frames: tuple[Frame, ...]

    at_edge: bool = False
    """Whether shorter frames than all that were compared may be better still."""

    @property
    def best(self) -> Frame:
        """Of the lengths that beat the last in simulations the first; if there are none, the best by the analysis."""
        return next((one for one in self.frames if self.verdict(one) == "meets"), self.frames[0])

    @property
    def alike(self) -> tuple[Frame, ...]:
        """Other lengths that the analysis does not tell apart from the best."""
        least = (1 - _ALIKE) * self.best.throughput_bps
        return tuple(one for one in self.frames if one is not self.best and one.throughput_bps >= least)

    def gains(self, frame: Frame) -> tuple[Interval, ...]:
        """What a length gains over the last in simulations, by channel and flow [%]; empty if it was not simulated."""
        if frame is self.frames[-1]:
            return ()
        pairs = zip(frame.simulated, self.frames[-1].simulated, strict=False)
        return tuple(_gain(one.throughput_bps, other.throughput_bps) for one, other in pairs)

    def verdict(self, frame: Frame) -> Verdict | None:
        """Whether a length beats the last in all simulations; unknown if there is none."""
        gains = self.gains(frame)
        return together(_GAINS.verdict(gain) for gain in gains) if gains else None

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design packet --json`` prints it."""
        return {
            "buffer_packets": self.buffer_packets,
            "best_payload_bytes": self.best.payload_bytes,
            "verdict": self.verdict(self.best),
            "alike_payload_bytes": [one.payload_bytes for one in self.alike],
            "at_edge": self.at_edge,
            "frames": [
                {
                    "payload_bytes": one.payload_bytes,
                    "header_bytes": one.header_bytes,
                    "frames_per_packet": one.segments,
                    "slot_s": one.slot_s,
                    "received": one.received,
                    "throughput_bps": one.throughput_bps,
                    "verdict": self.verdict(one),
                    "gains_percent": [gain.to_dict() for gain in self.gains(one)],
                }
                for one in self.frames
            ],
            "evidence": {
                "model": "wireless",
                "sim": [
                    {"payload_bytes": frame.payload_bytes} | one.to_dict()
                    for frame in self.frames
                    for one in frame.simulated
                ],
            },
        }


def packet(
    radio: Radio,
    *,
    payloads: Sequence[float] | None = None,
    header_bytes: float = 5.0,
    buffer_packets: int = 8,
    error_of: str = "frame",
    simulate: bool = False,
    jobs: int | None = None,
) -> Design:
    """Compare frame lengths: payloads [B], by default a packet cut into 1 to 24 pieces, or more if the shortest wins.

    A frame that carries a whole packet needs no header.  The channel's error probability is that of any frame, as in
    the paper, which favours long ones; with ``error_of="packet"`` it is that of a whole packet and a shorter frame has
    fewer errors, in proportion to its bits.  With `simulate`, the worst length is simulated, too, and the best, on
    `jobs` cores; where that does not gain over the worst, the next best ones until one does.

    >>> from varicap.analyse.fading import Rayleigh
    >>> from varicap.analyse.models.wireless_channel import Channel
    >>> fast = Radio(channel=Channel.rayleigh(Rayleigh(doppler_hz=100.0)))
    >>> [frame.segments for frame in packet(fast, payloads=[576.0, 48.0]).frames]
    [12, 1]
    """
    if error_of not in ("frame", "packet"):
        raise ValueError(f"the error probability is that of a frame or of a packet, not of {error_of!r}")
    if isinstance(buffer_packets, bool) or buffer_packets < 1:
        raise ValueError(f"a buffer holds 1 packet or more, not {buffer_packets!r}")
    whole = radio.packet_bytes
    lengths = {float(one) for one in ([ceil(whole / pieces) for pieces in _SEGMENTS] if payloads is None else payloads)}
    if not lengths:
        raise ValueError("at least one length of a frame is needed")

    def ranked() -> list[tuple[Frame, Radio]]:
        found = _compare(radio, sorted(lengths), header_bytes, buffer_packets, error_of)
        return sorted(found, key=lambda pair: -pair[0].throughput_bps)

    order = ranked()
    for _ in range(_EXTENSIONS if payloads is None else 0):
        if (shorter := _shorter(lengths, order[0][0].payload_bytes)) is None:
            break
        lengths.add(shorter)
        order = ranked()
    frames = [frame for frame, _ in order]
    at_edge = _shorter(lengths, frames[0].payload_bytes) is not None
    found = Design(radio=radio, buffer_packets=buffer_packets, frames=tuple(frames), at_edge=at_edge)
    if not simulate:
        return found
    last = len(order) - 1
    for place in [last, *range(last)]:
        frame, link = order[place]
        frames[place] = replace(frame, simulated=confirm(link, buffer_packets, jobs=jobs))
        found = replace(found, frames=tuple(frames))
        if found.verdict(frames[place]) == "meets":
            break
    return found


def _compare(
    radio: Radio, lengths: Sequence[float], header_bytes: float, buffer_packets: int, error_of: str
) -> list[tuple[Frame, Radio]]:
    """Each length by the analysis, with its link."""
    radios = []
    for payload in lengths:
        header = 0.0 if payload >= radio.packet_bytes else header_bytes
        one = radio.with_payload(payload, header)
        if error_of == "packet":
            one = replace(one, channel=radio.channel.with_error((payload + header) / radio.packet_bytes))
        radios.append(one)
    found = estimate_all([one.parameters(buffer_packets * one.segments) for one in radios])
    return [
        (
            Frame(
                payload_bytes=one.payload,
                header_bytes=one.header_bytes,
                segments=one.segments,
                slot_s=one.slot_s,
                received=result.output,
                throughput_bps=one.rate_bps(SHARE_OF_CAPACITY * result.arrivals),
            ),
            one,
        )
        for one, result in zip(radios, found, strict=True)
    ]


def _shorter(lengths: set[float], best: float) -> float | None:
    """A length below the shortest, by the ratio of the last two, if that is the best of several."""
    if len(lengths) < 2 or best > min(lengths):
        return None
    first, second = sorted(lengths)[:2]
    shorter = float(max(1, round(first * first / second)))
    return shorter if shorter < first else None


def _gain(ours: Interval, other: Interval) -> Interval:
    """How much more it is [%], of two independent means."""
    if not other.mean > 0 or ours.lo is None or other.lo is None:
        return Interval(100 * (ours.mean / other.mean - 1) if other.mean > 0 else float("inf"))
    ratio = ours.mean / other.mean
    shares = [(one.mean - one.lo) / one.mean for one in (ours, other) if one.lo is not None and one.mean > 0]
    half = ratio * hypot(*shares)
    return Interval(100 * (ratio - 1), 100 * (ratio - half - 1), 100 * (ratio + half - 1))
