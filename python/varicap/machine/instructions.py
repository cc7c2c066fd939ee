"""Instructions per delivered packet, which hold where times do not, counted by callgrind (a tool of valgrind).

Each workload is run twice, and the shorter run is subtracted from the longer one: what it takes to start the
interpreter, to read a scenario and to open connections counts for nothing.  All runs are forks of a single interpreter
under valgrind, which takes seconds to start.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import varicap._core as _core

if TYPE_CHECKING:
    from varicap.machine.bench import Workload

_LONGER_S = 9.0
_SHORTER = 1 / 3
_MOST_BITS = 1.2e9
"""Packets are counted about fifty times more slowly than they are simulated: a hundred thousand of 1500 bytes a run."""
_COUNT = re.compile(r"==(\d+)== Collected : (\d+)")


def per_packet(workloads: "Sequence[Workload]") -> list[float | None]:
    """Instructions per delivered packet of each workload [1], in its steady state.

    None for a workload that would take too long to count, and for all where there is no valgrind, or it cannot run this
    interpreter.
    """
    valgrind = shutil.which("valgrind")
    runs = [_runs(workload) for workload in workloads] if valgrind is not None else []
    if valgrind is None or not any(runs):
        return [None] * len(workloads)
    tool = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [*tool, sys.executable, "-m", "varicap.machine.instructions"],
        input=json.dumps([scenario for pair in runs for scenario in pair]),
        capture_output=True,
        text=True,
        check=False,
    )
    counts = {int(process): int(count) for process, count in _COUNT.findall(done.stderr)}
    packets = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(packets) != 2 * sum(map(bool, runs)):
        return [None] * len(workloads)
    measured = iter([(counts[process], delivered) for process, delivered in packets])
    return [_difference(next(measured), next(measured)) if pair else None for pair in runs]


def _runs(workload: "Workload") -> list[str]:
    """The scenarios of the shorter and of the longer run; none where they would take too long."""
    from dataclasses import replace

    from varicap.engines.scenarios import load
    from varicap.units import bits_per_second, seconds

    longer_s = min(_LONGER_S, seconds(workload.duration))
    if bits_per_second(workload.rate) * longer_s > _MOST_BITS:
        return []
    lasting = (replace(workload, duration=f"{seconds!r} s") for seconds in (longer_s * _SHORTER, longer_s))
    return [load(each.scenario()).to_json() for each in lasting]


def _difference(shorter: tuple[int, int], longer: tuple[int, int]) -> float | None:
    """Instructions per packet of what the longer run has in addition."""
    packets = longer[1] - shorter[1]
    return (longer[0] - shorter[0]) / packets if packets > 0 else None


def main() -> None:
    """Run each scenario of the list on stdin in a fork; a line for each: its process, and the packets delivered."""
    for text in json.load(sys.stdin):
        process = os.fork()
        if process == 0:
            scenario = _core.Scenario.from_json(text, "counted", ".", [])
            summary = json.loads(_core.run(scenario, seed=1, first=0, count=1, threads=1).summary())
            delivered = next(link["delivered_packets"] for link in summary["links"] if link["name"] == "forward")
            os.write(1, f"{json.dumps([os.getpid(), round(delivered)])}\n".encode())
            os._exit(0)
        if os.waitpid(process, 0)[1] != 0:
            sys.exit(1)


if __name__ == "__main__":
    main()
