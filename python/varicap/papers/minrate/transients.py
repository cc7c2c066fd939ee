"""A reservation that changes between 0.5 and 6 Mb/s every 20 s, as measured in Figs. 10 and 11."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import Measured, measure, senders
from varicap.papers.minrate.panels import Line, line, reservations, stacked
from varicap.papers.run import Run
from varicap.statistics import Array

Pairs: TypeAlias = Literal["fwd", "both"]
"""Four best-effort flows that share the link, or four in each direction."""
HIGH, PERIOD_S, HALF_S = 6.0, 40.0, 20.0
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
        """Time from a rise until the mean over the last 3 s is nine tenths of the reservation; 20 if never [s]."""
        sums = np.cumsum(self.rises, axis=-1)
        mean = (sums[..., _WINDOW:] - sums[..., :-_WINDOW]) / _WINDOW
        there = mean >= 0.9 * HIGH
        first = np.where(there.any(axis=-1), there.argmax(axis=-1) + _WINDOW + 1, 10 * HALF_S)
        # The mean over the 3 s that begin at the rise would reach it at once.
        return np.asarray((first / 10 - _WINDOW / 10).clip(min=0.0).mean(axis=1))

    @property
    def first5(self) -> Array:
        """Throughput in the first 5 s after a rise, as a share of the reservation."""
        return np.asarray(self.rises[..., :50].mean(axis=(1, 2)) / HIGH)

    @property
    def last5(self) -> Array:
        """Throughput in the last 5 s before a fall, as a share of the reservation."""
        return np.asarray(self.rises[..., -50:].mean(axis=(1, 2)) / HIGH)

    @property
    def after_fall(self) -> Array:
        """Throughput in seconds 1 to 4 after a fall, as a share of the old reservation."""
        return np.asarray(self.falls[..., 10:40].mean(axis=(1, 2)) / HIGH)


def transients(run: Run, pairs: Pairs, kind: Literal["plain", "windowed"], recovery: str = "reno") -> Transients:
    """Simulate; the first 40 s, in which everything starts, are not counted."""
    changes = senders(kind, bucket="800 ms" if kind == "plain" else "50 ms", recovery=recovery)
    changes |= {"flows.be.count": "4", "flows.back-be.count": "4", "warmup": "0 s"}
    changes["duration"] = run.pick("200 s", "120 s")
    flows = ["step", "be"] if pairs == "fwd" else ["step", "be", "back-be"]
    measured = measure(run, changes, flows, series=True)
    _, rates = measured.series("step")
    half = round(10 * HALF_S)
    halves = rates[:, 2 * half :].reshape(rates.shape[0], -1, 2, half)
    return Transients(measured, halves[:, :, 0], halves[:, :, 1])


def draw(title: str, found: Transients) -> Figure:
    """Throughput and reservation, and the window."""
    rates = [line(found.measured, "step", 0, seconds=1.0), reservations(found.measured, "step", 1)]
    times, cwnd = found.measured.series("step", "cwnd_bytes", 1 / 960)
    window = [Line("cwnd", times, cwnd[0], 2)]
    return stacked(title, [("throughput, 1 s", "[Mb/s]", rates), ("congestion window", "[packets]", window)])
