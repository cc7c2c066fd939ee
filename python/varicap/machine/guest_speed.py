"""How fast guests of the kernel engine are: simulated seconds per second of processor time."""

from collections.abc import Iterator
from typing import Any

from varicap import kernels
from varicap.engines import guests
from varicap.engines.scenarios import load

SECONDS = {1: 60, 10: 20, 100: 5}
"""The simulated time of a measurement, by the rate [Mb/s]: some seconds of processor time."""
FLOWS = (1, 10, 100)


def measurements(name: str | None = None) -> Iterator[dict[str, Any]]:
    """Each rate with each number of flows, in the kernel of that name (by default the newest), on one core."""
    kernel = kernels.find(name)
    for rate_mbps, seconds in SECONDS.items():
        for flows in FLOWS:
            yield {"kernel": kernel.release, **measure(kernel, rate_mbps, flows, seconds)}


def measure(kernel: kernels.Kernel, rate_mbps: float, flows: int, seconds: int) -> dict[str, Any]:
    """One guest: CUBIC, delayed acknowledgements, 20 ms each way, a buffer of a BDP and two packets a flow."""
    packets = round(rate_mbps * 1e6 * 0.04 / 12_000) + 2 * flows
    queue = {"drop-tail": {"limit": f"{packets} packets"}}
    forward = {"capacity": f"{rate_mbps} Mbit/s", "delay": "20 ms", "queue": queue}
    scenario = load(
        {
            "name": "speed",
            "duration": f"{seconds} s",
            "topology": {"dumbbell": {"forward": forward, "reverse": {"delay": "20 ms"}}},
            "flows": {"a": {"count": flows}},
        }
    )
    asked = {"scenario": scenario.to_json(), "name": scenario.name, "base_dir": scenario.base_dir, "seed": 1}
    request = asked | {"mode": "stock", "live": False, "series": False, "packets": False}
    spent: list[tuple[float, int]] = []
    booted: list[float] = []
    has_begun = False

    def look(time_s: float, memory: int) -> None:
        spent.append((time_s, memory))
        if has_begun and not booted:
            booted.append(time_s)

    for _, message in guests.serve(kernel, [0], lambda _: request, 1, look):
        # The first message says that it has booted; what it has taken until then is looked at next.
        has_begun |= "share" in message
    took_s = max(time for time, _ in spent) - booted[0]
    return {
        "rate_mbps": rate_mbps,
        "flows": flows,
        "simulated_s": seconds,
        "boot_cpu_s": booted[0],
        "cpu_s": took_s,
        "simulated_s_per_cpu_s": seconds / max(took_s, 0.01),
        "peak_mb": max(memory for _, memory in spent) / 1e6,
    }
