"""What a delivered packet costs in varicap and in its peers, on this machine and in one run.

    python tests/peers/speed.py [--htsim PROGRAM] [--repeats N] [--packets N]       prints the table of README.md

All simulate the workload of `varicap bench` with an acknowledgement for each packet: 1,500-byte packets over 20 ms, one
bandwidth-delay product of drop-tail buffer. varicap has SACK, jitter and all statistics on, ns-2 (the system package
`ns2`) SACK, and htsim its barest path: NewReno over one queue and two pipes. htsim's program is made of `dumbbell.cpp`
and its library:

    g++ -O3 -std=c++11 -I HTSIM/sim tests/peers/dumbbell.cpp -L HTSIM/sim -lhtsim -o PROGRAM

Each number is the processor time of a long run less that of a short one, the least of several that take turns, by the
packets that the long one delivers more: what a simulator takes to begin counts for nothing.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DUMBBELL = Path(__file__).with_name("dumbbell.tcl")
SHORT_S = 5
PACKET, RTT_S = 1500, 0.02
VARICAP = """
import sys
import varicap
from varicap.machine.bench import Workload
flows, megabits, seconds = map(int, sys.argv[1:])
work = Workload("peers", flows, f"{megabits} Mbit/s", duration=f"{seconds} s", ack_every=1)
forward = varicap.run(work.scenario(), seeds=1).links.to_pylist()[0]
print(forward["delivered_packets"], "packets")
"""


@dataclass(frozen=True)
class Workload:
    """So many flows over a link."""

    flows: int
    megabits: int


Commands = Callable[[Workload, int], list[str]]
"""The command that simulates a workload for so many seconds."""

WORKLOADS = (Workload(1, 100), Workload(10, 100), Workload(100, 100), Workload(100, 1000))


def varicap(work: Workload, seconds: int) -> list[str]:
    """The command that simulates `work` in varicap."""
    return [sys.executable, "-c", VARICAP, str(work.flows), str(work.megabits), str(seconds)]


def ns2(work: Workload, seconds: int) -> list[str]:
    """The same in ns-2."""
    limit = int(work.megabits * 1e6 / 8 * RTT_S / PACKET)
    settings = {
        "rate": f"{work.megabits}Mb",
        "back": f"{work.megabits}Mb",
        "delay": "10ms",
        "limit": limit,
        "flows": " ".join(["{tcp sack 0 1 0 0}"] * work.flows),
        "initial_window": 10,
        "warmup": 0,
        "stop": seconds,
        "tcp": f"packetSize_ {PACKET - 40}",
    }
    return ["ns", str(DUMBBELL), *(str(part) for item in settings.items() for part in item)]


def htsim(program: str) -> Commands:
    """The same in htsim, of which `program` was made."""
    return lambda work, seconds: [program, str(work.flows), str(work.megabits), str(seconds)]


def measured(command: list[str]) -> tuple[float, int]:
    """The processor time of a command [s], and how many packets it says were delivered."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    packets = re.search(r"(\d+) packets|pdepartures_ (\d+)", said)
    if process.returncode or packets is None:
        raise SystemExit(f"speed: {' '.join(command)[:200]} says\n{said}")
    return usage.ru_utime + usage.ru_stime, int(packets[1] or packets[2])


def nanoseconds(commands: list[Commands], work: Workload, packets: int, repeats: int) -> list[float]:
    """Processor time for a packet of each simulator, in runs as long as a full link takes for so many of them [ns]."""
    lengths = SHORT_S, SHORT_S + round(packets * 8 * PACKET / (work.megabits * 1e6))
    turns = [[[measured(of(work, each)) for each in lengths] for of in commands] for _ in range(repeats)]
    costs = []
    for simulator in zip(*turns, strict=True):
        (short, few), (long, many) = (min(runs) for runs in zip(*simulator, strict=True))
        costs.append((long - short) * 1e9 / (many - few))
    return costs


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--htsim", help="a program made of dumbbell.cpp")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--packets", type=int, default=10_000_000)
    arguments = parser.parse_args()
    simulators: dict[str, Commands] = {"varicap": varicap}
    if shutil.which("ns"):
        simulators["ns-2"] = ns2
    if arguments.htsim:
        simulators["htsim, barest path"] = htsim(arguments.htsim)
    columns = [nanoseconds([*simulators.values()], work, arguments.packets, arguments.repeats) for work in WORKLOADS]
    print("| | " + " | ".join(f"{work.flows} x, {work.megabits} Mb/s" for work in WORKLOADS) + " |")
    print("|---" * (len(WORKLOADS) + 1) + "|")
    for name, *row in zip(simulators, *columns, strict=True):
        print(f"| {name} | " + " | ".join(f"{cost:.0f} ns" for cost in row) + " |")


if __name__ == "__main__":
    main()
