"""The same dumbbell in varicap and in ns-2, run side by side.

    python tests/peers/peers.py [PATTERN …] [--seeds N]      prints the tables of docs/validation.md

A `Case` says once what both simulators do: `Case.scenario` writes it for varicap, `Case.ns2` for `dumbbell.tcl`.
ns-2's conventions are set in varicap's scenario, not the other way round: the stack `ns-2.35`, but no handshake
(`syn_ false`), an initial window of one packet, 1000 B of data in 1040 B, and no jitter unless the case says so.
"""

import argparse
import concurrent.futures
import dataclasses
import math
import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import varicap

DUMBBELL = Path(__file__).with_name("dumbbell.tcl")
PAYLOAD, HEADER = 1000, 40

# Two-sided 97.5 % points of Student's t for 1 … 30 degrees of freedom.
_T = [
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
]


@dataclass(frozen=True)
class Interval:
    """A mean with the half width of its 95 % interval."""

    mean: float
    half: float

    @staticmethod
    def of(values: list[float]) -> "Interval":
        n = len(values)
        mean = sum(values) / n
        if n == 1:
            return Interval(mean, 0.0)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
        return Interval(mean, _T[min(n - 1, len(_T)) - 1] * deviation / math.sqrt(n))

    def overlaps(self, other: "Interval") -> bool:
        """Whether the two means could be one: their difference is within its own interval."""
        return abs(self.mean - other.mean) <= math.hypot(self.half, other.half)


@dataclass(frozen=True)
class Flow:
    """A TCP flow, or datagrams (`variant` is then `poisson` or `cbr`)."""

    variant: str = "newreno"
    count: int = 1
    start: float = 0.0
    spread: float = 0.0
    access: float = 0.0
    packets: int = 0
    rate: str = ""


