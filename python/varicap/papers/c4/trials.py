"""Trials of draft-huitema-ccwg-c4-test: how many downloads complete in the time that a test allows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

CONTROLS = ("cubic", "bbr", "bbr3")
_RUNS = 100
_SPREAD = "10 ms"
"""Within which a download begins: where nothing is random, a hundred trials would be one."""


@dataclass(frozen=True)
class Test:
    """A path, the downloads on it, and the time that is allowed."""

    seconds: float
    """From the beginning of the trial until the main download is complete."""
    size: str = "10 MB"
    rate: str = '"20 Mbit/s"'
    round_trip_ms: float = 80.0
    delay: str = ""
    """Of the forward link, if it is no constant."""
    buffer: str = "133 packets"
    background: str = ""
    """Size of the other download; empty if there is none."""
    start_s: tuple[float, float] = (0.0, 0.0)
    """When the main and the other download begin [s]."""
    more: Mapping[str, str] = field(default_factory=dict)


_WIFI = '{ wifi = { delay = "1 ms", jitter = "7 ms" } }'
"""The jitter of bad Wi-Fi, on the way of the data."""
_BAD_WIFI = Test(4.3, "4 MB", '"10 Mbit/s"', 2.0, _WIFI, buffer="208 packets")
_LONG = Test(22.8, "30 MB", background="20 MB")
_LATER = Test(22.2, "15 MB", '"10 Mbit/s"', 70.0, buffer="66 packets", background="10 MB", start_s=(0.0, 1.0))

EVENTS: dict[str, Test] = {
    "alone": Test(5.0),
    "alone-200": Test(1.25, "20 MB", '"200 Mbit/s"', 40.0, buffer="1333 packets"),
    "satellite": Test(7.4, "100 MB", '"250 Mbit/s"', 600.0, buffer="12500 packets"),
    "satellite-resume": Test(
        7.4,
        "100 MB",
        '"250 Mbit/s"',
        600.0,
        buffer="12500 packets",
        more={"flows.main.tcp.initial_window": '"18750000 B"'},
    ),
    "low-and-up": Test(
        7.9,
        "7 MB",
        '{ steps = { at = ["0 s", "2.5 s"], rates = ["5 Mbit/s", "10 Mbit/s"] } }',
        100.0,
        buffer="66 packets",
    ),
    "drop-and-back": Test(
        8.15,
        "7 MB",
        '{ steps = { at = ["0 s", "1.5 s", "3.5 s"], rates = ["10 Mbit/s", "5 Mbit/s", "10 Mbit/s"] } }',
        100.0,
        buffer="66 packets",
    ),
    "black-hole": Test(
        6.1,
        "10 MB",
        '{ steps = { at = ["0 s", "2 s", "4 s"], rates = ["25 Mbit/s", "0 Mbit/s", "25 Mbit/s"] } }',
        70.0,
        buffer="166 packets",
    ),
    "short-to-long": Test(
        22.0,
        "20 MB",
        '"10 Mbit/s"',
        30.0,
        '{ steps = { at = ["0 s", "1 s"], delays = ["15 ms", "185 ms"] } }',
        buffer="166 packets",
    ),
    "suspension": Test(
        5.4,
        "10 MB",
        '{ steps = { at = ["0 s", "1.8 s"], rates = ["20 Mbit/s", "0 Mbit/s"], period = "2 s" } }',
        10.0,
        buffer="33 packets",
    ),
    "bad-wifi": _BAD_WIFI,
}
"""Reaction to network events, and Wi-Fi."""

AGAINST = {
    "itself": {
        "short": Test(6.7, "5 MB", background="10 MB"),
        "after": Test(8.15, "5 MB", background="10 MB", start_s=(0.5, 0.0)),
        "before": Test(4.1, "10 MB", '"50 Mbit/s"', 30.0, buffer="333 packets", background="20 MB", start_s=(0.0, 0.5)),
        "long": replace(_LONG, seconds=22.8),
        "long-before": replace(_LATER, seconds=22.2),
        "bad-wifi": replace(_BAD_WIFI, seconds=13.0, background="10 MB", start_s=(1.0, 0.0)),
    },
    "cubic": {
        "short": Test(6.7, "5 MB", background="10 MB"),
        "long": replace(_LONG, seconds=22.2),
        "long-before": replace(_LATER, seconds=22.0),
        "bad-wifi": replace(_BAD_WIFI, seconds=11.0, background="10 MB", start_s=(1.0, 0.0)),
    },
    "bbr3": {
        "short": Test(6.7, "5 MB", background="10 MB"),
        "long": replace(_LONG, seconds=23.0),
        "long-before": replace(_LATER, seconds=23.0),
        "bad-wifi": replace(_BAD_WIFI, seconds=13.5, background="10 MB", start_s=(1.0, 0.0)),
    },
}
"""By the control of the other download; the draft's BBR is picoquic's, of version 3."""


def alone(run: Run) -> Outcome:
    """The downloads that have a path to themselves."""
    return _outcome(run, EVENTS, "", "Downloads on a path of their own")


def against(run: Run, other: str) -> Outcome:
    """The downloads beside another one."""
    return _outcome(
        run, AGAINST[other], other, f"Downloads beside {'another of the same control' if other == 'itself' else other}"
    )


def reproduce(run: Run, other: str = "") -> Outcome:
    """What `claims.toml` asks."""
    return against(run, other) if other else alone(run)


def _outcome(run: Run, tests: Mapping[str, Test], other: str, title: str) -> Outcome:
    values: dict[str, Value] = {}
    times: dict[str, list[Interval]] = {}
    prefix = f"vs-{other}-" if other else ""
    for name, test in tests.items():
        for control in CONTROLS:
            seconds = completion(run, test, control, control if other == "itself" else other)
            in_time = np.where(seconds <= test.seconds, 1.0, 0.0)
            values[f"{prefix}{name}.{control}"] = Value(sim=Interval.of(in_time, within="share", chances=1.0))
            times.setdefault(control, []).append(Interval.of(seconds, within="amount"))
    rows = {"the test allows": [Interval.exactly(test.seconds) for test in tests.values()], **times}
    grid = Grid("Time until the download is complete", "s", "control", list(tests), rows)
    return Outcome(values, partial(_draw, title, list(tests), rows), [grid])


def completion(run: Run, test: Test, control: str, other: str) -> Array:
    """When the main download is complete, from the beginning of the trial [s]; infinite if it is not."""
    half = f"{test.round_trip_ms / 2:g} ms"
    main, background = test.start_s
    overrides = {
        "topology.dumbbell.forward.capacity": test.rate,
        "topology.dumbbell.forward.delay": test.delay or f'"{half}"',
        "topology.dumbbell.reverse.delay": f'"{half}"',
        "topology.dumbbell.forward.queue": f'{{ drop-tail = {{ limit = "{test.buffer}" }} }}',
        "flows.main.app.transfer.size": f'"{test.size}"',
        "flows.main.start": f'"{main:g} s"',
        "flows.main.start_spread": f'"{_SPREAD}"',
        "flows.main.tcp.congestion": f'"{control}"',
        "flows.background.app.transfer.size": f'"{test.background or "10 MB"}"',
        "flows.background.start": f'"{background:g} s"',
        "flows.background.start_spread": f'"{_SPREAD}"',
        "flows.background.tcp.congestion": f'"{other or "cubic"}"',
        **test.more,
    }
    flows = ["main", "background"] if test.background else ["main"]
    result = run.simulate("path", overrides, seeds=_RUNS, flows=flows)
    milliseconds = samples(result.flows, "main", "fct_mean_ms")
    return np.where(np.isfinite(milliseconds), milliseconds / 1e3, np.inf) + main


def _draw(title: str, tests: list[str], times: Mapping[str, list[Interval]]) -> Figure:
    shown = [(name, [one if np.isfinite(one.mean) else Interval(np.nan) for one in row]) for name, row in times.items()]
    return bars(title, tests, shown, "time until complete [s]")
