"""The search: differential evolution by SciPy over the numbers from which a path follows, each generation a race.

All paths meet the same random numbers. Of a generation each has one run, the worse half for the statement a second
one, and so on, so that most runs are those of paths that matter.  Source: [storn97].
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from varicap.falsify.bench import Bench, SpentError, Tried
from varicap.falsify.bounds import Bounds
from varicap.falsify.conditions import Conditions, simpler
from varicap.statistics import Array

_LEAST, _MOST = 16, 48
"""Paths of a generation."""
_FINALISTS = 6
"""Different paths that have all their runs at the end."""


def population(count: int) -> int:
    """How many paths of so many numbers a generation has."""
    return max(_LEAST, min(_MOST, 3 * count))


def first(bounds: Bounds, seed: int) -> Array:
    """The numbers of the first generation: spread, the corners of the bounds among them."""
    from scipy.stats import qmc

    many = population(bounds.count)
    spread = np.asarray(qmc.Sobol(bounds.count, seed=seed).random(2 ** math.ceil(math.log2(many)))[:many])
    spread[0], spread[1] = 0.0, 1.0
    return spread


def search(bounds: Bounds, bench: Bench, runs: int, seed: int, begin: Array) -> None:
    """Look for the conditions that are the worst for a statement, until the budget is spent or nothing is new."""
    from scipy.optimize import differential_evolution

    def energies(numbers: Array) -> Array:
        """Of the paths of a generation, shape (numbers, paths)."""
        places = [bench.of(bounds.conditions(column.tolist())) for column in np.atleast_2d(numbers.T)]
        race(bench, [one for one in places if one is not None], runs)
        return np.array([math.inf if one is None else bench.worth(one) for one in places])

    options: dict[str, Any] = {"updating": "deferred", "vectorized": True, "polish": False, "maxiter": 10_000}
    try:
        for attempt in range(1000):
            before = bench.spent
            differential_evolution(
                energies,
                [(0.0, 1.0)] * bounds.count,
                init=begin if attempt == 0 else first(bounds, seed + attempt),
                seed=np.random.default_rng(seed + attempt),
                tol=1e-3,
                **options,
            )
            if bench.spent == before:
                break
    except SpentError:
        pass


def race(bench: Bench, those: Sequence[Tried], runs: int) -> None:
    """Give each a run, and those that are the worst for the statement more, twice as many while they are halved."""
    left, made = list(dict.fromkeys(those)), 1
    while left and made <= runs:
        bench.run([(one, range(made)) for one in left])
        left = sorted(left, key=bench.worth)[: len(left) // 2]
        made *= 2


def worst(bench: Bench, runs: int) -> list[Tried]:
    """The paths that are the worst by all their runs, the worst first; the budget must have room for these."""
    found = [one for one in bench.tried.values() if one is not None and one.values]
    finalists = sorted(found, key=bench.worth)[:_FINALISTS]
    try:
        bench.run([(one, range(runs)) for one in finalists])
    except SpentError:
        finalists = [one for one in finalists if one.is_exact or len(one.values) >= runs]
    return sorted(finalists, key=bench.worth)


def shrunk(bench: Bench, begin: Tried, runs: int) -> Tried:
    """The simplest conditions to be had from these, step by step, that still surely refute the statement."""
    best, seen = begin, {begin.conditions}
    try:
        while True:
            smaller = _first_broken(bench, simpler(best.conditions), runs, seen)
            if smaller is None:
                return best
            best = smaller
    except SpentError:
        return best


def _first_broken(bench: Bench, those: Iterable[Conditions], runs: int, seen: set[Conditions]) -> Tried | None:
    for conditions in those:
        if conditions in seen:
            continue
        seen.add(conditions)
        one = bench.of(conditions)
        if one is None:
            continue
        bench.run([(one, range(1))])
        # One run that does not refute it is enough to go on.
        if bench.statement.bounds.shortfall(bench.statement.interval([one.values[0]], is_exact=True)) == 0:
            continue
        bench.run([(one, range(runs))])
        if bench.is_broken(one, range(runs)):
            return one
    return None
