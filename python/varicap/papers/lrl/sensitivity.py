"""Beyond the paper: some of its figures under each reading of what it leaves open."""

from functools import partial

from varicap.papers.lrl.link import FORWARD, REVERSE, Setting, interval, measure
from varicap.papers.lrl.panels import bars
from varicap.papers.run import Grid, Outcome, Run
from varicap.statistics import Array


def _both(key: str, value: str) -> dict[str, str]:
    return {f"{link}.{key}": value for link in (FORWARD, REVERSE)}


_CONTROL = "capacity.load-reactive"
VARIANTS: dict[str, dict[str, str]] = {
    "as reproduced": {},
    "window 32": {"tcp.max_window": "32 packets"},
    "window 64": {"tcp.max_window": "64 packets"},
    "window 128": {"tcp.max_window": "128 packets"},
    "Reno": {"tcp.recovery": "reno"},
    "NewReno": {"tcp.recovery": "newreno"},
    "SACK": {"tcp.recovery": "sack"},
    "SACK, window 64": {"tcp.recovery": "sack", "tcp.max_window": "64 packets"},
    "a loss halves the flight (RFC 5681)": {"tcp.halving": "flight-size"},
    "ACK for each packet": {"tcp.ack": "every"},
    "drop-tail of 50 packets": _both("queue", '{ drop-tail = { limit = "50 packets" } }'),
    "gentle RED": _both("queue.red.gentle", "true"),
    "RED, uniform spacing": _both("queue.red.spacing", "uniform"),
    "thresholds not strict": _both(f"{_CONTROL}.control.hysteresis.strict", "false"),
    "packet in service counts": _both(f"{_CONTROL}.counts_in_service", "true"),
    "mean of the interval": _both(f"{_CONTROL}.occupancy", "mean"),
    "samples every 50 ms": _both(f"{_CONTROL}.interval", "50 ms"),
    "rate follows at once (fluid)": _both("service", "fluid"),
    "first RTO 3 s": {"tcp.timer.ticks.initial": "3 s"},
    "acknowledgements outside the control": _both(f"{_CONTROL}.control_packets", "outside"),
    "starts with a sample": {"flows.tcp.start_spread": "0 s"},
    "starts with a sample, no jitter": {"flows.tcp.start_spread": "0 s", "flows.tcp.jitter": "0 s"},
}
"""What replaces our reading, by name."""
FIG3, FIG7, FIG8, FIG10 = Setting(2, 6, 20), Setting(1, 3, 0), Setting(1, 17, 20), Setting(4, 8, 50, flows=16)


def reproduce(run: Run) -> Outcome:
    """A row for each reading."""
    rows = {name: _row(run, changes) for name, changes in VARIANTS.items()}
    grid = Grid(
        "Readings: Fig. 3, Fig. 7 at 3000 B, Fig. 8 at 17000 B, Fig. 10 with 16 flows at c0 = 50 kb/s",
        "kb/s, or times",
        "what is shown",
        [
            "Fig. 3: throughput",
            "Fig. 7: capacity, most",
            "Fig. 8: throughput",
            "Fig. 8: closures",
            "Fig. 10: throughput",
        ],
        {name: [interval(value) for value in row] for name, row in rows.items()},
    )
    shown = [
        ("Fig. 3", [interval(row[0]) for row in rows.values()]),
        ("Fig. 8, 17000 B", [interval(row[2]) for row in rows.values()]),
    ]
    return Outcome({}, partial(bars, "What each reading does", list(VARIANTS), shown, "throughput [kb/s]"), [grid])


def _row(run: Run, changes: dict[str, str]) -> list[Array]:
    fig8 = measure(run, FIG8, changes)
    plain = {"record.series": "false"} | changes
    return [
        measure(run, FIG3, plain).throughput,
        measure(run, FIG7, plain).link("forward", "capacity_max_bps") / 1e3,
        fig8.throughput,
        fig8.forward.closures(FIG8.c0),
        measure(run, FIG10, plain).throughput,
    ]
