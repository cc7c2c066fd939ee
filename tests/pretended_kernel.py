"""The simulator in the place of the kernel, its results changed as a test needs."""

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from varicap.engines import sim
from varicap.validate import table

SAME: dict[str, float | None] = {
    "goodput_bps": 1e6,
    "retransmitted_packets": 40.0,
    "timeouts": 2.0,
    "rtt_ms": 100.0,
    "cwnd_packets": 20.0,
    "fct_p50_ms": None,
    "fct_p95_ms": None,
}


Change = Callable[[int, dict[str, Any]], None]


class Kernel:
    """Stands for the kernel: the simulator's result, changed by `change`, which is given the seed and the summary."""

    def __init__(self, change: Change | None = None) -> None:
        self.change = change or (lambda seed, summary: None)
        self.seeds: list[int] = []

    def run(self, scenario: Any, *, seeds: int, seed: int, kernel: str, clock: str, progress: Any) -> SimpleNamespace:
        assert (seeds, kernel, clock) == (1, "stock", "real")
        self.seeds.append(seed)
        summary = copy.deepcopy(sim.run(scenario, seeds=1, seed=seed, jobs=1).summary)
        summary["fidelity"] = {"valid": True, "faults": []}
        self.change(seed, summary)
        progress(1.0, 1, 1)
        return SimpleNamespace(summary=summary)


def scaled(factor: Callable[[int], float]) -> Change:
    """A kernel that delivers so many times as much."""

    def change(seed: int, summary: dict[str, Any]) -> None:
        for flow in summary["flows"]:
            flow["goodput_bps"]["mean"] *= factor(seed)

    return change


def faulty(wrong: Callable[[int], bool]) -> Change:
    def change(seed: int, summary: dict[str, Any]) -> None:
        if wrong(seed):
            summary["fidelity"] = {"valid": False, "faults": ["3 % of the packets were late"]}

    return change


def rows_of(found: table.Validation, ack: str = "every") -> list[dict[str, Any]]:
    return [row for row in found.rows if row["ack"] == ack]
