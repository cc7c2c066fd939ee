"""What a connection of the simulated host keeps: what it sent and heard, what the handshake settled, how it stands."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from varicap.parts.dialogue.script import Packet, Stamp


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
        if packet.options is not None and packet.options.stamp is not None and packet.start <= self.last_ack:
            self.recent = packet.options.stamp.value

    def echoed(self, stamp: Stamp | None) -> tuple[float, bool] | None:
        """The sending time that the peer echoes, if the script names it; nothing about it is ambiguous."""
        return None if stamp is None or stamp.echo not in self.ours else (self.ours[stamp.echo], False)
