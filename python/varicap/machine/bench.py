"""Measuring the engine itself, each workload in a process of its own so that its memory is its own."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import varicap._core as _core

if TYPE_CHECKING:
    from varicap.scenario import Scenario

_ENOUGH_S = 2.0
_MOST_REPEATS = 5


@dataclass(frozen=True)
class Workload:
    """Alike SACK flows over one link in each direction, full-sized packets of 1500 bytes.

    They have the stack ``rfc``, so that other simulators can be given the same work.
    """

    name: str
    flows: int
    rate: str
    buffer: str = "1 bdp"
    delay: str = "10 ms"
    duration: str = "60 s"
    ack_every: int = 2

    def scenario(self) -> "Scenario":
        """What is simulated."""
        from varicap.scenario import AckPolicy, DelayedAck, DropTail, Dumbbell, Flow, Link, Scenario, Tcp

        queue = DropTail(limit=self.buffer)
        ack: AckPolicy = "every" if self.ack_every == 1 else DelayedAck(segments=self.ack_every)
        tcp = Tcp(stack="rfc", recovery="sack", ack=ack)
        return Scenario(
            name=self.name,
            duration=self.duration,
            topology=Dumbbell(
                forward=Link(capacity=self.rate, delay=self.delay, queue=queue),
                reverse=Link(capacity=self.rate, delay=self.delay),
            ),
            flows={"bulk": Flow(count=self.flows, start_spread="1 s", tcp=tcp)},
        )


DELAYED: tuple[Workload, ...] = (
    Workload("one", 1, "100 Mbit/s"),
    Workload("ten", 10, "100 Mbit/s"),
    Workload("hundred", 100, "100 Mbit/s"),
    Workload("fast", 100, "1 Gbit/s"),
    Workload("many", 100_000, "10 Gbit/s", duration="5 s"),
    Workload("backbone", 1000, "100 Gbit/s", duration="3 s"),
)
"""One to a hundred flows over 100 Mb/s, a hundred over 1 Gb/s, a crowd, and a thousand over 100 Gb/s."""

STANDARD: tuple[Workload, ...] = (*DELAYED, *(replace(each, ack_every=1) for each in DELAYED[:4]))
"""The same with delayed acknowledgements, and with one for each packet, as other simulators have them."""

QUICK: tuple[Workload, ...] = tuple(replace(each, duration="6 s") for each in DELAYED[:3])
"""A look at the machine in seconds: shorter runs weigh the beginning of the flows more."""


def measure(workload: Workload) -> dict[str, Any]:
    """CPU time and peak memory of a workload, measured in a new process.

    The least CPU time of a few repeats counts: what another program takes from the caches is not ours.
    """
    from varicap.engines.scenarios import load
    from varicap.units import seconds

    # Read here, where a mistake is reported as one; the new process has nothing to load but the engine.
    scenario = load(workload.scenario())
    request = {
        "name": workload.name,
        "flows": workload.flows,
        "ack_every": workload.ack_every,
        "simulated_s": seconds(workload.duration),
        "scenario": scenario.to_json(),
    }
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", "varicap.machine.bench", json.dumps(request)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def timers() -> list[dict[str, Any]]:
    """What it costs to set, handle and cancel a timer [ns], as Table I of [minrate] asks.

    The simulator's are those of its event list: to handle one is to find that it is next, and to set it anew.  The
    kernel's are high-resolution timers behind a descriptor each (timerfd), with the system calls: to handle one is to
    set it to a time that has passed, so that it interrupts at once, and to read that it did, less the cost of setting.
    The least of many rounds counts.
    """
    measured = [_timer_costs("simulator", count, _core.EventTimers(count, 0.02)) for count in (10, 100, 10_000)]
    if sys.platform == "linux":
        measured.append(_timer_costs("kernel", 100, _core.KernelTimers(100)))
        measured[-1]["handle_ns"] -= measured[-1]["set_ns"]
    return measured


def _timer_costs(where: str, count: int, timers: Any) -> dict[str, Any]:
    least = dict.fromkeys(("set", "handle", "cancel"), float("inf"))
    for _ in range(max(20, 20_000 // count)):
        for step in ("set", "handle", "set", "cancel"):
            begin_s = time.perf_counter()
            getattr(timers, f"{step}_all")()
            least[step] = min(least[step], time.perf_counter() - begin_s)
    return {"where": where, "timers": count, **{f"{step}_ns": s / count * 1e9 for step, s in least.items()}}


def _measure_here(request: dict[str, Any]) -> dict[str, Any]:
    scenario = _core.Scenario.from_json(request["scenario"], request["name"], ".", [])
    times_s: list[float] = []
    while len(times_s) < _MOST_REPEATS and sum(times_s) < _ENOUGH_S:
        begin_s = time.process_time()
        results = _core.run(scenario, seed=1, first=0, count=1, threads=1)
        times_s.append(time.process_time() - begin_s)
    summary = json.loads(results.summary())
    delivered = next(link["delivered_packets"] for link in summary["links"] if link["name"] == "forward")
    cpu_s = min(times_s)
    return {
        **{key: request[key] for key in ("name", "flows", "ack_every")},
        "rate_bps": scenario.capacity_bps("forward"),
        "delivered_packets": round(delivered),
        "cpu_s": cpu_s,
        "ns_per_packet": cpu_s / delivered * 1e9 if delivered else None,
        "packets_per_cpu_s": delivered / cpu_s,
        "peak_mb": _peak_bytes() / 1e6,
        "simulated_s_per_cpu_s": request["simulated_s"] / cpu_s,
    }


def _peak_bytes() -> int:
    """Largest resident set of this process so far [B]; 0 where the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Measure the workload of the first argument; the answer goes to stdout."""
    sys.stdout.write(json.dumps(_measure_here(json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