@dataclass(frozen=True)
class Case:
    """What both simulators run.  Times are in seconds, rates as both read them, such as `1.5Mb`."""

    name: str
    flows: tuple[Flow, ...] = (Flow(),)
    rate: str = "1.5Mb"
    delay: str = "30ms"
    limit: int = 20
    red: dict[str, Any] | None = None
    loss: float = 0.0
    steps: tuple[tuple[float, float], ...] = ()
    markov: tuple[float, float, float] | None = None
    """Two rates [b/s] and their mean holding time: each seed has a path of its own, the same in both simulators."""
    delayed: bool = False
    jitter: float = 0.0
    warmup: float = 10.0
    stop: float = 60.0
    seeds: int = 10
    tick: float = 0.01
    minimum_rto: float = 0.2
    initial_window: int = 1
    tcp: dict[str, Any] = field(default_factory=dict)
    """Keys of varicap's `[tcp]` that differ from ns-2's conventions as set below."""
    ns2_tcp: dict[str, Any] = field(default_factory=dict)

    def each(self, seeds: int | None) -> "list[tuple[Case, int]]":
        """The runs to make: a case and how many seeds of it."""
        seeds = seeds or self.seeds
        if self.markov is None:
            return [(self, seeds)]
        return [(dataclasses.replace(self, steps=self._path(seed)), 1) for seed in range(seeds)]

    def _path(self, seed: int) -> tuple[tuple[float, float], ...]:
        assert self.markov is not None
        *rates, holding = self.markov
        draws, time, state = random.Random(seed), 0.0, 0
        path = []
        while time < self.stop:
            path.append((round(time, 6), rates[state]))
            time, state = time + draws.expovariate(1 / holding), 1 - state
        return tuple(path)

    def scenario(self) -> dict[str, Any]:
        """For varicap."""
        queue: dict[str, Any] = {"drop-tail": {"limit": f"{self.limit} packets", "counts_in_service": True}}
        if self.red is not None:
            queue = {"red": {"limit": f"{self.limit} packets", "mean_packet": "1000 B"} | self.red}
        capacity: Any = _spaced(self.rate)
        if self.steps:
            at = [f"{time:.9f} s" for time, _ in self.steps]
            capacity = {"steps": {"at": at, "rates": [f"{rate:.0f} bit/s" for _, rate in self.steps]}}
        forward: dict[str, Any] = {"capacity": capacity, "delay": _spaced(self.delay), "queue": queue}
        forward["service"] = "at-start"
        if self.loss:
            forward["loss"] = {"bernoulli": self.loss}
        tcp: dict[str, Any] = {
            "stack": "ns-2.35",
            "handshake": False,
            "initial_window": f"{self.initial_window} packets",
            "mss": f"{PAYLOAD} B",
            "header": f"{HEADER} B",
            "ack": "delayed" if self.delayed else "every",
            "timer": {"ticks": {"tick": f"{self.tick} s", "minimum_ticks": round(self.minimum_rto / self.tick)}},
        } | self.tcp
        return {
            "name": "peer",
            "duration": f"{self.stop} s",
            "warmup": f"{self.warmup} s",
            "tcp": tcp,
            "topology": {"dumbbell": {"forward": forward, "reverse": {"delay": _spaced(self.delay)}}},
            "flows": {f"f{index}": self._flow(flow) for index, flow in enumerate(self.flows)},
        }

    def _flow(self, flow: Flow) -> dict[str, Any]:
        common: dict[str, Any] = {"count": flow.count, "start": f"{flow.start} s"}
        if flow.rate:
            spacing = "poisson" if flow.variant == "poisson" else "constant"
            return common | {"datagrams": {"rate": _spaced(flow.rate), "size": "1000 B", "spacing": spacing}}
        common |= {"start_spread": f"{flow.spread} s", "access_delay": f"{flow.access} s", "jitter": f"{self.jitter} s"}
        if flow.packets:
            common["app"] = {"transfer": {"size": f"{flow.packets * PAYLOAD} B"}}
        return common | {"tcp": {"recovery": flow.variant}}

    def ns2(self, seed: int) -> list[str]:
        """The arguments of `dumbbell.tcl`."""
        flows = []
        for flow in self.flows:
            if flow.rate:
                one = f"{{{flow.variant} {flow.rate} {flow.start}}}"
            else:
                one = f"{{tcp {flow.variant} {flow.start} {flow.spread} {flow.access} {flow.packets}}}"
            flows += [one] * flow.count
        options: dict[str, Any] = {
            "flows": " ".join(flows),
            "rate": self.rate,
            "delay": self.delay,
            "limit": self.limit,
            "loss": self.loss,
            "steps": " ".join(f"{time:.9f} {rate:.0f}" for time, rate in self.steps),
            "delack": int(self.delayed),
            "jitter": self.jitter,
            "warmup": self.warmup,
            "stop": self.stop,
            "tick": self.tick,
            "minrto": self.minimum_rto,
            "initial_window": self.initial_window,
            "seed": seed,
            "tcp": " ".join(f"{key} {value}" for key, value in self.ns2_tcp.items()),
        }
        if self.red is not None:
            options |= {"queue": "RED", "red": _ns2_red(self.red)}
        return [str(item) for pair in options.items() for item in pair]


def _spaced(quantity: str) -> str:
    """`1.5Mb` as `1.5 Mbit/s`, `30ms` as `30 ms`."""
    number, unit = re.fullmatch(r"([\d.]+)([a-zA-Z]+)", quantity).groups()  # type: ignore[union-attr]
    return f"{number} {unit}it/s" if unit.endswith("b") else f"{number} {unit}"


def _ns2_red(red: dict[str, Any]) -> str:
    """varicap's RED parameters in ns-2's words; what is not given has varicap's default."""
    in_bytes = red.get("min_threshold", "5 packets").endswith("B")

    def packets(key: str, default: str) -> float:
        number, unit = red.get(key, default).split()
        return float(number) / {"packets": 1, "B": 1000, "kB": 1}[unit]

    words = {
        "bytes_": str(in_bytes).lower(),
        "queue_in_bytes_": str(in_bytes).lower(),
        "thresh_": packets("min_threshold", "5 packets"),
        "maxthresh_": packets("max_threshold", "15 packets"),
        "q_weight_": red.get("weight", 0.002),
        "linterm_": 1 / red.get("max_probability", 0.1),
        "gentle_": str(red.get("gentle", False)).lower(),
        "wait_": str(red.get("spacing", "wait") == "wait").lower(),
        "setbit_": "false",
        "mean_pktsize_": 1000,
    }
    return " ".join(f"{key} {value}" for key, value in words.items())


