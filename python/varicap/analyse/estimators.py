"""The rates that a link advertises which samples its capacity: EFFCAP's estimators on sample paths of slots.

A sample is what the link carries in an interval, over the interval.  At its end the least of the last N averages of M
samples is advertised, until the next interval ends.  The intervals of each path begin anywhere in a slot.

Most slots need no samples: where the capacity has not changed for as long as the estimator remembers it is what is
advertised, and the paths of a sweep's points, which are drawn by the same random numbers, are nearly the same from
point to point.  Source of the estimators: [abr, §IV].
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Stretches: TypeAlias = tuple[Index, Index, Index]
"""Slots that follow each other, of some paths: the path, the first slot, and the one after the last."""

_SAMPLES = 2**15  # that are handled at a time, so that they stay in a cache


@dataclass(frozen=True)
class Estimator:
    """The least of the last N averages of M samples, and what stands for it in a slot."""

    interval_slots: float
    """Length of the interval of a sample [slots]."""
    average: int
    """M."""
    least: int
    """N."""
    of_slot: Literal["mean", "least"]
    """Which of the rates that are advertised in a slot stands for them."""

    @property
    def memory(self) -> int:
        """Slots that the estimator remembers."""
        return math.ceil((self.average + self.least) * self.interval_slots) + 2

    def advertised(self, capacity: Array, begins: Array, known: tuple[Array, Array] | None = None) -> Array:
        """What is advertised in each slot, shape (slots, paths), from where the memory has filled.

        Parameters
        ----------
        capacity
            Of each slot and path, shape (slots, paths).
        begins
            When the first interval of each path begins, as a share of an interval, shape (paths,).
        known
            Capacities on which the same is known, and what it is: paths may have stretches in common with theirs.
        """
        is_new, known = self._new(capacity, known)
        found = (capacity if known is None else known[1]).copy()
        path, first, last = stretches(is_new, self._reach)
        # Only these paths are sampled.
        columns, path = np.unique(path, return_inverse=True)
        if columns.size < capacity.shape[1]:
            capacity, begins = capacity[:, columns], begins[columns]
        total = np.cumsum(capacity, axis=0)
        total -= capacity
        some = (np.cumsum(last - first) / max(1.0, _SAMPLES * self.interval_slots)).astype(np.intp)
        for these in np.split(np.arange(some.size), np.flatnonzero(np.diff(some)) + 1) if some.size else ():
            of_some = path[these], first[these], last[these]
            slot, of, met = self._sampled(capacity, total, of_some, begins, is_like=known is not None)
            found[slot, columns[of]] = met
        return found

    @property
    def _reach(self) -> int:
        """Slots after which a change is forgotten, also by a rate that holds when a slot begins."""
        return self.memory + math.ceil(self.interval_slots)

    def _new(
        self, capacity: Array, known: tuple[Array, Array] | None
    ) -> tuple[NDArray[np.bool_], tuple[Array, Array] | None]:
        """Slots that something begins in: a capacity that is not the known one, if these are few, or else a change."""
        changes = np.ones(capacity.shape, dtype=bool)
        changes[1:] = capacity[1:] != capacity[:-1]
        if known is not None:
            differs = capacity != known[0]
            runs = np.count_nonzero(differs[1:] & ~differs[:-1]) + np.count_nonzero(differs[0])
            # Stretches begin earlier, as `_sampled` has it.
            if 2 * self._reach * runs + np.count_nonzero(differs) < self._reach * np.count_nonzero(changes):
                return differs, known
        return changes, None

    def _sampled(
        self, capacity: Array, total: Array, some: Stretches, begins: Array, *, is_like: bool
    ) -> tuple[Index, Index, Array]:
        """Slots of stretches, their paths, and what they meet; `total` is what is carried before each slot.

        Before a stretch the capacity has not changed for long, or it `is_like` that of others.
        """
        (path, first, last), samples = some, int((len(capacity) - 1) / self.interval_slots)
        # A rate has the number of its interval, and holds from the end of it to the end of the next: its `edge`.
        begun = begins[path] * self.interval_slots
        of_edge, slot = _ranges(first, last + 1)
        edge = np.clip((slot - (begun + self.interval_slots)[of_edge]) / self.interval_slots, 0, samples)
        number = np.minimum(edge.astype(np.intp), samples - 1)
        final = np.flatnonzero(np.diff(of_edge, append=-1))
        # Of the averages before the first one of a stretch, some are taken for the capacity that there was for long,
        # and where that has changed, the others are found.
        earlier = self.average + (self.least if is_like else 0)
        before = np.maximum(number[np.append(0, final[:-1] + 1)] - earlier, -1)
        counts = number[final] + 1 - before
        start = np.cumsum(counts) - counts
        ends = (np.arange(counts.sum()) + np.repeat(before + 1 - start, counts)) * self.interval_slots
        ends += np.repeat(begun, counts)
        carried = _carried(capacity, total, np.repeat(path, counts), ends)
        averages = np.empty_like(carried)
        averages[self.average :] = carried[self.average :] - carried[: -self.average]
        averages[self.average :] *= 1 / (self.average * self.interval_slots)
        averages[start[:, None] + np.arange(self.average)] = capacity[np.maximum(first - 1, 0), path][:, None]
        said = sliding_least(averages, self.least)
        here = (start - before)[of_edge] + number
        if self.of_slot == "least":
            met = _least_met(said, here)
        else:
            met = _sum_met(said, here, edge - number) * self.interval_slots
        inside = np.flatnonzero(np.diff(of_edge) == 0)
        return slot[inside], path[of_edge[inside]], met[inside]


def stretches(is_new: NDArray[np.bool_], reach: int) -> Stretches:
    """Slots that begin less than so many after the one of something new, of shape (slots, paths), by path."""
    slots = len(is_new)
    slot, path = np.divmod(np.flatnonzero(is_new), is_new.shape[1])
    order = np.argsort(path, kind="stable")
    path = path[order]
    begin = path * slots + slot[order]
    end = np.minimum(begin + reach, (path + 1) * slots)
    is_first = np.ones(begin.size, dtype=bool)
    is_first[1:] = (begin[1:] > end[:-1]) | (np.diff(path) > 0)
    first = np.flatnonzero(is_first)
    last = np.append(first, begin.size)[1:] - 1
    return path[first], begin[first] - path[first] * slots, end[last] - path[first] * slots


def _ranges(first: Index, last: Index) -> tuple[Index, Index]:
    """The whole numbers from each first to before each last: which of these they are of, and they themselves."""
    counts = last - first
    of = np.repeat(np.arange(counts.size), counts)
    return of, np.arange(of.size) + (last - np.cumsum(counts))[of]


def _carried(capacity: Array, total: Array, path: Index, at: Array) -> Array:
    """What these paths have carried at some instants [slots]; `total` at the beginnings of slots."""
    slots, paths = capacity.shape
    low = np.minimum(at.astype(np.intp), slots - 1)
    at = at - low
    low *= paths
    low += path
    at *= capacity.take(low)
    at += total.take(low)
    return at


def _sum_met(said: Array, here: Index, share: Array) -> Array:
    """From each edge to the next the sum of the rates that hold: at an edge, one of which a share has passed."""
    whole = np.add.reduceat(said, here)
    whole[:-1][here[1:] == here[:-1]] = 0
    passed = share * said[here]
    return np.append(whole[:-1] + np.diff(passed), 0)


def _least_met(said: Array, here: Index) -> Array:
    """From each edge to the next the least of the rates that hold at any time."""
    last = np.append(here[1:], here[-1:])
    met, counts = np.empty(here.size), last - here + 1
    for count in np.unique(counts[counts > 0]).tolist():
        met = np.where(counts == count, sliding_least(said, count)[last], met)
    return met


def sliding_least(values: Array, count: int) -> Array:
    """The least of the last `count` values, along the last axis: of 2, 4, 8, … of them, each from those before.

    >>> sliding_least(np.array([3.0, 5.0, 4.0, 6.0, 7.0]), 3).tolist()
    [3.0, 3.0, 3.0, 4.0, 4.0]
    """
    found, width = values, 1
    while width < min(count, values.shape[-1]):
        step = min(width, count - width)
        wider = np.empty_like(found)
        wider[..., :step] = found[..., :step]
        np.minimum(found[..., step:], found[..., :-step], out=wider[..., step:])
        found, width = wider, width + step
    return found
