"""How much of each packet a capture has."""

from varicap import units

SNAPLEN = "128 B"
"""All headers fit into it: 20 B of IPv4 and at most 60 B of TCP.  What follows is zeros, which nobody needs to store:
with whole packets 5 s at 10 Gb/s are 6 GB."""

_LARGEST = 2**32 - 1  # the field of an interface has 32 bits


def snap_length(text: str) -> int:
    """A snap length [B]; zero stands for whole packets.  Raises ``ValueError`` for what is none.

    >>> snap_length("96 B"), snap_length("0 B")
    (96, 0)
    """
    length = units.size(text)
    if not length <= _LARGEST:
        raise ValueError(f"found `{text}`, expected a size of at most {_LARGEST} B")
    if length == 0 and any(digit in text for digit in "123456789"):
        raise ValueError(f"found `{text}`, expected at least 1 B, or 0 B for whole packets")  # sizes are rounded
    return int(length)