@dataclass(frozen=True)
class Outcome:
    """What one simulator says of a case: a list of a value per seed for each measure."""

    values: dict[str, list[float]]

    def __getitem__(self, measure: str) -> Interval:
        return Interval.of(self.values[measure])


def run_varicap(case: Case, seeds: int | None = None, jobs: int | None = None) -> Outcome:
    """Goodput [b/s] of each group, timeouts, and the ratio of packets that the queue dropped."""
    values: dict[str, list[float]] = {}
    for run, count in case.each(seeds):
        _collect(run, varicap.run(run.scenario(), seeds=count, jobs=jobs), values)
    return Outcome(values)


def _collect(case: Case, result: varicap.Result, values: dict[str, list[float]]) -> None:
    flows, links = result.flows.to_pylist(), result.links.to_pylist()
    for replication in range(result.runs):
        mine = [row for row in flows if row["replication"] == replication]
        link = next(row for row in links if row["replication"] == replication and row["name"] == "forward")
        for index, flow in enumerate(case.flows):
            group = [row for row in mine if row["group"] == f"f{index}"]
            if not flow.rate:
                values.setdefault(f"goodput.{index}", []).append(sum(row["goodput_bps"] for row in group))
                values.setdefault(f"timeouts.{index}", []).append(sum(row["timeouts"] for row in group))
            if flow.packets:
                values.setdefault(f"fct.{index}", []).append(group[0]["fct_mean_ms"] / 1e3)
        if case.loss:
            continue  # ns-2's monitor counts what the channel loses, too
        dropped = link["overflowed_packets"] + link["aqm_dropped_packets"]
        values.setdefault("dropped", []).append(dropped / max(link["offered_packets"], 1))


