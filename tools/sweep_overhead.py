"""Processor time that a sweep of short runs takes outside its simulations.

    python tools/sweep_overhead.py --runs 10000 --seeds 10

The same runs are simulated by calls of the engine, of which each has a point that was read before; what a sweep takes
beyond that, which reads points and keeps results, is its overhead.  The least of a few rounds counts, user and system
time of this process; what is imported is not in it.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import varicap
import varicap._core as _core

SCENARIO = Path(__file__).parent.parent / "examples/fixed.toml"
DELAY = "topology.dumbbell.forward.delay"
ROUNDS = 3


def least_s(work: Callable[[], object]) -> float:
    """Processor time of a piece of work [s]."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    """Print processor time for each run, of the sweep and of the simulations alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=SCENARIO, help="a scenario with a dumbbell, whose delay is swept")
    parser.add_argument("--runs", type=int, default=10_000, help="runs in all")
    parser.add_argument("--seeds", type=int, default=10, help="runs at each point")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="another value of the scenario"
    )
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    options = parser.parse_args()
    scenario = varicap.load(options.file, [tuple(text.split("=", 1)) for text in options.set])
    points = options.runs // options.seeds
    delays = [f"{40 + 20 * number / points:.4f} ms" for number in range(points)]

    def sweep() -> None:
        with tempfile.TemporaryDirectory() as folder:
            varicap.sweep(scenario, {DELAY: delays}, seeds=options.seeds, jobs=options.jobs, folder=folder)

    at_points = [varicap.load(scenario, {DELAY: delay}) for delay in delays]

    def simulations() -> None:
        for at_point in at_points:
            _core.run(at_point, seed=at_point.seed, first=0, count=options.seeds, threads=options.jobs)

    varicap.sweep(scenario, {DELAY: delays[:2]}, seeds=2)
    alone_s, swept_s = least_s(simulations), least_s(sweep)
    each_us = 1e6 / (points * options.seeds)
    print(f"{options.runs} runs at {points} points, {options.jobs} at a time")
    print(f"simulations alone {alone_s * each_us:8.1f} us for each run")
    print(
        f"the sweep         {swept_s * each_us:8.1f} us for each run, {1 - alone_s / swept_s:.1%} outside simulations"
    )


if __name__ == "__main__":
    main()
