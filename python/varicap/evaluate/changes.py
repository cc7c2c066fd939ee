"""What moved between two evaluations: criteria with another verdict, or numbers that are surely others."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from varicap._files import read_whole
from varicap._folders import parsed
from varicap._printable import PrintableError
from varicap.evaluate.solve import VERDICTS, Evaluation
from varicap.results.stored import Maybe, check
from varicap.statistics import Interval

_MOST = 10_000_000
_NUMBER = {"mean": Maybe(float), "lo": Maybe(float), "hi": Maybe(float)}
_SHAPE = {"control": str, "version": str, "criteria": [{"id": str, "verdict": str, "measured": _NUMBER}]}


class OldError(PrintableError):
    """A file that is no evaluation, and why."""


@dataclass(frozen=True)
class Change:
    """A criterion before and after."""

    id: str
    before: str
    after: str
    was: Interval
    now: Interval


def read(path: Path) -> dict[str, Any]:
    """An evaluation that ``varicap evaluate --json`` printed.  Raises `OldError`."""
    try:
        found: dict[str, Any] = parsed(read_whole(path, _MOST))
        check(found, _SHAPE)
    except OSError as error:
        raise OldError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise OldError(f"{path}: {error}; expected what `varicap evaluate --json` prints") from None
    return found


def changes(old: Mapping[str, Any], new: Evaluation) -> list[Change]:
    """The criteria of both whose verdicts differ, or whose intervals have nothing in common."""
    before = {one["id"]: one for one in old["criteria"] if one["verdict"] in VERDICTS}
    found = []
    for one in new.judged:
        if one.criterion.id not in before:
            continue
        was = before[one.criterion.id]
        mean, low, high = (
            math.nan if (end := was["measured"].get(name)) is None else end for name in ("mean", "lo", "hi")
        )
        value = Interval(mean, low, high)
        if was["verdict"] != one.verdict or _apart(value, one.value):
            found.append(Change(one.criterion.id, was["verdict"], one.verdict, value, one.value))
    return found


def _apart(one: Interval, other: Interval) -> bool:
    """Whether two intervals have nothing in common; where one has no ends, whether the means differ."""
    ends = (one.lo, one.hi, other.lo, other.hi)
    if any(end is None or end != end for end in ends):
        return one.mean != other.mean and one.mean == one.mean
    return bool(one.hi < other.lo or other.hi < one.lo)  # type: ignore[operator]
