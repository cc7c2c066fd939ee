"""Models of TCP on random Markov capacities beside the simulator: what the bounds of docs/models.md are made of.

    python tools/chains.py --chains 200 --out FILE.csv
    python tools/chains.py --chains 40 --family stretched --duration 60 --out FILE.csv

The family `grid` draws rates uniformly from 1.5 to 12 Mb/s, so that they differ by a factor of 8 at most, and mostly of
2 to 4.  `stretched` goes on from there: rates drawn by their logarithms, up to 20 times apart, that last from 2.4 round
trips on, and buffers from a quarter of a pipe.  `small` is of few packets, 10 to 60 in a round trip and buffers of 10
to 40, and of slots of 0.3 to 12 round trips that a rate may leave with certainty; `edges` draws such paths where a
model is about to be strained: each number now and then at the end of its range, or beside it.  `clocks` is of two
rates in slots of 8.5 to 10 round trips, most of which end with the other rate, and buffers of 12 to 15 packets: the
window nearly keeps step with such changes.

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
_MOSTLY_APART, _STEPS = 5.0, (0.3, 12.0)

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
FAMILIES = ("grid", "stretched", "small", "edges", "clocks")
COLUMNS = ("flow", "law", "chain", "apart", "states", "model", "said", "lo", "mean", "hi", "off", "solve_s", "why")


def scenario(
    number: int, flow: str, law: str = "slotted", *, family: str = "grid", duration_s: float = 120, series: int = 0
) -> dict[str, Any]:
    """A random chain of 2 to 5 rates, and a flow alone on it; the chains of another `series` are others."""
    draw = dict(zip(FAMILIES, (_grid, _stretched, _small, _edges, _clocks), strict=True))[family]
    rng = np.random.default_rng([21 + FAMILIES.index(family), number, *([series] if series else [])])
    capacity, delay_ms, limit = draw(rng, law, by_packets="stack" in FLOWS[flow]["tcp"])
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
        # It only keeps instants from meeting, and is a few percent of a round trip.
        "flows": {"one": {"start_spread": "1 s", "jitter": f"{min(1.0, delay_ms / 40):g} ms"} | FLOWS[flow]},
    }


def _grid(rng: np.random.Generator, law: str, *, by_packets: bool) -> tuple[dict[str, Any], int, int]:
    """Capacity, delay [ms] and buffer [packets]."""
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


def _stretched(rng: np.random.Generator, law: str, *, by_packets: bool) -> tuple[dict[str, Any], int, int]:
    """The same, with rates drawn by their logarithms."""
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


def _small(rng: np.random.Generator, law: str, *, by_packets: bool) -> tuple[dict[str, Any], int, int]:
    """Few packets, and slots of which each may be another rate."""
    states = int(rng.integers(2, 6))
    fastest = rng.uniform(10, 60)
    pipes = np.append(fastest, fastest / np.exp(rng.uniform(0, np.log(_MOSTLY_APART), states - 1)))
    step_rtts = np.exp(rng.uniform(np.log(_STEPS[0]), np.log(_STEPS[1])))
    # Rates that last so long as models want, or more, where slots allow it.
    leave = np.minimum(1.0, step_rtts / _SHORTEST / np.exp(rng.uniform(0, np.log(6), states)))
    return _path(rng, pipes, leave, step_rtts, rng.uniform(max(12, fastest / 4), 40), law, by_packets)


def _edges(rng: np.random.Generator, law: str, *, by_packets: bool) -> tuple[dict[str, Any], int, int]:
    """The same, near the ends of ranges."""

    def near(least: float, most: float) -> float:
        """Mostly within a tenth of the range, by logarithms, of one of its ends."""
        share = rng.choice([rng.uniform(0, 0.1), rng.uniform(0.9, 1), rng.uniform(0, 1)])
        return float(least * (most / least) ** share)

    states = int(rng.integers(2, 6))
    fastest = near(10, 60)
    pipes = np.append(fastest, [fastest / near(1.1, _MOSTLY_APART) for _ in range(states - 1)])
    step_rtts = near(*_STEPS)
    leave = np.minimum(1.0, [step_rtts / near(_SHORTEST, 6 * _SHORTEST) for _ in range(states)])
    return _path(rng, pipes, leave, step_rtts, near(max(11.5, 0.25 * fastest), 40), law, by_packets)


def _clocks(rng: np.random.Generator, law: str, *, by_packets: bool) -> tuple[dict[str, Any], int, int]:
    """The same, of two rates that nearly alternate."""
    fastest = rng.uniform(10, 60)
    pipes = np.array([fastest, fastest / np.exp(rng.uniform(np.log(1.1), np.log(_MOSTLY_APART)))])
    leave = rng.uniform(0.6, 1, 2)
    room = rng.uniform(max(11.5, 0.25 * fastest), 15.5)
    return _path(rng, pipes, leave, rng.uniform(8.5, 10), room, law, by_packets)


def _path(
    rng: np.random.Generator, pipes: Any, leave: Any, step_rtts: float, room: float, law: str, by_packets: bool
) -> tuple[dict[str, Any], int, int]:
    """From packets in a round trip, and chances to leave a rate at the end of a slot of so many round trips."""
    delay_ms = int(rng.choice([20, 40, 80]))
    changes = _changes(rng, 1 - leave, elsewhere=True)
    if by_packets:
        # The papers' models count packets, and want rates that last.
        step_rtts *= 5
    capacity = _capacity(np.sort(pipes) * _MTU / delay_ms / 1e3, changes, step_rtts * delay_ms / 1e3, law)
    return capacity, delay_ms, round(room)


def _changes(rng: np.random.Generator, stay: Any, *, elsewhere: bool = False) -> Any:
    """A transition matrix whose states are kept so often, or, where the draw leads back, more often."""
    states = len(stay)
    others = rng.dirichlet(np.ones(states), states)
    if elsewhere:
        others[np.eye(states) > 0] = 0.0
        others /= others.sum(axis=1, keepdims=True)
    changes = stay[:, None] * np.eye(states) + (1 - stay)[:, None] * others
    changes = np.round(changes, 4)
    # What rounding took.
    column = changes.argmax(axis=1) if elsewhere else 0
    changes[np.arange(states), column] += 1 - changes.sum(axis=1)
    return np.round(changes, 4) if elsewhere else changes


def _capacity(rates: Any, changes: Any, step_s: float, law: str) -> dict[str, Any]:
    named = [f"{rate:.3f} Mbit/s" for rate in rates]
    if law == "slotted":
        return {"slotted-markov": {"rates": named, "step": f"{1000 * step_s:.6g} ms", "transitions": changes.tolist()}}
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
    below = said / found["lo"] - 1 if found["lo"] > 0 else 0.0  # nothing is below none
    return max(0.0, said / found["hi"] - 1) + min(0.0, below)


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
    parser.add_argument("--series", type=int, default=0, help="which chains of the family (default: 0)")
    parser.add_argument("--duration", type=float, default=120, help="of each run [s] (default: 120)")
    parser.add_argument("--out", type=Path, help="file for the rows, as CSV")
    asked = parser.parse_args()
    rows = []
    for flow in asked.flows:
        numbers = range(asked.first, asked.first + asked.chains)
        drawn = {
            "seeds": asked.seeds,
            "family": asked.family,
            "duration_s": asked.duration,
            "series": asked.series,
        }
        rows += [compared(number, flow, asked.law or LAWS[number % 2], **drawn) for number in numbers]
        print(f"{flow}: {asked.chains} chains", file=sys.stderr, flush=True)
        if asked.out:
            _write(asked.out, rows)
    print(*summarised(rows), sep="\n")


if __name__ == "__main__":
    main()
