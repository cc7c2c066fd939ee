"""What ns-3's traces show, from the series of a run."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from varicap.results.result import Result
from varicap.statistics import Array

SEGMENT_BYTES = 1448.0


@dataclass(frozen=True)
class Series:
    """The series of the only flow: times [s], shape (samples,), and columns, shape (replications, samples)."""

    time_s: Array
    columns: Mapping[str, Array]

    @classmethod
    def of(cls, result: Result, *names: str) -> "Series":
        """These columns of a result."""
        rows = result.flow_series
        time_s = rows["time_s"].to_numpy().astype(np.float64).reshape(result.runs, -1)
        shape = time_s.shape
        return cls(time_s[0], {name: rows[name].to_numpy().astype(np.float64).reshape(shape) for name in names})

    def windows(self) -> Array:
        """The window [segments], shape (replications, samples)."""
        return self.columns["cwnd_bytes"] / SEGMENT_BYTES

    def within(self, name: str, begin_s: float, end_s: float) -> Array:
        """A column where it is sampled after `begin_s` and before `end_s`, shape (replications, samples)."""
        return self.columns[name][:, (self.time_s > begin_s + 1e-6) & (self.time_s < end_s - 1e-6)]

    def means(self, name: str, step_s: float) -> "Series":
        """A column averaged over steps of that length, dated at their ends."""
        each = round(step_s / float(self.time_s[1] - self.time_s[0]))
        whole = len(self.time_s) // each * each
        values = self.columns[name][:, :whole]
        steps = values.reshape(len(values), -1, each).mean(axis=2)
        return Series(self.time_s[each - 1 : whole : each], {name: steps})


def peak(time_s: Array, values: Array, begin_s: float, end_s: float) -> tuple[Array, Array]:
    """The greatest value between two instants in each replication, and when it is first reached [s]."""
    inside = np.flatnonzero((time_s > begin_s) & (time_s < end_s))
    at = inside[values[:, inside].argmax(axis=1)]
    return values[:, inside].max(axis=1), time_s[at]
