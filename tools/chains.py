"""Models of TCP on random Markov capacities beside the simulator: what the bounds of docs/models.md are made of.

    python tools/chains.py --chains 200 --out FILE.csv
    python tools/chains.py --chains 40 --family stretched --duration 60 --out FILE.csv

The family `grid` draws rates uniformly from 1.5 to 12 Mb/s, so that they differ by a factor of 8 at most, and mostly of
2 to 4.  `stretched` goes on from there: rates drawn by their logarithms, up to 20 times apart, that last from 2.4 round
trips on, and buffers from a quarter of a pipe.

A chain is a number, of which its rates, changes, delay and buffer are drawn, so that a row can be run again alone.  A
model is inside a bound if it lies within it of the simulator's 95 % interval of utilisation; what a chain offers in a
run of some minutes is not its mean, which utilisation does not see.
"""

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import varicap

_MTU = 12_000  # b
_FEEDBACK: dict[str, dict[str, Any]] = {
    "exact": {},
    "instcap": {"estimator": {"instantaneous": {"interval": "50 ms"}}},
    "effcap": {"estimator": {"effective": {"interval": "50 ms", "average": "1 rtt", "least": "7 rtt"}}},
}
_TIMEOUTS = {
    "stack": "rfc",
    "recovery": "old-tahoe",
    "ack": "every",
    "timer": {"multiple": {"factor": 2.0}},
    "limited_transmit": False,
}
_WINDOW = "64 packets"
_MOST_APART, _SHORTEST = 20.0, 2.4

FLOWS: dict[str, dict[str, Any]] = {
    "reno": {"tcp": {"congestion": "reno"}},
    "cubic": {"tcp": {"congestion": "cubic"}},
    "bbr": {"tcp": {"congestion": "bbr"}},
    **{f"ratcp-{name}": {"tcp": {"congestion": "ratcp"}, "feedback": told} for name, told in _FEEDBACK.items()},
    "timeouts-tcp": {"tcp": _TIMEOUTS},
    **{
        f"timeouts-{name}": {"tcp": _TIMEOUTS | {"congestion": "ratcp"}, "feedback": told}
        for name, told in _FEEDBACK.items()
    },
    "abr-tcp": {"tcp": _TIMEOUTS | {"max_window": _WINDOW}},
    **{
        f"abr-{name}": {"tcp": _TIMEOUTS | {"max_window": _WINDOW}, "feedback": told, "abr": {}}
        for name, told in _FEEDBACK.items()
    },
}
"""By name: `reno` to `ratcp-effcap` recover as Linux does; `timeouts-` and `abr-` as in the papers, by timeouts."""

LAWS = ("slotted", "continuous")
FAMILIES = ("grid", "stretched")
COLUMNS = ("flow", "law", "chain", "apart", "states", "model", "said", "lo", "mean", "hi", "off", "solve_s", "why")


def scenario(
    number: int, flow: str, law: str = "slotted", *, family: str = "grid", duration_s: float = 120
) -> dict[str, Any]:
    """A random chain of 2 to 5 rates, and a flow alone on it."""
    draw = _stretched if family == "stretched" else _grid
    capacity, delay_ms, limit = draw(number, law, by_packets="stack" in FLOWS[flow]["tcp"])
    return {
        "name": "varying",
        "duration": f"{duration_s:g} s",
        "warmup": "10 s",
        "topology": {
            "dumbbell": {
                "forward": {
                    "capacity": capacity,
                    "delay": f"{delay_ms} ms",
                    "queue": {"drop-tail": {"limit": f"{limit} packets"}},
                },
                "reverse": {"delay": "0 s"},
            }
        },
        "flows": {"one": {"start_spread": "1 s", "jitter": "1 ms"} | FLOWS[flow]},
    }


