"""Levels of a rate on sample paths: how often each is met beside a state, and how often one follows another.

Rates are counted in a small unit, so that sums of them are exact.  What was found on some paths is corrected where the
next ones differ, as those of neighbouring points of a sweep do here and there, and is what counting all of them finds.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
States: TypeAlias = NDArray[np.signedinteger[Any]]

_FEW = 8  # all slots are counted if more than one in so many is another


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """What is met on paths, by key: the state, times the number of levels, plus the level."""

    levels: int
    """Number of levels."""
    seen: Index
    """Slots with this key, shape (keys,)."""
    mean: Array
    """Mean rate of these slots, or 0."""
    steps: Index
    """How often a key follows a key, shape (keys, keys)."""


class Aggregate:
    """Slots of paths by their state and the level of their rate; levels are met equally often, as far as they can be.

    All arrays of slots are flat, those of the paths at one time side by side.
    """

    def __init__(self, states: States, rates: Array, *, number: int, levels: int, unit: float) -> None:
        """Of paths with these states, of which there are `number`, and rates, shapes (slots, paths)."""
        self._alike = (states.shape, number, unit)
        self._paths, self._number, self._unit = states.shape[1], number, unit
        self._shares = np.linspace(0, 1, levels + 1)[1:-1]
        self._states, self._rates = states.ravel(), rates.ravel()
        self._units = self._rates / unit
        np.rint(self._units, out=self._units)
        self._count(_quantiles(self._units, self._shares))

    def corrected(self, states: States, rates: Array, *, number: int, unit: float) -> bool:
        """Turns to other paths, if these are alike; returns whether they are."""
        if (states.shape, number, unit) != self._alike:
            return False
        before = self._states, self._rates
        self._states, self._rates = states.ravel(), rates.ravel()
        others = np.flatnonzero((self._states != before[0]) | (self._rates != before[1]))
        if others.size * _FEW > self._rates.size:
            return False
        units, self._units[others] = self._units[others], np.rint(self._rates[others] / self._unit)
        bounds = _quantiles(self._units, self._shares, self._bounds)
        if (bounds != self._bounds).any():
            self._count(bounds)
            return True
        near = np.concatenate([others - self._paths, others])
        near = np.unique(near[(near >= 0) & (near < self._units.size - self._paths)])
        self._add(others, units, near, -1)
        self._key[others] = self._keys(self._states[others], self._units[others])
        self._add(others, self._units[others], near, 1)
        return True

    @property
    def counts(self) -> Counts:
        """What is met."""
        mean = self._sums * self._unit / np.maximum(self._seen, 1)
        return Counts(levels=self._edges.size + 1, seen=self._seen, mean=mean, steps=self._steps)

    def _count(self, bounds: Array) -> None:
        """All slots by levels between these bounds."""
        self._bounds, self._edges = bounds, np.unique(bounds)
        self._key = self._keys(self._states, self._units)
        count = self._number * (self._edges.size + 1)
        self._seen: Index = np.array([np.count_nonzero(self._key == key) for key in range(count)])
        self._sums = np.bincount(self._key, self._units, minlength=count)
        self._steps: Index = np.zeros((count, count), dtype=np.intp)
        # Most slots are followed by one of the same key.
        self._step(np.flatnonzero(self._key[: -self._paths] != self._key[self._paths :]), 1)
        last = np.bincount(self._key[-self._paths :], minlength=count)
        np.fill_diagonal(self._steps, self._seen - last - self._steps.sum(axis=1))

    def _add(self, slots: Index, units: Array, steps: Index, times: int) -> None:
        """Counts some slots, and the steps from some, so many times; units are whole, and sums of them exact."""
        key, count = self._key[slots], self._seen.size
        self._seen += times * np.bincount(key, minlength=count)
        self._sums += times * np.bincount(key, units, minlength=count)
        self._step(steps, times)

    def _step(self, slots: Index, times: int) -> None:
        before, after = self._key[slots].astype(np.intp), self._key[slots + self._paths]
        count = self._seen.size
        self._steps += times * np.bincount(before * count + after, minlength=count**2).reshape(count, count)

    def _keys(self, states: States, units: Array) -> NDArray[np.unsignedinteger[Any]]:
        levels = self._edges.size + 1
        found = states.astype(np.min_scalar_type(self._number * levels)) * levels
        for edge in self._edges:
            found += units > edge
        return found


def _quantiles(values: Array, shares: Array, known: Array | None = None) -> Array:
    """As `np.quantile` has them, which takes longer than to sort; known ones are counted first, which takes less."""
    place = shares * (values.size - 1)
    low = place.astype(np.intp)
    high = np.minimum(low + 1, values.size - 1)
    if known is not None and all(
        np.count_nonzero(values < one) <= first and np.count_nonzero(values <= one) > last
        for one, first, last in zip(known, low, high, strict=True)
    ):
        return known
    ascending = np.sort(values)
    here, there, part = ascending[low], ascending[high], place - low
    return np.where(part < 0.5, here + (there - here) * part, there - (there - here) * (1 - part))