def run_ns2(case: Case, seeds: int | None = None) -> Outcome:
    """The same of ns-2."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [(run, seed + 1) for run, count in case.each(seeds) for seed in range(count)]
        rows = list(pool.map(lambda run: _ns2_once(*run), runs))
    return Outcome({measure: [row[measure] for row in rows] for measure in rows[0]})


def _ns2_once(case: Case, seed: int) -> dict[str, float]:
    done = subprocess.run(["ns", str(DUMBBELL), *case.ns2(seed)], capture_output=True, text=True, check=True)
    values: dict[str, float] = {}
    group = [index for index, flow in enumerate(case.flows) for _ in range(flow.count)]
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] == "flow":
            index, row = group[int(words[1])], dict(zip(words[2::2], map(float, words[3::2]), strict=True))
            for measure, key in (("goodput", "goodput_bps"), ("timeouts", "timeouts")):
                name = f"{measure}.{index}"
                values[name] = values.get(name, 0.0) + row[key]
            if case.flows[index].packets:
                # ns-2 ends with the last acknowledgement, varicap with the last byte at the receiver.
                values[f"fct.{index}"] = row["finished"] - case.flows[index].start - float(case.delay[:-2]) / 1e3
        elif words[0] == "link" and not case.loss:
            row = dict(zip(words[1::2], map(float, words[2::2]), strict=True))
            values["dropped"] = row["pdrops_"] / max(row["parrivals_"], 1)
    return values


def ns2_is_here() -> bool:
    """Whether there is an ns-2 to compare with."""
    return shutil.which("ns") is not None


def compare(case: Case, seeds: int | None = None) -> list[str]:
    """Rows of a table: case, measure, varicap, ns-2, difference."""
    ours, theirs = run_varicap(case, seeds), run_ns2(case, seeds)
    rows = []
    for measure in ours.values:
        a, b = ours[measure], theirs[measure]
        if measure.startswith("goodput"):
            scale, unit, digits = 1e-3, "kb/s", 1
        elif measure.startswith("fct"):
            scale, unit, digits = 1, "s", 4
        elif measure == "dropped":
            scale, unit, digits = 100, "%", 3
        else:
            scale, unit, digits = 1, "", 1
        gap = f"{100 * (a.mean / b.mean - 1):+.1f} %" if b.mean else ("same" if a.mean == b.mean else "new")
        mark = "" if a.overlaps(b) else " *"
        cells = [f"{x.mean * scale:.{digits}f} ± {x.half * scale:.{digits}f}" for x in (a, b)]
        rows.append(f"| {case.name} | {measure} {unit} | {cells[0]} | {cells[1]} | {gap}{mark} |")
    return rows


REDS: dict[str, dict[str, Any]] = {
    "wait": {},
    "wait, gentle": {"gentle": True},
    "uniform": {"spacing": "uniform"},
    "uniform, gentle": {"spacing": "uniform", "gentle": True},
    "wait, bytes": {"min_threshold": "5 kB", "max_threshold": "15 kB"},
}
VARIANTS = ("tahoe", "reno", "newreno", "sack")


def cases() -> list[Case]:
    """All cases of docs/validation.md."""
    found = []
    for variant in VARIANTS:
        for delayed in (False, True):
            policy = "delayed" if delayed else "every"
            found.append(
                Case(f"fixed/{variant}/{policy}", (Flow(variant),), delayed=delayed, seeds=1, warmup=20, stop=320)
            )
    for p in (0.001, 0.01, 0.03, 0.05, 0.1):
        for variant in VARIANTS:
            for delayed in (False, True):
                policy = "delayed" if delayed else "every"
                found.append(
                    Case(
                        f"loss/{100 * p:g}%/{variant}/{policy}",
                        (Flow(variant),),
                        rate="100Mb",
                        limit=10000,
                        loss=p,
                        delayed=delayed,
                        stop=410,
                    )
                )
    for ratio in (2, 5):
        both = (Flow("sack", spread=1), Flow("sack", spread=1, access=0.03 * (ratio - 1)))
        shared = Case(f"rtt/1:{ratio}", both, stop=310, jitter=0.0055)
        found += [
            dataclasses.replace(shared, name=f"{shared.name}/drop-tail"),
            dataclasses.replace(shared, name=f"{shared.name}/red", limit=50, red={}),
        ]
    for variant in ("newreno", "sack"):
        for holding in (0.2, 2.0):
            found.append(
                Case(f"markov/{holding:g}s/{variant}", (Flow(variant),), markov=(2e6, 0.5e6, holding), stop=310)
            )
    for load in ("poisson 1.2Mb", "poisson 1.5Mb", "poisson 1.8Mb", "cbr 1.65Mb"):
        kind, rate = load.split()
        for name, red in REDS.items():
            found.append(Case(f"red/{load}/{name}", (Flow(kind, rate=rate),), limit=50, red=red, stop=310))
    for count in (1, 4, 16):
        for name, red in REDS.items():
            flows = (Flow("sack", count=count, spread=1),)
            found.append(Case(f"red/{count} flows/{name}", flows, limit=50, red=red, stop=160))
    for count in (50, 100):
        for variant in ("newreno", "sack"):
            for limit in (25, 100):
                flows = (Flow(variant, count=count, spread=1),)
                found.append(
                    Case(
                        f"many/{count}/{limit} packets/{variant}",
                        flows,
                        rate="10Mb",
                        delay="20ms",
                        limit=limit,
                        jitter=0.000832,
                        stop=110,
                    )
                )
    for packets in (10, 100, 1000):
        for delayed in (False, True):
            policy = "delayed" if delayed else "every"
            flows = (Flow("sack", packets=packets),)
            short = Case(f"short/{packets} kB/{policy}", flows, limit=10000, delayed=delayed, seeds=1, warmup=0)
            found.append(short)
            found.append(
                dataclasses.replace(short, name=f"{short.name}/2% loss", rate="10Mb", loss=0.02, seeds=200, stop=120)
            )
    return found


def main() -> None:
    """Compare the cases whose names match any of the patterns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("patterns", nargs="*", default=[""])
    parser.add_argument("--seeds", type=int)
    arguments = parser.parse_args()
    for case in cases():
        if any(re.search(pattern, case.name) for pattern in arguments.patterns):
            print("\n".join(compare(case, arguments.seeds)), flush=True)


if __name__ == "__main__":
    main()
