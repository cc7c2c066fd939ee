"""Within what a path may be: a file of bounds, or one of the presets, and the numbers from which a path follows."""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from varicap import units
from varicap._files import read_whole
from varicap._names import unknown
from varicap._printable import PrintableError
from varicap.falsify.conditions import Aggregation, Buffer, Condition, Conditions, Course, Loss, Piece, Rivals, links_of

_MOST = 1_000_000
_DIGITS = 3
_EDGE = 0.05
"""Of a number from zero to one at each end, which is the bound itself: what breaks a control is often extreme."""
_MOST_PIECES, _MOST_RIVALS = 16, 100
_FOREVER = 0.97
"""From here on a piece lasts to the end."""

Numbers: TypeAlias = Sequence[float]


class BoundsError(PrintableError, ValueError):
    """Bounds that make no sense, and what was expected."""


@dataclass(frozen=True)
class Dimension:
    """A part of the bounds: how many numbers from zero to one it takes, and the condition that they make."""

    name: str
    count: int
    made: Callable[[Numbers], Condition | None]


@dataclass(frozen=True)
class Bounds:
    """All that may be varied."""

    dimensions: tuple[Dimension, ...]

    @property
    def count(self) -> int:
        """How many numbers a path takes."""
        return sum(one.count for one in self.dimensions)

    def conditions(self, numbers: Numbers) -> Conditions:
        """The conditions that numbers from zero to one stand for."""
        found, at = [], 0
        for one in self.dimensions:
            made = one.made([_edged(number) for number in numbers[at : at + one.count]])
            at += one.count
            if made is not None:
                found.append(made)
        return tuple(found)


