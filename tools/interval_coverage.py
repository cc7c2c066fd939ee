"""How often the 95 % intervals of result columns have the true mean: the table of docs/background/statistics.md.

Each scenario is run many times; the mean of all its runs counts as the true one.  Then batches of ten runs are drawn
from them, and the intervals counted that have it: Student's, ours, and ours of 5, 20 and 30 runs.

    python tools/interval_coverage.py                    # the table, a few minutes
    python tools/interval_coverage.py --runs 500 full    # fewer runs, of one scenario
    python tools/interval_coverage.py --precision        # runs added until intervals are narrow (`--precision`)
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import typer

import varicap
from varicap.engines.precision import more_runs
from varicap.results.summary import chances_of, range_of
from varicap.statistics import Array, intervals

RUNS, BATCHES = 3000, 2000
SEEDS = 10


def _scenario(capacity: Any, flows: Mapping[str, Any], *, packets: int, seconds: int = 20, **link: Any) -> Any:
    queue = {"drop-tail": {"limit": f"{packets} packets"}}
    forward = {"capacity": capacity, "delay": "20 ms", "queue": queue} | link
    settled = f"{seconds // 5} s"
    return {
        "duration": f"{seconds} s",
        "warmup": settled,
        "topology": {"dumbbell": {"forward": forward}},
        "flows": flows,
    }


def _markov(rates: list[str], mean_holding: list[str]) -> dict[str, Any]:
    return {"markov": {"rates": rates, "mean_holding": mean_holding}}


def _tcp(congestion: str, **more: Any) -> dict[str, Any]:
    return {"tcp": {"congestion": congestion}, **more}


def _web(size: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"web": _tcp("cubic", app={"arrivals": {"rate": "2/s", "size": size, **more}})}


SCENARIOS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "Markov link, Reno": (
        _scenario(_markov(["2 Mbit/s", "0.5 Mbit/s"], ["1 s", "1 s"]), {"f": _tcp("reno")}, packets=20),
        (
            "goodput_bps",
            "goodput_of_capacity",
            "retransmitted_packets",
            "rtt_mean_ms",
            "utilisation",
            "sojourn_mean_ms",
        ),
    ),
    "Markov link, CUBIC": (
        _scenario(_markov(["2 Mbit/s", "0.5 Mbit/s"], ["1 s", "1 s"]), {"f": _tcp("cubic")}, packets=20),
        ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "utilisation", "loss_ratio", "sojourn_p95_ms"),
    ),
    "nearly full": (
        _scenario("2 Mbit/s", {"f": _tcp("reno")}, packets=20, seconds=10, loss={"bernoulli": 0.002}),
        ("goodput_bps", "retransmitted_packets", "timeouts", "utilisation"),
    ),
    "half full": (
        _scenario("4 Mbit/s", {"f": _tcp("cubic")}, packets=40, delay="40 ms", loss={"bernoulli": 0.01}),
        ("goodput_bps", "rtt_mean_ms", "cwnd_mean_packets", "utilisation", "dropped_packets"),
    ),
    "2 % lost": (
        _scenario("4 Mbit/s", {"f": _tcp("reno")}, packets=30, seconds=15, loss={"bernoulli": 0.02}),
        ("goodput_bps", "timeouts", "rtt_mean_ms", "rtt_p95_ms", "loss_ratio", "sojourn_mean_ms", "sojourn_p95_ms"),
    ),
    "outages": (
        _scenario(_markov(["3 Mbit/s", "0 bit/s"], ["3 s", "0.3 s"]), {"f": _tcp("cubic")}, packets=20),
        ("goodput_bps", "timeouts", "rtt_p95_ms", "utilisation", "capacity_at_min", "dropped_packets"),
    ),
    "two flows": (
        _scenario("4 Mbit/s", {"f": _tcp("cubic", count=2, start_spread="1 s")}, packets=20),
        ("jain_index", "timeouts", "retransmitted_packets"),
    ),
    "Pareto sizes": (
        _scenario("4 Mbit/s", _web({"pareto": {"mean": "100 kB", "shape": 1.5}}), packets=30, seconds=40),
        ("goodput_bps", "timeouts", "fct_mean_ms", "fct_p50_ms", "fct_p95_ms", "utilisation"),
    ),
    "equal sizes": (
        _scenario("4 Mbit/s", _web({"fixed": "100 kB"}), packets=30, seconds=40),
        ("transfers", "timeouts", "fct_mean_ms", "fct_p50_ms", "fct_p95_ms"),
    ),
    "rarely too many": (
        _scenario("4 Mbit/s", _web({"fixed": "100 kB"}, at_most=4), packets=30, seconds=40),
        ("missing_transfers", "offered_transfers"),
    ),
    "a camera": (
        _scenario(
            _markov(["3 Mbit/s", "0.3 Mbit/s"], ["6 s", "0.3 s"]),
            {"camera": {"datagrams": {"rate": {"real-time": {}}}}},
            packets=60,
        ),
        ("late",),
    ),
    "a video": (
        _scenario(
            _markov(["3 Mbit/s", "0.1 Mbit/s"], ["15 s", "3 s"]),
            {"tv": _tcp("cubic", app="video")},
            packets=60,
            seconds=60,
        ),
        ("rebuffering",),
    ),
}
"""By name, what is run, and the columns that are counted."""


def pool(name: str, runs: int = RUNS) -> Iterator[tuple[str, Array]]:
    """The columns of a scenario, each with its values in so many runs."""
    scenario, columns = SCENARIOS[name]
    result = varicap.run(scenario, seeds=runs, seed=1)
    for column in columns:
        table = next(each for each in (result.groups, result.flows, result.links) if _has(each, column))
        yield (
            column,
            np.asarray(table[column].to_numpy(), np.float64)[: runs * (table.num_rows // runs)].reshape(runs, -1)[:, 0],
        )


def _has(table: Any, column: str) -> bool:
    """Whether a table has the column; that of groups is empty where a group has one flow."""
    return bool(table.num_rows) and column in table.column_names


def student(values: Array) -> tuple[Array, Array]:
    """The ends of Student's interval, of batches of shape (batches, runs)."""
    from scipy.special import stdtrit

    count = values.shape[1]
    half = stdtrit(count - 1, 0.975) * values.std(axis=1, ddof=1) / count**0.5
    return values.mean(axis=1) - half, values.mean(axis=1) + half


