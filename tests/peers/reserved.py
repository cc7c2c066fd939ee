"""Reservations that plain TCP only marks, Figs. 2 and 4 of [minrate]: the simulator beside ns-2's module diffserv.

    .venv/bin/python tests/peers/reserved.py [SEEDS]      prints the table of docs/validation.md

Without ns (ns-2.35) its cells stay empty.

ns-2 runs `reserved.tcl` in this folder: token buckets at the edges, RED by the average of the whole queue for what they
leave unmarked.  Both run 100 s, of which 20 do not count.
"""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from varicap.papers.minrate.network import ONE_WAY, RATES, TWO_WAY, measure, senders
from varicap.papers.run import Run
from varicap.statistics import Array, Interval

SCRIPT = Path(__file__).with_name("reserved.tcl")
DEPTHS_MS = (50, 100, 200, 400, 800)


def ns2(depth_ms: int, both: bool, seed: int) -> list[list[float]]:
    """Throughput and its compliant part of each flow [Mb/s]."""
    arguments = ("depth", depth_ms / 1e3, "both", int(both), "seed", seed)
    done = subprocess.run(
        ["ns", str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, timeout=300, check=True
    )
    return [[float(value) for value in line.split()[1:]] for line in done.stdout.splitlines()]


def row(name: str, ours: Array, theirs: list[float]) -> None:
    """Print a row: both with their intervals."""
    values = [Interval.of(ours), *([Interval.of(theirs)] if theirs else [])]
    shown = [f"{one.mean:.2f} ± {one.mean - (one.lo or one.mean):.2f}" for one in values]
    print(f"| {name} | {' | '.join(shown)}{'' if theirs else ' |'} |", flush=True)


def main(seeds: int) -> None:
    """Print all rows."""
    run = Run("minrate")
    peer_seeds = range(1, seeds + 1) if shutil.which("ns") else ()
    print("| [Mb/s] | varicap | ns-2 |\n|---|---|---|")
    with ThreadPoolExecutor(2) as pool:
        for both in (False, True):
            for depth in DEPTHS_MS:
                peers = list(pool.map(lambda seed, d=depth, b=both: ns2(d, b, seed), peer_seeds))
                found = measure(run, senders("plain", bucket=f"{depth} ms"), TWO_WAY if both else ONE_WAY, seeds=seeds)
                if depth == DEPTHS_MS[0] and not both:
                    for place, (flow, rate) in enumerate(RATES.items()):
                        what = f"{rate:g} Mb/s reserved, bucket of {depth} ms"
                        row(f"{what}: throughput", found.throughput(flow), [one[place][0] for one in peers])
                        row(f"{what}: compliant", found.compliant(flow), [one[place][1] for one in peers])
                    others = [sum(one[place][0] for place in (3, 4, 5)) / 3 for one in peers]
                    row("best effort, each", found.throughput("be"), others)
                way = "two-way" if both else "one-way"
                compliant = found.compliant("r4")
                row(f"4 Mb/s, {way}, bucket of {depth} ms: compliant", compliant, [one[2][1] for one in peers])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
