"""Quantities as files and options write them, such as ``"50 ms"``, as numbers.

Each function raises ``ValueError`` for text that is no such quantity.
"""

import varicap._core as _core


def seconds(text: str) -> float:
    """A time [s].

    >>> seconds("50 ms")
    0.05
    """
    return _core.quantity("time", text)


def bits_per_second(text: str) -> float:
    """A rate [b/s]; ``unlimited`` is infinite.

    >>> bits_per_second("0.8 Mbit/s")
    800000.0
    """
    return _core.quantity("rate", text)


def size(text: str) -> float:
    """A size [B].

    >>> size("30 kB")
    30000.0
    """
    return _core.quantity("size", text)


def per_second(text: str) -> float:
    """A frequency [1/s].

    >>> per_second("0.1 /s")
    0.1
    """
    return _core.quantity("frequency", text)


def share(text: str) -> float:
    """A probability [1].

    >>> share("2 %")
    0.02
    """
    return _core.quantity("probability", text)
