"""ERED in varicap and ns-2's coupled RIO, of which it is a case: marked packets are never dropped early.

    python tests/peers/marking.py [--seeds N]      prints the table of docs/validation.md

Poisson datagrams of 1000 B, all of one flow marked and none of the other, share a link of 8 Mb/s whose queue of 100
packets has thresholds of 20 and 80 packets and a largest early probability of 0.02; 200 s after 20 s.
"""

import argparse
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from scipy.stats import t

import varicap

MARKING = Path(__file__).with_name("marking.tcl")
LOADS = [(4.0, 6.0), (4.0, 4.2), (2.0, 5.9), (6.0, 6.0)]
"""Marked and unmarked load [Mb/s]."""
QUEUE = {"ered": {"spacing": "uniform"}}
"""dsRED spaces its drops by Floyd and Jacobson's method, not by `wait` as RED does in ns-2."""


class Interval(NamedTuple):
    """A mean with the half width of its 95 % interval."""

    mean: float
    half: float

    @staticmethod
    def of(values: list[float]) -> "Interval":
        """Of values that are independent."""
        count = len(values)
        mean = sum(values) / count
        deviation = (sum((value - mean) ** 2 for value in values) / max(count - 1, 1)) ** 0.5
        return Interval(mean, float(t.ppf(0.975, count - 1)) * deviation / count**0.5 if count > 1 else 0.0)


def losses_varicap(marked: float, unmarked: float, seeds: int, until: int = 220) -> list[Interval]:
    """Marked and unmarked packets that were lost, each of those of its kind that arrived [%]."""

    def flow(rate: float) -> dict[str, object]:
        return {"datagrams": {"rate": f"{rate} Mbit/s", "size": "1000 B", "spacing": "poisson"}}

    scenario = {
        "duration": f"{until} s",
        "warmup": "20 s",
        "topology": {"dumbbell": {"forward": {"capacity": "8 Mbit/s", "delay": "10 ms", "queue": QUEUE}}},
        "flows": {
            "marked": flow(marked) | {"reservation": {"rate": "7 Mbit/s", "bucket": "1 MB"}},
            "unmarked": flow(unmarked),
        },
    }
    result = varicap.run(scenario, seeds=seeds)
    links = [row for row in result.links.to_pylist() if row["name"] == "forward"]
    sent = {(row["replication"], row["name"]): row["sent_packets"] for row in result.flows.to_pylist()}

    def share(link: dict[str, float], name: str, lost: float) -> float:
        return 100.0 * lost / float(sent[link["replication"], name])

    of_marked = [share(link, "marked", link["dropped_reserved_packets"]) for link in links]
    others = [share(link, "unmarked", link["dropped_packets"] - link["dropped_reserved_packets"]) for link in links]
    return [Interval.of(of_marked), Interval.of(others)]


def losses_ns2(marked: float, unmarked: float, seeds: int, until: int = 220) -> list[Interval]:
    """The same of ns-2."""
    shares: list[list[float]] = [[], []]
    for seed in range(1, seeds + 1):
        options = ["marked", f"{marked}Mb", "unmarked", f"{unmarked}Mb", "seed", str(seed), "stop", str(until)]
        told = subprocess.run(["ns", str(MARKING), *options], capture_output=True, text=True, check=True, timeout=300)
        counts = [float(count) for count in told.stdout.split()]
        for share, (packets, full, early) in zip(shares, (counts[:3], counts[3:]), strict=True):
            share.append(100.0 * (full + early) / packets)
    return [Interval.of(share) for share in shares]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    print("| marked + unmarked [Mb/s] | marked lost [%], varicap | ns-2 | unmarked lost [%], varicap | ns-2 |")
    print("|---|---|---|---|---|")
    for marked, unmarked in LOADS:
        ours = losses_varicap(marked, unmarked, seeds)
        theirs = losses_ns2(marked, unmarked, seeds) if shutil.which("ns") else [None, None]
        pairs = [one for pair in zip(ours, theirs, strict=True) for one in pair]
        cells = (f"{one.mean:.2f} ± {one.half:.2f}" if one else "" for one in pairs)
        print(f"| {marked:g} + {unmarked:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
