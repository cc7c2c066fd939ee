"""Replications, repeated until the intervals are as narrow as they were asked to be."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from math import inf, isinf
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import varicap._core as _core
from varicap.errors import InterruptedRuns, StoppedRunsError
from varicap.results.manifest import Request, Which
from varicap.results.result import Result
from varicap.results.unfinished import Unfinished, is_unfinished, plan_of

Batch: TypeAlias = Callable[[int, int, int, int], _core.Results]
"""Runs replications: the first, how many, how many are done, and how many are foreseen."""

_FEWEST = 4
"""Replications of a batch for each core: cores wait for the last of them, which costs little if there are several."""
_BATCH_S = 5.0
"""How long a batch should take [s]."""


def replicate(
    batch: Batch,
    wanted: int,
    precision: float | None,
    max_seeds: int,
    made: Callable[[_core.Results], Result],
    workers: int = 1,
    kept: "Kept | None" = None,
) -> Result:
    """`made` of `wanted` runs, and of more while intervals are wider than `precision`.

    ``batch(first, count, done, total)`` runs `count` replications from `first` on, `workers` of them at a time, when
    `done` are finished of `total` that are foreseen.  Ctrl-C raises `InterruptedRuns`, and a limit that is exceeded
    `StoppedRunsError`, with the runs that were finished, if there are any.  Runs that were `kept` are not repeated.
    """
    batches = _Batches(batch, _FEWEST * workers, kept)
    try:
        results = batches.reach(wanted, goes_on=precision is not None and wanted < max_seeds)
        while precision is not None and results.runs < max_seeds:
            more = more_runs(_widest(json.loads(results.summary())), precision, results.runs)
            if more == 0:
                break
            wanted = min(results.runs + more, max_seeds)
            results = batches.reach(wanted, goes_on=wanted < max_seeds)
    except KeyboardInterrupt:
        finished, done = batches.finished()
        if not done:
            raise
        folder = None if kept is None or not kept.lasts else kept.folder
        raise InterruptedRuns(None if finished is None else made(finished), wanted, done, folder) from None
    except _core.LimitError as error:
        finished, _ = batches.finished()
        if finished is None:
            raise
        raise StoppedRunsError(str(error), made(finished), wanted) from error
    return made(results)


class Kept:
    """The runs of a command that a folder keeps while others go on, and what makes results of them."""

    def __init__(self, unfinished: Unfinished, restore: Callable[[list[bytes]], _core.Results]) -> None:
        self.folder = unfinished.folder
        self.before = unfinished.there
        """Runs that were finished before, by replication; whoever uses them takes them out."""
        self.restore = restore
        self.fresh: dict[int, bytes] = {}
        """Runs that were finished in the batch that is under way."""
        self._unfinished = unfinished

    def add(self, runs: Sequence[tuple[int, bytes]]) -> None:
        """Keep runs of the batch that is under way."""
        new = [(replication, run) for replication, run in runs if replication not in self.fresh]
        self.fresh |= new
        self._unfinished.add(new)

    @property
    def lasts(self) -> bool:
        """Whether the same command goes on with these runs: another process may be at work, or a file in the way."""
        return self._unfinished.keeps

    def write(self) -> None:
        """Write what is only in memory."""
        self._unfinished.write()


@contextmanager
def keeping(
    folder: str | Path | None, asked: Callable[[], Request], notify: Callable[[str], None], *, is_alone: bool
) -> Iterator[Kept | None]:
    """Where the runs of a request are kept while others go on: nowhere without a folder.

    A run that is alone only takes up what is there.
    """
    if folder is None or (is_alone and not is_unfinished(Path(folder))):
        yield None
        return
    request = asked()
    restore = partial(_core.results, request.scenario)
    with Unfinished(Path(folder), plan_of(request), notify, restore) as unfinished:
        yield Kept(unfinished, restore)


class _Batches:
    """Replications in batches that take a few seconds: an interruption loses no more than one."""

    def __init__(self, batch: Batch, fewest: int, kept: Kept | None) -> None:
        self._batch = batch
        self._fewest = fewest
        self._size = fewest
        self._kept = kept
        self._there: set[int] = set()
        self.results: _core.Results | None = None

    def reach(self, wanted: int, *, goes_on: bool) -> _core.Results:
        """Run what is missing of `wanted` replications; they are kept if it goes on with more."""
        self._take_what_was_kept(wanted)
        while missing := self._missing(wanted):
            begin = perf_counter()
            found = self._batch(missing.start, len(missing), len(self._there), wanted)
            growth = min(_BATCH_S / max(perf_counter() - begin, 1e-9), 8.0)
            self._size = max(self._fewest, round(len(missing) * growth))
            self._there |= set(missing)
            if self._kept is not None and (goes_on or len(self._there) < wanted):
                self._kept.add(found.packed())
            self._extend(found)
            # Last: an interruption may come between any two of these steps, and is to find the runs somewhere.
            if self._kept is not None:
                self._kept.fresh.clear()
        assert self.results is not None  # noqa: S101 - at least one run is wanted
        return self.results

    def _take_what_was_kept(self, wanted: int) -> None:
        before = {} if self._kept is None else self._kept.before
        taken = {number: before.pop(number) for number in sorted(before) if number < wanted}
        if taken and self._kept is not None:
            self._extend(self._kept.restore([*taken.values()]))
            self._there |= taken.keys()

    def _missing(self, wanted: int) -> range:
        """The next replications to run: no more than a batch."""
        first = next((number for number in range(wanted) if number not in self._there), wanted)
        last = next((number for number in range(first, wanted) if number in self._there), wanted)
        return range(first, min(last, first + self._size))

    def _extend(self, found: _core.Results) -> None:
        if self.results is None:
            self.results = found
        else:
            self.results.extend(found)

    def finished(self) -> tuple[_core.Results | None, int]:
        """Of runs that were cut short: the results from the first on without a gap, and how many are finished."""
        if self._kept is None:
            return self.results, len(self._there)
        self._kept.write()
        runs = self._kept.fresh | dict([] if self.results is None else self.results.packed())
        many = next(number for number in count() if number not in runs)
        return self._kept.restore([runs[number] for number in range(many)]) if many else None, len(runs)


def below(which: Which, end: int) -> int:
    """Replications below this number record."""
    return 1 if which == "first" else end if which else 0


def precision_of(summary: dict[str, Any]) -> float:
    """The widest interval of goodput and utilisation: how far it reaches from its mean, as a share of that.

    It is infinite where there is none, or where it has no width only because the runs agree.
    """
    return _widest(summary)


def more_runs(widest: float, precision: float, runs: int) -> int:
    """How many more runs an interval seems to need; it narrows with the square root of their number."""
    if widest <= precision:
        return 0
    if runs < 3:
        return 3 - runs + 2  # the interval of two runs says next to nothing
    if isinf(widest):
        return 0  # runs that agree may never differ: there is no number that would do
    # At most as many again: the estimate itself is rough.
    return max(1, min(runs, round(runs * ((widest / precision) ** 2 - 1))))


def _widest(summary: dict[str, Any]) -> float:
    is_exact = summary["exact"]
    return max((_relative_reach(interval, is_exact) for interval in _watched(summary)), default=0.0)


def _watched(summary: dict[str, Any]) -> Iterable[dict[str, float | None]]:
    for flow in summary["flows"]:
        yield flow["goodput_bps"]
    for link in summary["links"]:
        yield link["utilisation"]


def _relative_reach(interval: dict[str, float | None], is_exact: bool) -> float:
    mean, low, high = interval["mean"], interval["lo"], interval["hi"]
    if mean is None or mean == 0.0:
        return 0.0
    if low is None or high is None or (low == high and not is_exact):
        return inf
    return max(high - mean, mean - low) / abs(mean)
