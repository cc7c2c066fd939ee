"""The memory and the time that the runs of a study may take."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import varicap._core as _core
from varicap.results.summary import Point


@dataclass(frozen=True)
class Limits:
    """What each process may use for a study, and how long each run may take; None is no limit."""

    max_memory: str | None = None
    max_time: str | None = None
    study: str = ""
    """Distinguishes one study from the next: in each process its pieces share a budget."""

    def budget(self) -> _core.Budget:
        """The budget of the study in this process, which begins when it is first asked for."""
        return _budget(self)


NO_LIMITS = Limits()


@lru_cache(maxsize=8)
def _budget(limits: Limits) -> _core.Budget:
    return _core.Budget(limits.max_memory, limits.max_time, time_for_each=True)


@contextmanager
def naming(number: int, point: Point) -> Iterator[None]:
    """Say at which point a limit was exceeded."""
    try:
        yield
    except _core.LimitError as error:
        raise named(error, number, point) from None


def named(error: _core.LimitError, number: int, point: Point) -> _core.LimitError:
    """The same error with the point at which a limit was exceeded."""
    return _core.LimitError(f"{where(number, point)}: {error}")


def where(number: int, point: Point) -> str:
    """A point in words."""
    settings = ", ".join(f"{key} = {value}" for key, value in point)
    return f"point {number} ({settings})" if settings else f"point {number}"


def check(limits: Limits, number: int, point: Point, scenario: _core.Scenario, at_a_time: int) -> None:
    """Raise `LimitError` if runs of a point, so many at a time, would exceed the limits by an estimate."""
    with naming(number, point):
        limits.budget().check(scenario, runs=at_a_time, threads=at_a_time)