def presets() -> list[str]:
    """The names of the bounds that varicap has."""
    found = (file.name for file in (resources.files(__package__) / "presets").iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def read(within: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    """The tables of bounds: of a preset by its name, a TOML file, or as they are.  Raises `BoundsError`."""
    if isinstance(within, Mapping):
        return within
    name = str(within)
    if name.lower() in presets():
        return tomllib.loads((resources.files(__package__) / f"presets/{name.lower()}.toml").read_text("utf-8"))
    if not name.endswith(".toml") and not Path(name).exists():
        raise BoundsError(f"{unknown('preset', name, presets())}, and it is no file")
    try:
        return tomllib.loads(read_whole(name, _MOST).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BoundsError(f"{name}: {error}") from None
    except OSError as error:
        raise BoundsError(f"{name}: {error.strerror or error}") from None


def bounds_of(tables: Mapping[str, Any], base: Mapping[str, Any], duration_s: float, rtt_s: float) -> Bounds:
    """What these tables let be varied in a scenario, whose base round trip is `rtt_s`.  Raises `BoundsError`."""
    _only("the bounds", tables, ("description", "links", "rivals"))
    links = links_of(base)
    dimensions = []
    for name, kinds in _table("links", tables.get("links", {})).items():
        if name not in links:
            raise BoundsError(f"links: {unknown('link', name, list(links))}")
        kinds = _table(f"links.{name}", kinds)
        _only(f"links.{name}", kinds, tuple(_KINDS))
        if "delay" in kinds and "jitter" in kinds:
            raise BoundsError(f"links.{name}: `delay` and `jitter` both say what the delay may be: give one of them")
        for kind, table in kinds.items():
            path = f"links.{name}.{kind}"
            given = _Given(path, _table(path, table), duration_s, rtt_s)
            dimensions.append(_KINDS[kind](given, name, links[name]))
            given.nothing_else()
    for control, table in _table("rivals", tables.get("rivals", {})).items():
        given = _Given(f"rivals.{control}", _table(f"rivals.{control}", table), duration_s, rtt_s)
        most, latest = given.whole("most", _MOST_RIVALS), given.seconds("latest", "0 s")
        given.nothing_else()
        dimensions.append(Dimension(f"rivals.{control}", 2, partial(_rivals, control, most, latest)))
    if not dimensions:
        raise BoundsError("the bounds let nothing be varied: give a table such as [links.forward.capacity]")
    return Bounds(tuple(dimensions))


class _Given:
    """The keys of a table, each read once."""

    def __init__(self, path: str, table: Mapping[str, Any], duration_s: float, rtt_s: float) -> None:
        self.path, self.duration_s = path, duration_s
        self._left, self._rtt_s = dict(table), rtt_s

    def take(self, key: str, default: Any = None) -> Any:
        if key not in self._left and default is None:
            raise BoundsError(f"{self.path}: lacks `{key}`")
        return self._left.pop(key, default)

    def read(self, key: str, reader: Callable[[str], float], default: str | None = None) -> float:
        text = self.take(key, default)
        try:
            value = reader(text)
        except (ValueError, TypeError) as error:
            raise BoundsError(f"{self.path}.{key}: {error}") from None
        if not 0 <= value < math.inf:
            raise BoundsError(f"{self.path}.{key}: `{text}` is not a finite amount")
        return value

    def seconds(self, key: str, default: str | None = None) -> float:
        """A span, or so many base round trips: ``"0.5 rtt"``."""

        def reader(text: str) -> float:
            number, unit, rest = str(text).partition("rtt")
            return float(number) * self._rtt_s if unit and not rest else units.seconds(text)

        return self.read(key, reader, default)

    def whole(self, key: str, most: int, default: int | None = None) -> int:
        value = self.take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise BoundsError(f"{self.path}.{key}: found `{value}`, expected a whole number from 1 to {most}")
        return value

    def range(self, reader: Callable[[str], float]) -> tuple[float, float]:
        low, high = self.read("low", reader), self.read("high", reader)
        if low > high:
            raise BoundsError(f"{self.path}: `low` is above `high`")
        return low, high

    def course(self) -> tuple[int, float, bool]:
        """How many pieces a course may have, how long each lasts at least [s], and whether they may repeat."""
        pieces, hold, repeats = self.whole("pieces", _MOST_PIECES, 1), self.seconds("hold", "1 s"), self._repeats()
        if pieces > 1 and not 0 < hold < self.duration_s:
            raise BoundsError(f"{self.path}.hold: {hold:g} s is not within the duration of {self.duration_s:g} s")
        return pieces, hold, repeats and pieces > 1

    def _repeats(self) -> bool:
        value = self._left.pop("repeats", False)
        if not isinstance(value, bool):
            raise BoundsError(f"{self.path}.repeats: found `{value}`, expected true or false")
        return value

    def nothing_else(self) -> None:
        if self._left:
            raise BoundsError(f"{self.path}: unknown key `{next(iter(self._left))}`")


def _capacity(given: _Given, link: str, _written: Mapping[str, Any]) -> Dimension:
    low, high = given.range(units.bits_per_second)
    return _course(given, link, "capacity", _between(low, high, logarithmic=low > 0))


def _delay(given: _Given, link: str, _written: Mapping[str, Any]) -> Dimension:
    low, high = given.range(units.seconds)
    return _course(given, link, "delay", _between(low, high))


def _jitter(given: _Given, link: str, written: Mapping[str, Any]) -> Dimension:
    """Delay on top of the file's, within a budget: what CCAC and the theory of starvation let a path do."""
    budget = given.seconds("budget")
    delay = written.get("delay", "0 s")
    if not isinstance(delay, str):
        raise BoundsError(f'{given.path}: a budget is added to a constant delay, such as delay = "20 ms" in the file')
    own = units.seconds(delay)
    return _course(given, link, "delay", _between(own, own + budget))


def _course(given: _Given, link: str, kind: Any, value: Callable[[float], float]) -> Dimension:
    pieces, hold, repeats = given.course()
    spread = _between(hold, max(hold, given.duration_s), logarithmic=True)

    def made(numbers: Numbers) -> Condition:
        again = repeats and numbers[-1] >= 0.5
        found, until = [], 0.0
        for number in range(pieces):
            of_time = numbers[2 * number + 1]
            # A piece of a course that repeats is of the order of those that it alternates with.
            held = hold * (given.duration_s / hold) ** (of_time / 2) if again else spread(of_time)
            found.append(Piece(value(numbers[2 * number]), _rounded(held)))
            until += held
            if until >= given.duration_s or (not again and of_time >= _FOREVER):
                break
        return Course(link, kind, tuple(found), again and len(found) > 1)

    return Dimension(given.path, 2 * pieces + repeats, made)


def _aggregation(given: _Given, link: str, written: Mapping[str, Any]) -> Dimension:
    longest = given.seconds("longest")
    if written.get("capacity", "unlimited") != "unlimited":
        raise BoundsError(f"{given.path}: the link has a capacity of its own: only an unlimited one may aggregate")

    def made(numbers: Numbers) -> Condition | None:
        held = _rounded(numbers[0] * longest)
        return Aggregation(link, held) if held >= 1e-3 else None

    return Dimension(given.path, 1, made)


def _loss(given: _Given, link: str, _written: Mapping[str, Any]) -> Dimension:
    low, high = given.range(units.share)
    value = _between(low, high)

    def made(numbers: Numbers) -> Condition | None:
        lost = value(numbers[0])
        return Loss(link, lost) if lost > 0 else None

    return Dimension(given.path, 1, made)


def _buffer(given: _Given, link: str, _written: Mapping[str, Any]) -> Dimension:
    low, unit = _amount(given, "low")
    high, other = _amount(given, "high")
    if unit != other or not 0 < low <= high:
        raise BoundsError(f'{given.path}: expected two amounts of one unit, such as low = "0.5 bdp", high = "4 bdp"')
    value = _between(low, high, logarithmic=True)
    return Dimension(given.path, 1, lambda numbers: Buffer(link, value(numbers[0]), unit))


def _amount(given: _Given, key: str) -> tuple[float, str]:
    text = str(given.take(key))
    number, _, unit = text.strip().partition(" ")
    if unit not in ("bdp", "packets", "packet", "B", "kB", "MB"):
        raise BoundsError(f'{given.path}.{key}: found `{text}`, expected an amount such as "2 bdp" or "50 packets"')
    return given.read(key, float, number), unit


def _rivals(control: str, most: int, latest: float, numbers: Numbers) -> Condition | None:
    count = min(most, int(numbers[0] * (most + 1)))
    return Rivals(control, count, _rounded(numbers[1] * latest)) if count else None


_KINDS: dict[str, Callable[[_Given, str, Mapping[str, Any]], Dimension]] = {
    "capacity": _capacity,
    "delay": _delay,
    "jitter": _jitter,
    "aggregation": _aggregation,
    "loss": _loss,
    "buffer": _buffer,
}


def _between(low: float, high: float, *, logarithmic: bool = False) -> Callable[[float], float]:
    """The value at a number from zero to one."""

    def value(number: float) -> float:
        found = low * (high / low) ** number if logarithmic else low + number * (high - low)
        return min(max(_rounded(found), low), high)

    return value


def _edged(number: float) -> float:
    return min(max((float(number) - _EDGE) / (1 - 2 * _EDGE), 0.0), 1.0)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _table(path: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BoundsError(f"{path}: found `{value}`, expected a table")
    return value


def _only(path: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise BoundsError(f"{path}: {unknown('key', key, known)}")