def _grid(number: int, law: str, *, by_packets: bool) -> tuple[dict[str, Any], int, int]:
    """Capacity, delay [ms] and buffer [packets]."""
    rng = np.random.default_rng([21, number])
    states = int(rng.integers(2, 6))
    rates = np.sort(rng.uniform(1.5, 12, states))
    stay = rng.uniform(0.3, 0.97, states)
    changes = _changes(rng, stay)
    delay_ms = int(rng.choice([40, 80, 120]))
    pipe = rates.max() * 1e6 * delay_ms / 1e3 / _MTU
    limit = int(max(13, rng.uniform(0.3, 1.5) * pipe))
    if not by_packets:
        return _capacity(rates, changes, 0.2, law), delay_ms, limit
    # The papers' models count packets: a fifth of the rates, which last longer.
    return _capacity(rates / 5, changes, 1.0, law), delay_ms, max(10, limit // 5)


def _stretched(number: int, law: str, *, by_packets: bool) -> tuple[dict[str, Any], int, int]:
    """The same, with rates drawn by their logarithms."""
    rng = np.random.default_rng([22, number])
    states = int(rng.integers(2, 6))
    # Packets in a round trip: the slowest of them carries so many that senders do not time out in it.
    fastest, slowest = (rng.uniform(10, 40), 2.0) if by_packets else (rng.uniform(20, 120), 2.5)
    pipes = np.maximum(slowest, fastest / np.append(1.0, np.exp(rng.uniform(0, np.log(_MOST_APART), states - 1))))
    lasts = _SHORTEST * np.exp(rng.uniform(0, np.log(10), states))
    changes = _changes(rng, 1 - 1 / lasts)
    delay_ms = int(rng.choice([40, 80, 120]))
    limit = int(max(13, np.ceil(np.exp(rng.uniform(np.log(0.25), np.log(1.5))) * fastest)))
    # A step is a round trip, of which each rate lasts so many.
    return _capacity(np.sort(pipes) * _MTU / delay_ms / 1e3, changes, delay_ms / 1e3, law), delay_ms, limit


def _changes(rng: np.random.Generator, stay: Any) -> Any:
    """A transition matrix whose states are kept so often, or, where the draw leads back, more often."""
    states = len(stay)
    changes = stay[:, None] * np.eye(states) + (1 - stay)[:, None] * rng.dirichlet(np.ones(states), states)
    changes = np.round(changes, 4)
    changes[:, 0] += 1 - changes.sum(axis=1)
    return changes


def _capacity(rates: Any, changes: Any, step_s: float, law: str) -> dict[str, Any]:
    named = [f"{rate:.3f} Mbit/s" for rate in rates]
    if law == "slotted":
        return {"slotted-markov": {"rates": named, "step": f"{1000 * step_s:.0f} ms", "transitions": changes.tolist()}}
    leaving = 1 - changes.diagonal()
    jumps = np.where(np.eye(len(rates)) > 0, 0.0, changes / leaving[:, None])
    jumps = np.round(jumps, 6)
    largest = jumps.argmax(axis=1)
    jumps[np.arange(len(rates)), largest] += 1 - jumps.sum(axis=1)
    holding = [f"{step_s / share:.6f} s" for share in leaving]
    return {"markov": {"rates": named, "mean_holding": holding, "jumps": jumps.tolist()}}


def apart(asked: dict[str, Any]) -> float:
    """The largest rate of a scenario over the least."""
    (capacity,) = asked["topology"]["dumbbell"]["forward"]["capacity"].values()
    rates = [float(rate.split()[0]) for rate in capacity["rates"]]
    return max(rates) / min(rates)


def compared(number: int, flow: str, law: str = "slotted", *, seeds: int = 4, **drawn: Any) -> dict[str, Any]:
    """A row: what the model says, what the simulator found, and how far the model lies from its interval [1]."""
    asked = scenario(number, flow, law, **drawn)
    row: dict[str, Any] = dict.fromkeys(COLUMNS, "") | {"flow": flow, "law": law, "chain": number}
    row["apart"] = apart(asked)
    loaded = varicap.load(asked)
    began = time.process_time()
    try:
        answer = varicap.run(loaded, engine="model").summary["flows"][0]
    except varicap.NotApplicableError as error:
        return row | {"why": str(error).splitlines()[0]}
    row |= {"model": answer["model"], "solve_s": time.process_time() - began, "why": "; ".join(answer["strained"])}
    details = answer["details"]
    row |= {"said": details.get("utilisation", details.get("efficiency")), "states": details["states"]}
    links = varicap.run(loaded, seeds=seeds).summary["links"]
    (found,) = (link["utilisation"] for link in links if link["name"] == "forward")
    return row | {**{key: found[key] for key in ("lo", "mean", "hi")}, "off": _off(row["said"], found)}


def _off(said: float, found: dict[str, float]) -> float:
    """By how much of it a number lies above the interval, or below (negative); 0 inside."""
    return max(0.0, said / found["hi"] - 1) + min(0.0, said / found["lo"] - 1)


def summarised(rows: list[dict[str, Any]], bounds: tuple[float, ...] = (0.05, 0.08, 0.10, 0.15)) -> Iterator[str]:
    """A line for each flow and law, for those that are not strained and for those that are."""
    yield (
        "flow            law         valid  chains  " + "".join(f"<{b:4.0%} " for b in bounds) + " below  above  median"
    )
    for flow, law in dict.fromkeys((row["flow"], row["law"]) for row in rows):
        mine = [row for row in rows if (row["flow"], row["law"]) == (flow, law)]
        for valid in (True, False):
            met = [row for row in mine if row["said"] != "" and (not row["why"]) == valid]
            if not met:
                continue
            off = [row["off"] for row in met]
            shares = "".join(f"{sum(abs(one) < bound for one in off) / len(off):5.1%} " for bound in bounds)
            centre = statistics.median(row["said"] / row["mean"] - 1 for row in met)
            yield (
                f"{flow:15} {law:11} {'yes' if valid else 'no':5} {len(met):6}  {shares} {max(0.0, -min(off)):6.1%} "
                f"{max(0.0, *off):6.1%} {centre:+7.1%}"
            )
        refused = sum(row["said"] == "" for row in mine)
        if refused:
            yield f"{flow:15} {law:11} refused{refused:5}"


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Run the grid, write its rows, and print what they come to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chains", type=int, default=200, help="how many chains (default: 200)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (default: 0)")
    parser.add_argument("--flows", nargs="*", choices=[*FLOWS], default=[*FLOWS], help="which flows (default: all)")
    parser.add_argument("--law", choices=LAWS, help="which law (default: slotted for even numbers)")
    parser.add_argument("--seeds", type=int, default=4, help="runs of the simulator for each (default: 4)")
    parser.add_argument("--family", choices=FAMILIES, default="grid", help="how chains are drawn (default: grid)")
    parser.add_argument("--duration", type=float, default=120, help="of each run [s] (default: 120)")
    parser.add_argument("--out", type=Path, help="file for the rows, as CSV")
    asked = parser.parse_args()
    rows = []
    for flow in asked.flows:
        numbers = range(asked.first, asked.first + asked.chains)
        drawn = {"seeds": asked.seeds, "family": asked.family, "duration_s": asked.duration}
        rows += [compared(number, flow, asked.law or LAWS[number % 2], **drawn) for number in numbers]
        print(f"{flow}: {asked.chains} chains", file=sys.stderr, flush=True)
        if asked.out:
            _write(asked.out, rows)
    print(*summarised(rows), sep="\n")


if __name__ == "__main__":
    main()
