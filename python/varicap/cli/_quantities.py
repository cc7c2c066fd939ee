"""Parameters of links as options, and what cannot be done with a trace, as messages."""

from collections.abc import Callable
from typing import Any, TypeVar

from varicap.terminal import USAGE, fail

Made = TypeVar("Made")


def reported(make: Callable[[], Made]) -> Made:
    """What cannot be done with a trace is the user's to mend."""
    from varicap.traces import TraceError

    try:
        return make()
    except TraceError as error:
        fail(str(error), USAGE)


def option(name: str) -> str:
    """The option of a link's parameter: its name without the unit, which the value has.

    >>> option("slow_time_s"), option("median_bps")
    ('--slow-time', '--median')
    """
    return "--" + name.removesuffix("_s").removesuffix("_bps").replace("_", "-")


def text(name: str, value: Any) -> str:
    """The value of a link's parameter, as its option has it.

    >>> text("slow_time_s", 0.25), text("median_bps", 8e6)
    ('250 ms', '8 Mbit/s')
    """
    if name.endswith("_bps"):
        return f"{value / 1e6:.6g} Mbit/s"
    if name.endswith("_s"):
        return f"{value:g} s" if value >= 1 or value == 0 else f"{value * 1000:g} ms"
    return f"{value:g}"
