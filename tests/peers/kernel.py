"""The simulator beside the Linux kernel: the same path, the same seed, and what each says of the same flow.

    .venv/bin/python tests/peers/kernel.py [CASE …]

Each case is `examples/fixed.toml` (or another) with some values changed; runs are in real time, a few side by side.
The simulator has the stack `rfc` with timestamps and a least RTO of 0.2 s, and the kernel is `classic`;
`varicap validate kernel` compares Linux as it is.
`docs/validation.md` holds what it printed.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import varicap
from varicap.engines import kernel

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SIDE_BY_SIDE = 7
"""Slow links leave the machine idle: so many runs at a time do not disturb each other."""

_LINK = "topology.dumbbell.forward"
_ALONE = {"flows.reno.start_spread": "0 s", "warmup": "10 s"}
_STANDARD = {
    "tcp.stack": "rfc",
    "flows.reno.tcp.recovery": "newreno",
    "tcp.timestamps": "true",
    "tcp.timer": '{ rfc6298 = { minimum = "0.2 s" } }',
}
_RATCP = {"flows.reno.tcp.congestion": "{ ratcp = { pacing = true } }"}
_SACK = {"flows.reno.tcp.recovery": "sack"}
_HALF = {f"{_LINK}.capacity": '{ markov = { rates = ["0.8 Mbit/s", "0.4 Mbit/s"], mean_holding = ["2 s", "2 s"] } }'}
_QUARTER = {f"{_LINK}.capacity": '{ markov = { rates = ["0.8 Mbit/s", "0.2 Mbit/s"], mean_holding = ["2 s", "2 s"] } }'}


def _loss(share: float) -> dict[str, str]:
    return {f"{_LINK}.loss": f"{{ bernoulli = {share} }}"}


@dataclass(frozen=True)
class Case:
    """A path and a flow over it."""

    overrides: dict[str, str] = field(default_factory=dict)
    file: str = "fixed"
    duration: str = "60 s"
    seeds: int = 2
    mode: kernel.Mode = "classic"

    def options(self) -> dict[str, Any]:
        """What both engines are asked."""
        overrides = {**_ALONE, **_STANDARD, "duration": self.duration, **self.overrides}
        return {"scenario": EXAMPLES / f"{self.file}.toml", "overrides": overrides, "seeds": self.seeds}


_LTE = {f"{_LINK}.{key}": value for key, value in {
    "capacity": '{ opportunities = { file = "traces/lte-like.down" } }',
    "delay": "20 ms",
    "queue": '{ drop-tail = { limit = "150 packets" } }',
}.items()} | {"tcp.mss": "1448 B", "topology.dumbbell.reverse.delay": "20 ms"}  # fmt: skip

CASES = {
    "fixed": Case(seeds=1),
    "fixed, in service counted": Case({f"{_LINK}.queue.drop-tail.counts_in_service": "true"}, seeds=1),
    "fixed, sack": Case(_SACK, seeds=1, mode="stock"),
    "fixed, ratcp": Case({"flows.reno.tcp.congestion": "ratcp"}, seeds=1),
    "fixed, ratcp paced": Case(_RATCP, seeds=1),
    "Markov 0.8/0.4": Case(_HALF),
    "Markov 0.8/0.2": Case(_QUARTER),
    "Markov 0.8/0.2, ratcp paced": Case(_QUARTER | _RATCP),
    "Markov 0.8/0.4, ratcp paced": Case(_HALF | _RATCP),
    "loss 0.5 %": Case(_loss(0.005), seeds=3),
    "loss 1 %": Case(_loss(0.01), seeds=3),
    "loss 2 %": Case(_loss(0.02), seeds=3),
    "loss 2 %, sack": Case(_SACK | _loss(0.02), seeds=3, mode="stock"),
    "loss 2 %, ratcp paced": Case(_RATCP | _loss(0.02), seeds=3),
    "LTE-like trace": Case(_LTE, seeds=2),
}


def row(name: str) -> str:
    """A case's line of the table."""
    case = CASES[name]
    simulated = varicap.run(**case.options(), jobs=1).summary
    real = kernel.run(**case.options(), kernel=case.mode).summary
    flows = [summary["flows"][0] for summary in (simulated, real)]
    rates = [flow["goodput_bps"]["mean"] / 1e3 for flow in flows]
    windows = [f"{flow['cwnd_packets']['min']:.0f}–{flow['cwnd_packets']['max']:.0f}" for flow in flows]
    resent = [f"{flow['retransmitted_packets']:.0f}" for flow in flows]
    fidelity = real["fidelity"]
    cells = [
        name,
        *(f"{rate:.1f}" for rate in rates),
        f"{100 * (rates[1] / rates[0] - 1):+.1f}",
        " / ".join(windows),
        " / ".join(resent),
        f"{1000 * fidelity['lateness_ms']['p99']:.0f}",
        "yes" if fidelity["valid"] else "no: " + "; ".join(fidelity["faults"]),
    ]
    return "| " + " | ".join(cells) + " |"


def main(names: list[str]) -> None:
    """Print the table of these cases, or of all."""
    print("| path and flow | sim [kb/s] | kernel [kb/s] | apart [%] | cwnd | resent | late p99 [us] | valid |")
    print("|---|---|---|---|---|---|---|---|")
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for line in pool.map(row, names or list(CASES)):
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
