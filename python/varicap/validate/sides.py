"""What a table compares: the simulator with a kernel, or two kernels."""

import platform
from dataclasses import dataclass
from typing import Any

from varicap.kernels import Kernel


@dataclass(frozen=True)
class Side:
    """One of the two."""

    key: str
    """What a row calls it."""
    kernel: Kernel | None = None
    """The kernel, where it is one in simulated time."""
    release: str | None = None
    """Of the kernel, where it is one."""

    @property
    def title(self) -> str:
        """What people call it."""
        if self.kernel is not None:
            return f"Linux {self.kernel.release}" if self.key == KERNEL else f"{self.key} (Linux {self.kernel.release})"
        return "simulator" if self.release is None else f"Linux {self.release}"

    def to_dict(self) -> dict[str, Any]:
        """As the table's JSON says it."""
        if self.kernel is not None:
            of = {"name": self.kernel.name, "release": self.kernel.release, "digest": self.kernel.digest}
            return {"key": self.key, **of, "clock": "simulated"}
        if self.release is not None:
            return {"key": self.key, "name": None, "release": self.release, "digest": None, "clock": "real"}
        return {"key": self.key}


KERNEL = "kernel"
"""What a row calls the only kernel."""

SIM = Side("sim")


def real_kernel() -> Side:
    """The kernel that runs here."""
    return Side(KERNEL, release=platform.release())
