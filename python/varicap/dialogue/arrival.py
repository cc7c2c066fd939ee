"""Which segments a connection may take, by their numbers alone (RFC 9293 §3.10.7.4, RFC 7323 §5.3)."""

from enum import Enum, auto

from varicap.dialogue.script import Packet, Stamp

_NUMBERS = 1 << 32


class Judgement(Enum):
    """What happens to a segment before its acknowledgement is looked at."""

    TAKEN = auto()
    OUTSIDE = auto()
    """Its numbers are not those of the window; it is answered."""
    CHALLENGED = auto()
    """It is answered, in case it is not the peer's."""
    DROPPED = auto()


def judged(packet: Packet, following: int, edge: int | None, recent: int | None) -> Judgement:
    """The checks of RFC 9293 §3.10.7.4 with those of RFC 5961 and, if there is a `recent` timestamp, of RFC 7323."""
    is_reset = "R" in packet.flags
    if "S" in packet.flags and not is_reset:
        # RFC 5961 §4.
        return Judgement.CHALLENGED
    if recent is not None and not is_reset:
        if packet.stamp is None:
            # RFC 7323 §3.2.
            return Judgement.DROPPED
        if is_outdated(packet.stamp, recent):
            return Judgement.CHALLENGED
    if not is_acceptable(packet, following, edge):
        return Judgement.DROPPED if is_reset else Judgement.OUTSIDE
    if is_reset and packet.start != following:
        # RFC 5961 §3: only the very next number resets.
        return Judgement.CHALLENGED
    return Judgement.TAKEN if is_reset or "." in packet.flags else Judgement.DROPPED


def relative(number: int) -> int:
    """A number of 32 bits as the distance from the beginning, which may lie ahead."""
    return number - _NUMBERS if number >= _NUMBERS // 2 else number


def is_acceptable(packet: Packet, following: int, edge: int | None) -> bool:
    """Whether a segment begins or ends in the window, from the number `following` up to `edge` (None: no end).

    Source: RFC 9293 §3.10.7.4, its table of four cases.
    """
    length = packet.length + ("S" in packet.flags) + ("F" in packet.flags)
    places = [packet.start] if length == 0 else [packet.start, packet.start + length - 1]
    if edge is not None and edge <= following:
        return length == 0 and packet.start == following
    return any(following <= place and (edge is None or place < edge) for place in places)


def is_outdated(stamp: Stamp, recent: int) -> bool:
    """Whether a segment's timestamp is older than the latest (PAWS, RFC 7323 §5.2)."""
    return (stamp.value - recent) % _NUMBERS >= _NUMBERS // 2


def is_later(stamp: Stamp, recent: int) -> bool:
    """Whether a segment's timestamp is newer than the latest."""
    return 0 < (stamp.value - recent) % _NUMBERS < _NUMBERS // 2


def has_duplicate(blocks: tuple[tuple[int, int], ...], ack: int) -> bool:
    """Whether the first block reports what came twice (RFC 2883 §4): it begins below `ack` or is in another."""
    (start, end), *others = blocks
    return start < ack or any(low <= start and end <= high for low, high in others)
