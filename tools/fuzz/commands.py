"""Command lines as users mistype them: traces, designs and scenarios, with options that are wrong now and then."""

import random
from collections.abc import Callable
from pathlib import Path

SCENARIO = """\
duration = "{duration}"
seeds = 2
[topology.dumbbell.forward]
capacity = {capacity}
delay = "5 ms"
queue = {{ drop-tail = {{ limit = "20 packets" }} }}
[flows.a]
[flows.b.tcp]
congestion = "cubic"
"""
CAPACITIES = ['"1 Mb/s"', '{ trace = { file = "t.csv" } }', '{ opportunities = { file = "t.down" } }', '"0 b/s"', '"x"']
LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
DELAY = "topology.dumbbell.forward.delay"
SPANS = ["0 s", "1 ns", "10 ms", "100 ms", "1 s", "1 h", "-1 s", "x", ""]
RANGES = [f"{LIMIT}=2..30 packets", f"{LIMIT}=10 packets,20 packets", f"{DELAY}=1 ms..20 ms", f"{LIMIT}=30..2 packets"]
ODD_RANGES = [
    f"{LIMIT}=1..x",
    f"{LIMIT}=",
    LIMIT,
    "",
    "=..",
    "a.b=1..2",
    f"{DELAY}=..5 ms",
    "seed=1..3",
    f"{DELAY}=5 ms..5 ms",
]
COLUMNS = ["goodput_bps", "rtt_p95_ms", "forward.utilisation", "limit", "a.timeouts", "qoe_bps", "x", "", "flow"]
DEMANDS = [
    "forward.utilisation >= 50 %",
    "rtt_p95_ms <= 90 ms",
    "goodput_bps >= 1 kb/s",
    "x > 1",
    "loss_ratio <=",
    "nan",
]


def arguments(rng: random.Random, trace: str) -> list[str]:
    """The arguments of a command; `trace` is the name of a trace in the folder, beside `scenario.toml`."""
    return rng.choice(COMMANDS)(rng, trace)


def write_scenario(rng: random.Random, folder: Path, damage: Callable[[bytes], bytes]) -> None:
    """A scenario of two flows, sometimes of the briefest, and sometimes damaged."""
    duration = rng.choice(["300 ms", "1 s", "1 s", "10 ms", "1 ns"])
    text = SCENARIO.format(duration=duration, capacity=rng.choice(CAPACITIES)).encode()
    (folder / "scenario.toml").write_bytes(damage(text) if rng.random() < 0.2 else text)


def _some(rng: random.Random, *options: list[str]) -> list[str]:
    """Some of these options."""
    return [word for option in options if rng.random() < 0.35 for word in option]


def _describe(rng: random.Random, trace: str) -> list[str]:
    return ["trace", "info", trace, *_some(rng, ["--json"], [trace])]


def _convert(rng: random.Random, trace: str) -> list[str]:
    to = rng.choice(["o.csv", "o.down", "bw_9.txt", "b.txt", "o", "none/o.csv"])
    formats = ["--to", rng.choice(["csv", "mahimahi", "leoreplayer", "x"])]
    spans = [["--step", rng.choice(SPANS)], ["--delay", rng.choice(SPANS)]]
    return ["trace", "convert", trace, "-o", to, *_some(rng, formats, *spans, ["--json"])]


def _fit(rng: random.Random, trace: str) -> list[str]:
    options = [
        ["--slot", rng.choice(SPANS)],
        ["--states", rng.choice(["1", "2", "3", "50", "0", "x"])],
        ["--law", rng.choice(["slotted", "continuous", "x"])],
        ["--held-out", rng.choice(["0", "0.5", "0.25", "0.6", "nan"])],
        ["--simulations", rng.choice(["0", "2"])],
        ["--like", rng.choice(["lte", "leo", "x"])],
        ["--interval", rng.choice(SPANS)],
        ["-o", rng.choice(["fit.toml", "none/fit.toml"])],
        ["--figure", rng.choice(["fit.png", "fit.x"])],
        ["--json"],
    ]
    return ["trace", "fit", trace, *_some(rng, *options)]


def _design(rng: random.Random, trace: str) -> list[str]:
    ranges = [rng.choice(RANGES if rng.random() < 0.8 else ODD_RANGES) for _ in range(rng.choice([1, 1, 2]))]
    words = [word for each in ranges for word in ("--vary", each)]
    words += [rng.choice(["--minimise", "--maximise"]), rng.choice(COLUMNS[:5] if rng.random() < 0.8 else COLUMNS)]
    words += _some(rng, ["--subject-to", rng.choice(DEMANDS)], ["--no-models"], ["--json"], ["--plot"])
    limits = ["--budget", rng.choice(["4", "8"]), "--seeds", "2", "-j", "1", "--time", rng.choice(["2 s", "2 s", "x"])]
    return ["design", "scenario.toml", *words, *limits, "-q"]


def _ask(rng: random.Random, trace: str) -> list[str]:
    """One of the commands about a scenario."""
    short = [["--seeds", "1"], ["--set", rng.choice([f"{DELAY}=2 ms", "x=1", "duration=", "flows.a.start=0.1 s"])]]
    return rng.choice(
        [
            ["check", "scenario.toml"],
            ["run", "scenario.toml", "--explain"],
            ["run", "scenario.toml", "--engine", "model", *_some(rng, *short[1:])],
            [
                "run",
                "scenario.toml",
                "-q",
                "-j",
                "1",
                *_some(rng, *short, ["--series"], ["--no-plot"], ["--pcap", "p"]),
            ],
            ["compare", "scenario.toml", "-q", "-j", "1", "--engine", "sim", "--engine", "model", *_some(rng, *short)],
        ]
    )


def on_results(rng: random.Random, folder: str) -> list[str]:
    """A command on a folder of results."""
    some = _some(rng, ["--run", rng.choice(["0", "1", "2", "x"])])
    return rng.choice(
        [
            ["report", folder, "-q", "-o", rng.choice(["page.html", "none/page.html"]), *some],
            ["plot", folder, "-q", "-o", rng.choice(["plot.png", "plot.svg", "plot.x"]), *some],
            ["export", folder, "--to", rng.choice(["iperf3", "mahimahi", "x"]), *_some(rng, ["-o", "exported"])],
            ["table", folder],
            ["replay", f"{folder}/manifest.json"],
        ]
    )


RUN = ["run", "scenario.toml", "-q", "-j", "1", "--no-plot", "-o", "results"]
COMMANDS = (_describe, _convert, _fit, _fit, _design, _design, _ask)