def ours(values: Array, column: str, counted: Array | None = None) -> tuple[Array, Array]:
    """The ends of our interval, of batches of shape (batches, runs); `counted` are the chances that a column counts."""
    chances = chances_of(column)
    if isinstance(chances, str):
        chances = 1.0 if counted is None else counted.mean(axis=1)
    _, low, high = intervals(values, range_of(column), chances=chances)
    return low, high


def batches(values: Array, size: int, count: int = BATCHES) -> Array:
    """So many batches of so many runs, drawn from a pool."""
    return values[np.random.default_rng(size).integers(0, len(values), (count, size))]


def covered(ends: tuple[Array, Array], values: Array) -> float:
    """The share of intervals that have the mean of the pool."""
    mean = values.mean()
    slack = 1e-12 * abs(mean)  # rounding of sums
    return float(((ends[0] - slack <= mean) & (mean <= ends[1] + slack)).mean())


def until(values: Array, column: str, precision: float, rng: np.random.Generator, most: int = 2000) -> tuple[bool, int]:
    """Whether the interval has the mean when runs were added until it is narrow enough, and how many there are."""
    drawn = values[rng.integers(0, len(values), most)]
    runs = SEEDS
    while True:
        mean, low, high = (float(each[0]) for each in intervals(drawn[None, :runs], range_of(column)))
        more = more_runs(max(high - mean, mean - low) / mean, precision, runs)
        if more == 0 or runs == most:
            return low <= values.mean() <= high, runs
        runs = min(runs + more, most)


def main(
    names: Annotated[list[str] | None, typer.Argument()] = None,
    runs: int = RUNS,
    precision: bool = False,
) -> None:
    """Print the table, a row for each scenario and column."""
    chosen = names or list(SCENARIOS)
    if precision:
        print("| scenario | column | asked | runs | coverage [%] |\n|---|---|---|---|---|")
        for name, column, share in PRECISIONS:
            if name not in chosen:
                continue
            values = dict(pool(name, runs))[column]
            rng = np.random.default_rng(1)
            found = np.array([until(values, column, share, rng) for _ in range(BATCHES)])
            covers, count = found.mean(axis=0)
            print(f"| {name} | `{column}` | {100 * share:g} % | {count:.0f} | {100 * covers:.1f} |", flush=True)
        return
    print("| scenario | column | range | Student's [%] | ours [%] | width | 5 runs | 20 | 30 |\n" + "|---" * 9 + "|")
    for name in chosen:
        pools = dict(pool(name, runs))
        for column, values in pools.items():
            # The same runs are drawn of both.
            counts = pools.get(str(chances_of(column)))

            def interval(
                size: int, values: Array = values, column: str = column, counts: Array | None = counts
            ) -> tuple[Array, Array]:
                return ours(batches(values, size), column, None if counts is None else batches(counts, size))

            ten = batches(values, SEEDS)
            low, high = interval(SEEDS)
            old = student(ten)
            widths = float(np.median(high - low)), float(np.median(old[1] - old[0]))
            others = [covered(interval(size), values) for size in (5, 20, 30)]
            shares = [covered(old, values), covered((low, high), values)]
            width = f"{widths[0] / widths[1]:.2f}" if widths[1] else "–"
            cells = [name, f"`{column}`", range_of(column), *(f"{100 * one:.1f}" for one in shares), width]
            print("| " + " | ".join([*cells, *(f"{100 * one:.1f}" for one in others)]) + " |", flush=True)


PRECISIONS = (
    ("Markov link, Reno", "goodput_bps", 0.05),
    ("half full", "goodput_bps", 0.03),
    ("nearly full", "goodput_bps", 0.005),
    ("nearly full", "utilisation", 0.002),
    ("Pareto sizes", "goodput_bps", 0.1),
    ("Pareto sizes", "utilisation", 0.15),
)
"""Scenarios, their columns and how narrow their intervals shall be, for `--precision`."""

if __name__ == "__main__":
    typer.run(main)
