"""The paper's link in both directions, and the measurements of its figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from varicap.papers.run import Run
from varicap.papers.verdict import Value
from varicap.results.result import Result
from varicap.statistics import Array, Interval

FORWARD, REVERSE = "topology.dumbbell.forward", "topology.dumbbell.reverse"
FAST_RETURN = {f"{REVERSE}.capacity": "2 Mbit/s"}
"""A return link that does not respond to the load, and does not limit the flow."""


TODAY = {"tcp.recovery": "sack", "tcp.congestion": "cubic"}
"""A TCP of today in place of the paper's."""

Unit: TypeAlias = Literal["bytes", "packets"]
Values: TypeAlias = Mapping[str, Array | Interval]
"""Our values by claim: an interval, or one value for each run."""


@dataclass(frozen=True)
class Setting:
    """The controllers of both directions."""

    low: float
    """Low threshold [kB or packets]."""
    high: float
    """High threshold [kB or packets]."""
    c0: float
    """Initial and minimum capacity [kb/s]."""
    unit: Unit = "bytes"
    flows: int = 1

    def overrides(self) -> dict[str, str]:
        """The setting as changes of the scenario."""
        changes = {"flows.tcp.count": str(self.flows)}
        for link in (FORWARD, REVERSE):
            control = f"{link}.capacity.load-reactive"
            changes[f"{control}.minimum"] = f"{self.c0:g} kbit/s"
            for key, value in (("low", self.low), ("high", self.high)):
                amount = f"{value * 1000:g} B" if self.unit == "bytes" else f"{value:g} packets"
                changes[f"{control}.control.hysteresis.{key}"] = amount
        return changes


@dataclass(frozen=True)
class Series:
    """A link's series at intervals of 100 ms, with a row for each replication."""

    time_s: Array
    """Ends of the intervals, shape (n,)."""
    capacity: Array
    """Capacity in each interval [kb/s], shape (runs, n)."""
    throughput: Array
    """Throughput in each interval [kb/s], shape (runs, n)."""
    waiting: Array
    """Backlog at the end of each interval, as the controller samples it [B], shape (runs, n)."""
    mean_waiting: Array
    """Mean backlog over each interval [B], shape (runs, n)."""

    def seconds(self, values: Array) -> Array:
        """Means over whole seconds, shape (runs, whole seconds)."""
        runs, intervals = values.shape
        whole = intervals // 10
        return np.asarray(values[:, : whole * 10].reshape(runs, whole, 10).mean(axis=2))

    def after(self, start_s: float) -> NDArray[np.bool_]:
        """Which intervals end after `start_s`, shape (n,)."""
        return self.time_s > start_s + 1e-9

    def opens_at(self, c0: float) -> Array:
        """When the capacity first exceeds `c0` [s], NaN if never, shape (runs,)."""
        above = self.capacity > c0 + 1e-6
        # An interval is reported at its end; the capacity rose at its beginning.
        first = self.time_s[above.argmax(axis=1)] - 0.1
        return np.where(above.any(axis=1), first, np.nan)

    def openings(self, c0: float) -> Array:
        """How often the capacity leaves `c0`, shape (runs,)."""
        above = np.pad(self.capacity > c0 + 1e-6, ((0, 0), (1, 0)))
        return np.asarray((~above[:, :-1] & above[:, 1:]).sum(axis=1), dtype=np.float64)

    def closures(self, c0: float) -> Array:
        """How often the capacity returns to `c0`, shape (runs,)."""
        above = self.capacity > c0 + 1e-6
        return np.asarray((above[:, :-1] & ~above[:, 1:]).sum(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Measured:
    """The results of one setting, with a value for each replication."""

    setting: Setting
    result: Result

    @property
    def throughput(self) -> Array:
        """TCP/IP bytes that reached the receivers, of all flows together [kb/s]."""
        return self._together("throughput_bps") / 1e3

    @property
    def goodput(self) -> Array:
        """Application bytes delivered in order [kb/s]."""
        return self._together("goodput_bps") / 1e3

    def link(self, name: Literal["forward", "reverse"], column: str) -> Array:
        """A column of the results of a link."""
        rows = self.result.links.filter(pc.equal(self.result.links["name"], name))
        return np.asarray(rows[column].to_numpy(), dtype=np.float64)

    @cached_property
    def forward(self) -> Series:
        """The forward link over time."""
        return self._series("forward")

    @cached_property
    def reverse(self) -> Series:
        """The return link over time."""
        return self._series("reverse")

    def _together(self, column: str) -> Array:
        values = np.asarray(self.result.flows[column].to_numpy(), dtype=np.float64)
        return np.asarray(values.reshape(self.result.runs, -1).sum(axis=1))

    def _series(self, name: str) -> Series:
        table = self.result.link_series
        rows = table.filter(pc.equal(table["link"], name))
        shape = (self.result.runs, -1)

        def column(key: str, scale: float = 1.0) -> Array:
            values = rows[key].to_numpy(zero_copy_only=False)
            return np.asarray(values, dtype=np.float64).reshape(shape) / scale

        return Series(
            column("time_s")[0],
            column("capacity_bps", 1e3),
            column("throughput_bps", 1e3),
            column("backlog_bytes"),
            column("backlog_mean_bytes"),
        )


def measure(run: Run, setting: Setting, changes: Mapping[str, str] | None = None) -> Measured:
    """Simulate the paper's link with this setting; `changes` of the scenario are applied last.

    Runs differ in when they begin between two samples of the controllers, in how long hosts take, and in what RED
    drops.
    """
    overrides = setting.overrides()
    for key, value in (changes or {}).items():
        # A change that replaces a table supersedes the changes inside that table.
        overrides = {other: text for other, text in overrides.items() if not other.startswith(f"{key}.")} | {key: value}
    return Measured(setting, run.simulate("one-link", overrides, seeds=run.pick(20, 6)))


def judged(values: Values) -> dict[str, Value]:
    """The values as claims want them."""
    return {name: Value(sim=of) if isinstance(of, Interval) else Value.of(of) for name, of in values.items()}


def under(readings: Mapping[str, Values]) -> dict[str, dict[str, Value]]:
    """The values of each claim under each of the readings for which there is one."""
    found: dict[str, dict[str, Value]] = {}
    for reading, values in readings.items():
        for claim, value in judged(values).items():
            found.setdefault(claim, {})[reading] = value
    return found


def interval(values: Array) -> Interval:
    """Mean over the runs, for a table; no interval where all of them are the same."""
    values = np.asarray(values, dtype=np.float64)
    return Interval(float(values[0])) if np.ptp(values) == 0.0 else Interval.of(values)
