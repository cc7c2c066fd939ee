"""How long tests wait: what hangs is to be found out, and what is slow on a busy machine is not."""

import time
from collections.abc import Callable
from typing import TypeVar

HANG_S = 1800.0
"""After which a command, a process or a condition that is waited for counts as hanging."""

Found = TypeVar("Found")


def until(holds: Callable[[], Found], what: str) -> Found:
    """What `holds` returns as soon as that is something; fails with `what` has not happened."""
    end = time.monotonic() + HANG_S
    while not (found := holds()):
        assert time.monotonic() < end, f"after {HANG_S:g} s: {what}"
        time.sleep(0.02)
    return found
