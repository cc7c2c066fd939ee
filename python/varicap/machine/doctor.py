"""What this machine can do for the kernel engine, found out by trying, and how fast a link it can emulate."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap import kernels
from varicap.engines import kernel
from varicap.errors import MachineLacksError

RATES_MBPS = (10, 50, 100, 200, 400, 800)
"""Rates that `ceiling` tries, in this order [Mb/s]."""

_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class Check:
    """One thing that the kernel engine needs, or would like."""

    name: str
    ok: bool
    says: str = ""
    remedy: str = ""
    is_needed: bool = True


def checks() -> list[Check]:
    """Try everything that the kernel engine needs, and leave nothing behind."""
    if sys.platform != "linux":
        return [Check("Linux", ok=False, says=f"this is {sys.platform}", remedy="use --engine sim or model here")]
    try:
        found = kernel.probe()
    except MachineLacksError as error:
        remedy = "allow user namespaces (sysctl user.max_user_namespaces), or be root"
        return [Check("rights over namespaces", ok=False, says=str(error), remedy=remedy)]
    needed = {"network namespaces", "TUN devices"}
    return [
        Check(
            name, ok=error is None, says=error or "", remedy="" if error is None else remedy, is_needed=name in needed
        )
        for name, error, remedy in found
    ]


def congestion_controls() -> list[str]:
    """The congestion controls that the kernel has."""
    try:
        return _CONTROLS.read_text(encoding="utf-8").split()
    except OSError:
        return []


@dataclass(frozen=True)
class Held:
    """How well a link of one rate was emulated."""

    rate_mbps: float
    utilisation: float
    lateness_p99_ms: float
    lateness_max_ms: float
    faults: list[str]

    @property
    def ok(self) -> bool:
        """Whether the run was valid and the link was full."""
        return not self.faults and self.utilisation > 0.95


def ceiling(rates_mbps: tuple[float, ...] = RATES_MBPS, report: Callable[[Held], None] | None = None) -> list[Held]:
    """Emulate one TCP flow over faster and faster links, 4 s each, until one of them cannot be kept."""
    kept = []
    for held in _measured(rates_mbps):
        kept.append(held)
        if report is not None:
            report(held)
        if not held.ok:
            break
    return kept


def _measured(rates_mbps: tuple[float, ...]) -> Iterator[Held]:
    for rate in rates_mbps:
        summary = kernel.run(_scenario(rate), kernel="stock", clock="real").summary
        fidelity, link = summary["fidelity"], summary["links"][0]
        lateness = fidelity["lateness_ms"]
        yield Held(rate, link["utilisation"]["mean"], lateness["p99"], lateness["max"], fidelity["faults"])


def _scenario(rate_mbps: float) -> dict[str, Any]:
    """One Reno flow over a link with 10 ms each way, full packets."""
    link = {"capacity": f"{rate_mbps} Mbit/s", "delay": "10 ms", "queue": {"drop-tail": {"limit": "2 bdp"}}}
    return {
        "name": f"ceiling-{rate_mbps:g}",
        "duration": "4 s",
        "warmup": "1 s",
        "topology": {"dumbbell": {"forward": link}},
        # The window is a BDP and a half: the link is full, and nothing is lost even if a whole window comes at once,
        # so that what is measured is the emulator and not the sender's way of repairing losses.
        "tcp": {"recovery": "sack", "receive_window": "1.5 bdp"},
        "flows": {"reno": {}},
    }


def to_dict(found: list[Check]) -> dict[str, Any]:
    """As ``varicap doctor --json`` prints it."""
    return {
        "kernel": all(check.ok for check in found if check.is_needed),
        "checks": [
            {"name": check.name, "ok": check.ok, "says": check.says, "remedy": check.remedy, "needed": check.is_needed}
            for check in found
        ],
        "congestion_controls": congestion_controls(),
        "kernels": [
            {"name": one.name, "release": one.release, "digest": one.digest, "controls": one.controls}
            for one in kernels.installed()
        ],
        "version": _core.__version__,
    }
