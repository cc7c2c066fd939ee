"""How long the frames of a wireless link should be.

A long frame is more likely to meet a fade and is then sent again whole; many short ones pay a header each.  Each length
is judged by the throughput that TCP gets (`varicap.analyse.models.wireless`) with the same buffer, in TCP packets.  The
paper compares whole packets (System 1) with cells of 48 B and a header of 5 B (System 2).  Source: [wireless, §IV].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from varicap.analyse.models.wireless import SHARE_OF_CAPACITY, estimate_all
from varicap.questions.radio.confirm import Simulated, confirm
from varicap.questions.radio.link import Radio

_SEGMENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""Frames of a packet that are compared by default."""


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
    """What the simulator says of it: of the best length and of the worst."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """The lengths that were compared, the best first."""

    radio: Radio
    buffer_packets: int
    frames: tuple[Frame, ...]

    @property
    def best(self) -> Frame:
        """The length with the largest throughput."""
        return self.frames[0]

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design packet --json`` prints it."""
        return {
            "buffer_packets": self.buffer_packets,
            "best_payload_bytes": self.best.payload_bytes,
            "frames": [
                {
                    "payload_bytes": one.payload_bytes,
                    "header_bytes": one.header_bytes,
                    "frames_per_packet": one.segments,
                    "slot_s": one.slot_s,
                    "received": one.received,
                    "throughput_bps": one.throughput_bps,
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
    """Compare frame lengths: payloads [B], by default a packet cut into 1 to 24 pieces.

    A frame that carries a whole packet needs no header.  The channel's error probability is that of any frame, as in
    the paper, which favours long ones; with ``error_of="packet"`` it is that of a whole packet and a shorter frame has
    fewer errors, in proportion to its bits.  With `simulate`, the best length and the worst are simulated, too
    (`varicap.design.confirm`), on `jobs` cores.

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
    lengths = [ceil(whole / segments) for segments in _SEGMENTS] if payloads is None else payloads
    radios = []
    for payload in sorted(set(lengths)):
        header = 0.0 if payload >= whole else header_bytes
        one = radio.with_payload(payload, header)
        if error_of == "packet":
            one = replace(one, channel=radio.channel.with_error((payload + header) / whole))
        radios.append(one)
    if not radios:
        raise ValueError("at least one length of a frame is needed")
    found = estimate_all([one.parameters(buffer_packets * one.segments) for one in radios])
    frames = [
        Frame(
            payload_bytes=one.payload,
            header_bytes=one.header_bytes,
            segments=one.segments,
            slot_s=one.slot_s,
            received=result.output,
            throughput_bps=one.rate_bps(SHARE_OF_CAPACITY * result.arrivals),
        )
        for one, result in zip(radios, found, strict=True)
    ]
    ranked = sorted(zip(frames, radios, strict=True), key=lambda pair: -pair[0].throughput_bps)
    simulated = {0, len(ranked) - 1} if simulate else set()
    return Design(
        radio=radio,
        buffer_packets=buffer_packets,
        frames=tuple(
            replace(frame, simulated=confirm(one, buffer_packets, jobs=jobs)) if place in simulated else frame
            for place, (frame, one) in enumerate(ranked)
        ),
    )
