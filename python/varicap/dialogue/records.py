"""What a connection of the simulated host keeps: what it sent and heard, what the handshake settled, how it stands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from varicap.dialogue import accurate
from varicap.dialogue.commands import Host
from varicap.dialogue.script import Options, Packet, Stamp

_TIMESTAMPS_SIZE = 12
_LEAST_MSS = 88
"""Linux's least for a segment, whatever the peer offers [B]."""
_DEFAULT_MSS = 536
"""If the peer offers none. Source: RFC 9293 §3.7.1."""


@dataclass(frozen=True)
class Sent:
    """A segment that left, and how the sender stood then."""

    at: float
    packet: Packet
    standing: "Standing | None" = None


@dataclass(frozen=True)
class Standing:
    """How a sender stands [segments]."""

    in_flight: float
    cwnd: float
    ssthresh: float | None
    state: str


@dataclass
class Peer:
    """What the handshake has settled."""

    mss: int
    sack: bool = False
    scale: int | None = None
    stamps: bool = False
    ecn: bool = False
    accurate: bool = False
    """ECN is that of RFC 9768, and not of RFC 3168."""

    @classmethod
    def agreed(cls, host: Host, syn: Packet, *, is_active: bool) -> Self:
        """By the SYN of the peer, or its SYN-ACK if `host` is the active side, and what `host` is willing to do."""
        options = syn.options or Options()
        stamps = options.stamp is not None and host.timestamps
        mss = min(host.mss, max(options.mss or _DEFAULT_MSS, _LEAST_MSS))
        mss = max(mss - _TIMESTAMPS_SIZE, 1) if stamps else mss
        scale = options.window_scale if host.window_scaling else None
        ecn, is_accurate = _agreed_ecn(host, accurate.count(syn.flags), is_active=is_active)
        return cls(mss, options.sack_ok and host.sack, scale, stamps, ecn, is_accurate)


def _agreed_ecn(host: Host, ace: int, *, is_active: bool) -> tuple[bool, bool]:
    """Whether there is ECN, and whether it is that of RFC 9768 (Table 2; the reserved combination agrees, §3.1.3)."""
    if is_active:
        is_accurate = host.ecn == 3 and ace not in {0b000, 0b001, 0b111}
        is_classic = (host.ecn == 3 and ace == 0b001) or (host.ecn in {1, 4} and ace & 0b011 == 0b001)
    else:
        is_accurate = host.ecn >= 3 and ace not in {0b000, 0b011}
        is_classic = (host.ecn >= 3 and ace == 0b011) or (host.ecn in {1, 2} and ace & 0b011 == 0b011)
    return is_accurate or is_classic, is_accurate


@dataclass(frozen=True)
class Record:
    """Data that left: its place in the stream, when, and whether it had left before."""

    start: int
    end: int
    at: float
    is_resent: bool


def first_of(records: Sequence[Record], una: int) -> tuple[float, bool] | None:
    """When the segment left last that begins at `una` or covers it, and whether it had left before."""
    covers = (record for record in reversed(records) if record.start <= una < record.end)
    return next(((record.at, record.is_resent) for record in covers), None)


@dataclass
class Counts:
    """What passed through a connection."""

    segments_in: int = 0
    segments_out: int = 0
    data_in: int = 0
    data_out: int = 0
    bytes_out: int = 0
    bytes_resent: int = 0
    last_data_in: float | None = None
    last_data_out: float | None = None
    last_ack_in: float | None = None


@dataclass
class Stream:
    """The end of the data in one direction."""

    fin: int | None = None
    """Place of the FIN in the stream, once there is one."""
    done: bool = False
    """The FIN was received in order, or acknowledged."""


@dataclass
class Stamps:
    """Timestamps (RFC 7323)."""

    ours: dict[int, float] = field(default_factory=dict)
    """When the segments left whose clock values the script names."""
    recent: int = 0
    """TS.Recent: what the peer is shown of its own clock."""
    last_ack: int = 0
    """Last.ACK.sent, as a sequence number."""

    def hear(self, packet: Packet) -> None:
        """RFC 7323 §4.3: the earliest segment that was not acknowledged counts; it is not older than `recent`."""
        if packet.stamp is not None and packet.start <= self.last_ack:
            self.recent = packet.stamp.value

    def echoed(self, stamp: Stamp | None) -> tuple[float, bool] | None:
        """The sending time that the peer echoes, if the script names it; nothing about it is ambiguous."""
        return None if stamp is None or stamp.echo not in self.ours else (self.ours[stamp.echo], False)
