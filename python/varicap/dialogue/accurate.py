"""AccECN on the wire, as Linux 7.0 has it: what a handshake says and settles, and the option beside SACK blocks.

The counts themselves, and what follows from them, are those of the simulated halves. Source: RFC 9768.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from varicap.dialogue.script import Packet
from varicap.tcp import Segment

FIRST_CE_COUNT = 5
"""Packets that are counted as marked before any has come (§3.2.1)."""
BYTES = ("e0b", "ceb", "e1b")
"""The counters of payload, as the simulated receiver has them."""

_BITS = (("A", 4), ("W", 2), ("E", 1))
_NAMES = {"E": "ECE", "W": "CWR", "A": "AE"}
"""The flags of a count, as scripts and the simulated halves name them."""
_MIRRORS = {"ect1": "EW", "ect0": "A", "ce": "WA"}
"""What a segment of the handshake says of how the one before it arrived; else CWR alone (Tables 2 and 3)."""
_FIRST = {"e0b": 1, "ceb": 0, "e1b": 1}
_FIELDS = ("e1b", "ceb", "e0b")
"""The fields of the option in the order that Linux writes them, which ends where there is no more room."""
_NEEDED = {"ect1": 1, "ce": 2, "ect0": 3}
"""How many of them a packet with this codepoint needs."""
_SPACE, _KIND, _FIELD, _BLOCK, _WORD = 40, 2, 3, 8, 4
"""Bytes: of all options, of an option's head, of a field, of a SACK block and of the words that options fill."""
OPTION_SIZE = 12
"""An option with all fields, padded [B]."""

Blocks = tuple[tuple[int, int], ...]


def count(flags: str) -> int:
    """The ACE field of a segment's flags, 0 to 7 (§3.2.2)."""
    return sum(bit for flag, bit in _BITS if flag in flags)


def flags(ace: int) -> str:
    """The flags that hold an ACE field, as scripts name them."""
    return "".join(flag for flag, bit in reversed(_BITS) if ace & bit)


def names(flags: str) -> list[str]:
    """The names that the simulated halves have for flags of a count."""
    return [_NAMES[flag] for flag in flags]


def flags_of(segment: Segment) -> str:
    """The flags by which a receiver counts, as scripts name them."""
    return "".join(flag for flag, name in _NAMES.items() if name in segment.flags)


def mirror(codepoint: str | None) -> str:
    """The flags that say how a segment of the handshake arrived."""
    return _MIRRORS.get(codepoint or "", "W")


@dataclass
class Accurate:
    """One end of a connection in AccECN mode."""

    option: int
    """As ``tcp_ecn_option``: 0 never, 2 with each segment, 3 also if acknowledgements with it seem to be lost."""
    checks: bool
    """As ``tcp_ecn_fallback``: whether a field that changed on the way makes data not ECN-capable."""
    is_capable: bool = True
    """Whether what it sends may be ECN-capable."""
    syn: str | None = None
    """How the last segment of the peer's handshake was marked."""
    marks: int = 0
    """Marks that the handshake reported; the simulated sender does not know them."""
    has_heard: bool = False
    """Whether the peer has sent the option."""
    is_lost: bool = False
    """Whether acknowledgements with the option seem to be dropped."""
    was_sent: bool = False
    needed: int = 0
    """Fields that have changed since they were sent."""
    repeated: int | None = None
    """Where the latest data begins that arrived again."""
    delivered: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_FIRST, 0))
    """Payload that the peer counted, by the names of the option's fields [B]."""

    @property
    def sends(self) -> bool:
        """Whether segments after the handshake carry the option."""
        return self.has_heard and (self.option == 3 or (self.option == 2 and not self.is_lost))

    # What arrives.

    def on_third(self, packet: Packet) -> None:
        """The first segment after a SYN-ACK that was not ECN-capable (Table 4)."""
        ace = count(packet.flags)
        if ace == 0:
            self.is_capable = False
        elif ace in {0b010, 0b011, 0b100, 0b110} and not packet.length:
            is_changed = ace != 0b010
            if is_changed and self.checks:
                self.is_capable = False
            elif ace == 0b110:
                self.marks = 1

    def on_arrival(self, packet: Packet) -> None:
        """Any segment."""
        self.has_heard |= bool(packet.options and packet.options.counts)
        if packet.length:
            self.needed = max(self.needed, _NEEDED.get(packet.ecn or "", 0))

    def on_repeat(self, start: int) -> None:
        """Data that begins at the number `start` arrived again: for the second time, the answers seem to be dropped."""
        self.is_lost |= self.was_sent and start == self.repeated
        self.repeated = start

    def on_progress(self, packet: Packet) -> tuple[int, int] | None:
        """An acknowledgement that counts: what its option says of ECT(0) and of CE, if it has both."""
        counts = dict(packet.options.counts) if packet.options else {}
        for name, value in counts.items():
            self.delivered[name] = value - _FIRST[name]
        return (counts.get("e0b", 0), counts["ceb"]) if "ceb" in counts else None

    # What leaves.

    def with_option(
        self, bytes_of: Mapping[str, int], blocks: Blocks, *, has_stamp: bool
    ) -> tuple[Blocks, tuple[tuple[str, int], ...]]:
        """The SACK blocks of a segment, and the option beside them as name and value of each field."""
        fields = 0
        if self.sends:
            blocks, fields = _fitted(blocks, self.needed, _SPACE - (OPTION_SIZE if has_stamp else 0))
        self.was_sent = fields > 0
        if fields:
            self.needed = 0
        return blocks, tuple((name, bytes_of[name] % (1 << 24)) for name in _FIELDS[:fields])


def first_option() -> tuple[tuple[str, int], ...]:
    """What a SYN-ACK says before anything has been counted."""
    return tuple((name, _FIRST[name]) for name in _FIELDS)


def _fitted(blocks: Blocks, needed: int, space: int) -> tuple[Blocks, int]:
    """How many fields fit into the space beside SACK blocks; for those that are needed the last blocks give way.

    Source: Linux 7.0, ``tcp_options_fit_accecn``: up to two blocks stay.
    """
    most = min(len(blocks), (space - _WORD) // _BLOCK)
    for kept in range(most, min(most, 2) - 1, -1):
        left = space - (_WORD + _BLOCK * kept if kept else 0)
        for fields in range(len(_FIELDS), max(needed, 1) - 1, -1):
            size = _KIND + _FIELD * fields
            # The two bytes of padding before a SACK option can be the option's.
            over = size % _WORD
            if size - over + (_WORD if over > (2 if kept else 0) else 0) <= left:
                return blocks[:kept], fields
        if needed == 0:
            break
    return blocks[:most], 0
