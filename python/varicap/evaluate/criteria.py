"""What is asked of a congestion control, read from ``criteria.toml``: sections, sentences, scenarios, measures."""

import copy
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

from varicap.statistics.verdict import Bounds

Better: TypeAlias = Literal["more", "less", "even"]

CONTROL = "@"
"""Stands for the control that is evaluated, in a scenario's ``congestion``."""


@dataclass(frozen=True)
class Over:
    """The run whose measure divides that of the criterion: another control, other values, or without some flows."""

    control: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    without: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One thing that is measured of a control, and what is enough, if anybody says."""

    id: str
    section: str
    """Of RFC 9743."""
    title: str
    point: str
    """Which of several paths it is, if the criterion has them."""
    quote: str
    """The RFC's words."""
    measure: tuple[str, ...]
    scale: float
    unit: str
    better: Better
    bounds: Bounds | None
    """None: nobody says what is enough, and the number is to be weighed."""
    reason: str
    """How the bounds follow from the words, and whose they are."""
    scenario: Mapping[str, Any]
    """With `CONTROL` in it."""
    over: Over | None

    def placed(self, control: Any) -> dict[str, Any]:
        """The scenario of this control: what a scenario's ``congestion`` takes."""
        placed: dict[str, Any] = _placed(self.scenario, control)
        return placed

    def divisor(self, control: Any) -> dict[str, Any] | None:
        """The scenario whose measure divides; None if nothing does."""
        if self.over is None:
            return None
        changed = _with(self.scenario, self.over.set)
        changed["flows"] = {name: flow for name, flow in changed["flows"].items() if name not in self.over.without}
        placed: dict[str, Any] = _placed(changed, self.over.control or control)
        return placed


@dataclass(frozen=True)
class Untested:
    """What the RFC asks and no scenario here answers."""

    section: str
    title: str
    why: str


@dataclass(frozen=True)
class Criteria:
    """All of them, in the RFC's order."""

    reference: str
    words: Mapping[str, str]
    """What a word of the RFC means here."""
    criteria: tuple[Criterion, ...]
    untested: tuple[Untested, ...]


@cache
def known() -> Criteria:
    """The criteria that varicap has."""
    return read((resources.files(__package__) / "criteria.toml").read_text(encoding="utf-8"))


def read(text: str) -> Criteria:
    """The criteria that this text describes."""
    data = tomllib.loads(text)
    criteria = tuple(one for written in data["criteria"] for one in _points(data["base"], written))
    names = [one.id for one in criteria]
    if len(set(names)) < len(names):
        raise ValueError("two criteria have the same id")
    return Criteria(
        data["reference"], data["words"], criteria, tuple(Untested(**written) for written in data["untested"])
    )


def _points(base: Mapping[str, Any], written: Mapping[str, Any]) -> Iterator[Criterion]:
    """A criterion for each path of a written one."""
    scenario = _merged(base, written["scenario"])
    over = Over(**written["over"]) if "over" in written else None
    bounds = _bounds(written["bounds"]) if "bounds" in written else None
    if (bounds is None) != ("reason" not in written):
        raise ValueError(f"`{written['id']}`: bounds have a `reason`, and nothing else has")
    for point in written.get("points", [{"id": "", "title": "", "set": {}}]):
        name = f"{written['id']}.{point['id']}" if point["id"] else written["id"]
        yield Criterion(
            id=name,
            section=written["section"],
            title=written["title"],
            point=point["title"],
            quote=written["quote"],
            measure=tuple(written["measure"].split()),
            scale=float(written.get("scale", 1.0)),
            unit=written["unit"],
            better=written["better"],
            bounds=bounds,
            reason=written.get("reason", ""),
            scenario={"name": name, **_with(scenario, point["set"])},
            over=over,
        )


def _bounds(written: Sequence[float]) -> Bounds:
    low, high = map(float, written)
    return Bounds(low=low, high=high)


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of `more` laid over those of `base`; what is no table replaces.

    >>> _merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}})
    {'a': {'b': 3, 'c': 2}}
    """
    merged = dict(base)
    for key, value in more.items():
        both = isinstance(value, Mapping) and isinstance(base.get(key), Mapping) and not _is_choice(key)
        merged[key] = _merged(base[key], value) if both else value
    return merged


def _is_choice(key: str) -> bool:
    """Whether a key has one of several alternatives, which replaces another."""
    return key in ("queue", "capacity", "delay", "loss")


def _with(scenario: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario with other values at these paths.

    >>> _with({"a": {"b": 1}}, {"a.b": 2, "c": 3})
    {'a': {'b': 2}, 'c': 3}
    """
    changed: dict[str, Any] = copy.deepcopy(dict(scenario))
    for path, value in values.items():
        *tables, key = path.split(".")
        at = changed
        for table in tables:
            at = at.setdefault(table, {})
        at[key] = value
    return changed


def _placed(value: Any, control: Any) -> Any:
    """The same with this control for `CONTROL`."""
    if isinstance(value, Mapping):
        return {
            key: control if key == "congestion" and one == CONTROL else _placed(one, control)
            for key, one in value.items()
        }
    return value


def judged(bounds: Bounds) -> str:
    """Bounds in words.

    >>> judged(Bounds(high=2.0)), judged(Bounds(low=0.5)), judged(Bounds(low=0.2, high=0.8))
    ('at most 2', 'at least 0.5', '0.2 to 0.8')
    """
    if bounds.low == -math.inf:
        return f"at most {bounds.high:g}"
    return f"at least {bounds.low:g}" if bounds.high == math.inf else f"{bounds.low:g} to {bounds.high:g}"
