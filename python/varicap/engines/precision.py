"""Replications, repeated until the intervals are as narrow as they were asked to be."""

import json
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import varicap._core as _core
from varicap.errors import InterruptedRuns, StoppedRunsError
from varicap.results.manifest import Which
from varicap.results.result import Result

_FEWEST = 4
"""Replications of a batch for each core: cores wait for the last of them, which costs little if there are several."""
_BATCH_S = 5.0
"""How long a batch should take [s]."""


def replicate(
    batch: Callable[[int, int, int], _core.Results],
    wanted: int,
    precision: float | None,
    max_seeds: int,
    made: Callable[[_core.Results], Result],
    workers: int = 1,
) -> Result:
    """`made` of `wanted` runs, and of more while intervals are wider than `precision`.

    ``batch(first, count, total)`` runs `count` replications from `first` on, of `total` that are foreseen, `workers` of
    them at a time.  Ctrl-C raises `InterruptedRuns`, and a limit that is exceeded `StoppedRunsError`, with the batches
    that were finished, if there are any.
    """
    batches = _Batches(batch, _FEWEST * workers)
    try:
        results = batches.reach(wanted)
        while precision is not None and results.runs < max_seeds:
            more = more_runs(_widest(json.loads(results.summary())), precision, results.runs)
            if more == 0:
                break
            wanted = min(results.runs + more, max_seeds)
            results = batches.reach(wanted)
    except KeyboardInterrupt:
        if batches.results is None:
            raise
        raise InterruptedRuns(made(batches.results), wanted) from None
    except _core.LimitError as error:
        if batches.results is None:
            raise
        raise StoppedRunsError(str(error), made(batches.results), wanted) from error
    return made(results)


class _Batches:
    """Replications in batches that take a few seconds: an interruption loses no more than one."""

    def __init__(self, batch: Callable[[int, int, int], _core.Results], fewest: int) -> None:
        self._batch = batch
        self._fewest = fewest
        self._size = fewest
        self.results: _core.Results | None = None

    def reach(self, wanted: int) -> _core.Results:
        """Run what is missing of `wanted` replications."""
        while self.results is None or self.results.runs < wanted:
            done = 0 if self.results is None else self.results.runs
            count = min(wanted - done, self._size)
            begin = perf_counter()
            found = self._batch(done, count, wanted)
            growth = min(_BATCH_S / max(perf_counter() - begin, 1e-9), 8.0)
            self._size = max(self._fewest, round(count * growth))
            if self.results is None:
                self.results = found
            else:
                self.results.extend(found)
        return self.results


def below(which: Which, end: int) -> int:
    """Replications below this number record."""
    return 1 if which == "first" else end if which else 0


def precision_of(summary: dict[str, Any]) -> float:
    """The widest interval of goodput and utilisation: its half width as a share of its mean."""
    return _widest(summary)


def more_runs(widest: float, precision: float, runs: int) -> int:
    """How many more runs an interval seems to need; it narrows with the square root of their number."""
    if widest <= precision:
        return 0
    if runs < 3:
        return 3 - runs + 2  # the interval of two runs says next to nothing
    # At most as many again: the estimate itself is rough.
    return max(1, min(runs, round(runs * ((widest / precision) ** 2 - 1))))


def _widest(summary: dict[str, Any]) -> float:
    return max((_relative_half_width(interval) for interval in _watched(summary)), default=0.0)


def _watched(summary: dict[str, Any]) -> Iterable[dict[str, float | None]]:
    for flow in summary["flows"]:
        yield flow["goodput_bps"]
    for link in summary["links"]:
        yield link["utilisation"]


def _relative_half_width(interval: dict[str, float | None]) -> float:
    mean, low, high = interval["mean"], interval["lo"], interval["hi"]
    if mean is None or mean == 0.0:
        return 0.0
    if low is None or high is None:
        return float("inf")
    return (high - low) / 2 / abs(mean)
