"""A reservation that changes between 0.5 and 6 Mb/s every 20 s, as measured in Figs. 10 and 11."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import Measured, interval, measure, senders
from varicap.papers.minrate.panels import Line, line, reservations, stacked
from varicap.papers.run import Grid, Run
from varicap.results.samples import samples
from varicap.statistics import Array

Pairs: TypeAlias = Literal["fwd", "both", "eight"]
"""Four best-effort flows that share the link, four in each direction, or eight that share the link."""
HIGH, LOW = 6.0, 0.5  # [Mb/s]
HALF_S = 20.0
NEVER_S = 100.0
"""What stands for never: far beyond the 20 s [s]."""
_WINDOW = 30
"""Intervals of 0.1 s over which throughput is averaged."""


@dataclass(frozen=True)
class Transients:
    """The flow's throughput around each change, shape (runs, rises or falls, intervals of 0.1 s)."""

    measured: Measured
    rises: Array
    falls: Array

    @property
    def t90(self) -> Array:
        """Time from a rise until the 3 s begin whose mean is nine tenths of the reservation; 20 if never [s]."""
        sums = np.cumsum(self.rises, axis=-1)
        mean = (sums[..., _WINDOW:] - sums[..., :-_WINDOW]) / _WINDOW
        there = mean >= 0.9 * HIGH
        begins = np.where(there.any(axis=-1), there.argmax(axis=-1) + 1, 10 * HALF_S)
        return np.asarray((begins / 10).mean(axis=1))

    @property
    def window(self) -> Array:
        """Median time from a rise until cwnd supports the raised reservation over the flow's mean round trip [s].

        A rise after which it never does counts as `NEVER_S`.
        """
        _, cwnd = self.measured.series("step", "cwnd_bytes", 1.0)
        half = round(10 * HALF_S)
        after = cwnd[:, 2 * half :].reshape(cwnd.shape[0], -1, 2, half)[:, :, 0]
        needed = HIGH * 1e6 / 8 * samples(self.measured.result.flows, "step", "rtt_mean_ms") / 1e3
        there = after >= needed[:, np.newaxis, np.newaxis]
        begins = np.where(there.any(axis=-1), (there.argmax(axis=-1) + 1) / 10, NEVER_S)
        return np.asarray(np.median(begins, axis=1))

    @property
    def first5(self) -> Array:
        """Throughput in the first 5 s after a rise, as a share of the reservation."""
        return np.asarray(self.rises[..., :50].mean(axis=(1, 2)) / HIGH)

    @property
    def last5(self) -> Array:
        """Throughput in the last 5 s before a fall, as a share of the reservation."""
        return np.asarray(self.rises[..., -50:].mean(axis=(1, 2)) / HIGH)

    @property
    def left_to_fall(self) -> Array:
        """By how much throughput still falls 1 to 4 s after the reservation fell, as a share of that fall."""
        soon, at_last = (values.mean(axis=(1, 2)) for values in (self.falls[..., 10:40], self.falls[..., -100:]))
        return np.asarray((soon - at_last) / (HIGH - LOW))


def transients(
    run: Run,
    pairs: Pairs,
    kind: Literal["plain", "windowed"],
    recovery: str = "reno",
    changes: Mapping[str, str] | None = None,
) -> Transients:
    """Simulate; the first 40 s, in which everything starts, are not counted."""
    of_kind = senders(kind, bucket="800 ms" if kind == "plain" else "50 ms", recovery=recovery)
    changes = {**of_kind, **(changes or {})}
    changes |= {"flows.be.count": "8" if pairs == "eight" else "4", "flows.back-be.count": "4", "warmup": "0 s"}
    changes["duration"] = run.pick("200 s", "120 s")
    flows = ["step", "be", "back-be"] if pairs == "both" else ["step", "be"]
    measured = measure(run, changes, flows, series=True)
    _, rates = measured.series("step")
    half = round(10 * HALF_S)
    halves = rates[:, 2 * half :].reshape(rates.shape[0], -1, 2, half)
    return Transients(measured, halves[:, :, 0], halves[:, :, 1])


def table(title: str, what: str, rows: Mapping[str, Transients]) -> Grid:
    """What is measured, for each of several readings."""
    columns = [
        "t90 [s]",
        "cwnd there [s]",
        "first 5 s / 6 Mb/s",
        "last 5 s / 6 Mb/s",
        "of the fall left after 1 to 4 s",
    ]
    found = {
        name: [interval(value) for value in (one.t90, one.window, one.first5, one.last5, one.left_to_fall)]
        for name, one in rows.items()
    }
    return Grid(title, "", what, columns, found)


def draw(title: str, found: Transients) -> Figure:
    """Throughput and reservation, and the window."""
    rates = [line(found.measured, "step", 0, seconds=1.0), reservations(found.measured, "step", 1)]
    times, cwnd = found.measured.series("step", "cwnd_bytes", 1 / 960)
    window = [Line("cwnd", times, cwnd[0], 2)]
    return stacked(title, [("throughput, 1 s", "[Mb/s]", rates), ("congestion window", "[packets]", window)])
