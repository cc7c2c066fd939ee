"""A small congestion control is learned in minutes, and tried where it was learned and where it was not.

    python examples/learned_control.py train [-o FILE]   a cross-entropy search in NumPy; needs varicap[gym]
    python examples/learned_control.py table [FILE]      beside CUBIC and BBR, as a table; FILE: learned-control.npz

    sender ── capacity (a rate or half of it, 2 s each in the mean), delay, drop-tail of 2 BDP ──► receiver
                                    learned: 2 to 20 Mb/s, base RTTs of 20 to 80 ms

The policy is linear in what it observes: eleven numbers.  Each is drawn from a normal distribution, which moves to the
best eighth of the draws, and so on [rubinstein99].  All draws of a generation meet the same channels.  What counts is
the score, which is nearly the mean reward of `FlowEnv`:

    goodput / capacity - 0.2 * mean queueing delay / base RTT - sent again / sent
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import varicap
from varicap.policies import OBSERVED, Layers
from varicap.statistics import Interval

Array = NDArray[np.float64]

FILE = Path(__file__).with_name("learned-control.npz")
INTERVAL = "20 ms"
DELAY_WEIGHT, LOSS_WEIGHT = 0.2, 1.0
RATES_MBPS, ROUND_TRIPS_MS = (2.0, 6.3, 20.0), (20.0, 40.0, 80.0)
RIVALS = ("cubic", "bbr3")


@dataclass(frozen=True)
class NetworkPath:
    """One path: the greater rate, the base round trip, the buffer, and what else is unusual about it."""

    rate_mbps: float
    round_trip_ms: float
    buffer_bdp: float = 2.0
    loss: float = 0.0
    trace: str | None = None
    """Of opportunities, instead of two rates; a file beside this one."""
    beside: int = 0
    """How many CUBIC flows share the link; goodput then counts against a fair share of it."""

    @property
    def link(self) -> dict[str, Any]:
        """The link to the receiver, as a scenario has it."""
        rates = [f"{self.rate_mbps:g} Mbit/s", f"{self.rate_mbps / 2:g} Mbit/s"]
        varying = {"markov": {"rates": rates, "mean_holding": ["2 s", "2 s"]}}
        recorded = {"opportunities": {"file": self.trace, "offset": "random"}}
        return {
            "capacity": varying if self.trace is None else recorded,
            "delay": f"{self.round_trip_ms / 2:g} ms",
            "queue": {"drop-tail": {"limit": f"{self.buffer_bdp:g} bdp"}},
            **({"loss": {"bernoulli": self.loss}} if self.loss else {}),
        }

    def scenario(self, controls: dict[str, Any], duration_s: float) -> dict[str, Any]:
        """A scenario in which each of these controls has the path for itself, or shares it with CUBIC."""
        others = {"beside": {"count": self.beside, "tcp": {"congestion": "cubic"}}} if self.beside else {}
        return {
            "name": "learned-control",
            "duration": f"{duration_s:g} s",
            "warmup": "2 s",
            "isolate": len(controls) > 1 and not others,
            "topology": {"dumbbell": {"forward": self.link, "reverse": {"delay": f"{self.round_trip_ms / 2:g} ms"}}},
            "flows": {name: {"tcp": {"congestion": control}} for name, control in controls.items()} | others,
        }


CASES: Mapping[str, Sequence[NetworkPath]] = {
    "inside: other rates, other round trips": [NetworkPath(*each) for each in product((3.5, 11.0), (28.0, 57.0))],
    "edge: corners of the range": [NetworkPath(*each) for each in product((2.0, 20.0), (20.0, 80.0))],
    "outside: a fifth of the least rate": [NetworkPath(0.4, 20.0), NetworkPath(0.4, 80.0)],
    "outside: five times the greatest rate": [NetworkPath(100.0, 20.0), NetworkPath(100.0, 80.0)],
    "outside: round trips of 300 ms": [NetworkPath(2.0, 300.0), NetworkPath(20.0, 300.0)],
    "outside: a buffer of 0.2 BDP": [NetworkPath(6.3, 40.0, 0.2), NetworkPath(20.0, 80.0, 0.2)],
    "outside: 1 % of packets lost at random": [NetworkPath(6.3, 40.0, loss=0.01), NetworkPath(20.0, 80.0, loss=0.01)],
    "outside: an LTE-like link": [NetworkPath(0.0, 40.0, trace="traces/lte-like.down")],
    "outside: beside one CUBIC flow": [NetworkPath(6.3, 40.0, beside=1), NetworkPath(20.0, 80.0, beside=1)],
}
"""Where the policy is tried; what lies outside is so in one respect only."""


def layers(numbers: Array) -> Layers:
    """The policy that eleven numbers are."""
    return Layers((numbers[None, :-1],), (numbers[-1:],))


def rewards(policies: Array, paths: Sequence[NetworkPath], episodes: int, seed: int, duration_s: float = 20.0) -> Array:
    """Mean reward of each policy, shape (policies,): all meet the same episodes, on paths that are drawn by seed."""
    from varicap.gym import FlowReward, FlowVectorEnv

    count = len(policies)
    scenarios = [path.scenario({"learned": "reno"}, duration_s) for path in paths]
    worth = FlowReward(throughput=1.0, delay=DELAY_WEIGHT, loss=LOSS_WEIGHT)
    envs = FlowVectorEnv(scenarios, count * episodes, interval=INTERVAL, reward=worth, autoreset_mode="Disabled")
    observations, _ = envs.reset(seed=[seed + place % episodes for place in range(count * episodes)])
    weights = np.repeat(policies, episodes, axis=0)
    total, steps, is_over = np.zeros(count * episodes), 0, False
    while not is_over:
        actions = (observations * weights[:, :-1]).sum(axis=1) + weights[:, -1]
        observations, reward, _, truncated, _ = envs.step(np.clip(actions, -1, 1).astype(np.float32)[:, None])
        total, steps, is_over = total + reward, steps + 1, bool(truncated.any())
    envs.close()
    return np.asarray(total.reshape(count, episodes).mean(axis=1) / steps)


def train(
    generations: int = 30, draws: int = 64, episodes: int = 12, seed: int = 1, duration_s: float = 20.0
) -> Layers:
    """Learn a policy: the mean of the last distribution."""
    paths = [NetworkPath(*each) for each in product(RATES_MBPS, ROUND_TRIPS_MS)]
    random = np.random.default_rng(seed)
    mean, spread = np.zeros(len(OBSERVED) + 1), np.ones(len(OBSERVED) + 1)
    for generation in range(generations):
        policies = mean + spread * random.standard_normal((draws, len(mean)))
        found = rewards(policies, paths, episodes, 1000 * seed + generation * episodes, duration_s)
        best = policies[np.argsort(found)[-max(2, draws // 8) :]]
        # Smoothed, so that a lucky draw does not end the search.
        mean, spread = 0.3 * mean + 0.7 * best.mean(axis=0), 0.3 * spread + 0.7 * best.std(axis=0)
        print(f"generation {generation + 1}: best {found.max():.3f}, mean {found.mean():.3f}", file=sys.stderr)
    return layers(mean)


def scores(policy: Path, path: NetworkPath, seeds: int, duration_s: float = 30.0) -> dict[str, Array]:
    """By control, its score in each run, shape (seeds,); all face the same channel."""
    learned = {"policy": {"file": str(policy.resolve()), "interval": INTERVAL}}
    controls: dict[str, Any] = {"learned": learned, **{name: name for name in RIVALS}}
    # Whoever shares the link shares it with CUBIC, not with the others that are compared.
    together = [{name: control} for name, control in controls.items()] if path.beside else [controls]
    found: dict[str, Array] = {}
    for asked in together:
        scenario = varicap.load(path.scenario(asked, duration_s), base_dir=FILE.parent)
        result = varicap.run(scenario, seeds=seeds)
        # Of the link, since a sender that always resends has no sample of the RTT.
        there = [row for row in result.links.to_pylist() if row["name"] == "forward"]
        waiting_ms = {(row["flow"], row["replication"]): row["sojourn_mean_ms"] for row in there}
        for name in asked:
            rows = [row for row in result.flows.to_pylist() if row["name"] == name]
            own = name if len(asked) > 1 else ""
            found[name] = np.array([_score(row, waiting_ms[own, row["replication"]], path) for row in rows])
    return found


def _score(row: dict[str, Any], waiting_ms: float, path: NetworkPath) -> float:
    used = row["goodput_of_capacity"] * (1 + path.beside)
    again = row["retransmitted_packets"] / max(1, row["sent_packets"])
    return float(used - DELAY_WEIGHT * waiting_ms / path.round_trip_ms - LOSS_WEIGHT * again)


def table(policy: Path, cases: Mapping[str, Sequence[NetworkPath]] = CASES, seeds: int = 10) -> list[str]:
    """A row for each case: mean scores, and by how much the policy is better, with 95 % intervals over runs."""
    lines = ["| where | learned | " + " | ".join(RIVALS) + " | " + " | ".join(f"over {name}" for name in RIVALS) + " |"]
    lines += ["|---" * (2 + 2 * len(RIVALS)) + "|"]
    for where, paths in cases.items():
        by_path = [scores(policy, path, seeds) for path in paths]
        mean = {name: np.mean([each[name] for each in by_path], axis=0) for name in by_path[0]}
        cells = [f"{mean[name].mean():.2f}" for name in mean]
        cells += [_difference(Interval.of(mean["learned"] - mean[name])) for name in RIVALS]
        lines.append(f"| {where} | {' | '.join(cells)} |")
    return lines


def _difference(found: Interval) -> str:
    """A mean with its interval, and what it says."""
    low, high = found.lo or 0.0, found.hi or 0.0
    verdict = "better" if low > 0 else "worse" if high < 0 else "no difference"
    return f"{found.mean:+.2f} ± {(high - low) / 2:.2f} ({verdict})"


def main(arguments: Sequence[str]) -> None:
    """Train, or print the table."""
    about = (__doc__ or "").splitlines()[0]
    asked = argparse.ArgumentParser(prog="learned_control.py", description=about)
    commands = asked.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="a cross-entropy search in NumPy; needs varicap[gym]")
    training.add_argument("-o", dest="file", type=Path, default=Path("learned-control.npz"), metavar="FILE")
    shown = commands.add_parser("table", help="beside CUBIC and BBR, as a table")
    shown.add_argument("file", type=Path, nargs="?", default=FILE, metavar="FILE")
    given = asked.parse_args(arguments)
    if given.command == "train":
        train().save(given.file)
        print(f"wrote {given.file}")
        return
    try:
        print("\n".join(table(given.file)))
    except varicap.ScenarioError as error:
        asked.exit(1, f"learned_control.py: {error}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
