"""What may be varied: keys of a scenario with a range of numbers or a few values each, and the points between.

A place is a value in [0, 1) for each key: the share of a range, or of a list of values.  A key below a choice, such as
``queue.codel.target`` below ``queue``, counts where that choice is made, and only there.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from varicap.results.summary import Point
from varicap.study.axes import Axis, DesignError, Range

Place: TypeAlias = tuple[float, ...]
"""A share for each variable, in their order."""

_DIGITS = 3
"""Of a number that is no whole one: nobody sets a target of 65.744 ms."""
_DECADE = 10
"""Greatest over least, from which on a range is searched in its logarithm."""


@dataclass(frozen=True)
class Variable:
    """A key that is varied."""

    path: str
    choices: tuple[str, ...] = ()
    """Its values, if they are listed."""
    range: Range | None = None

    @classmethod
    def read(cls, path: str, text: "str | Sequence[str]") -> "Variable":
        """A variable from ``LOW..HIGH``, with `` log`` or `` linear`` behind it if wanted, or from a list of values.

        A range of a decade or more is searched in its logarithm.  Raises `DesignError`.

        >>> Variable.read("limit", "5..500 packets").text(0.5)
        '50 packets'
        >>> Variable.read("tcp.congestion", "reno,cubic").choices
        ('reno', 'cubic')
        """
        given = Axis.read(f"{path}={text}").values if isinstance(text, str) else tuple(text)
        if len(given) == 1 and ".." in given[0]:
            linear = given[0].endswith(" linear")
            found = Range.read(path, given[0].removesuffix(" linear"))
            if found.low > 0 and found.high >= _DECADE * found.low and not linear:
                found = Range(low=found.low, high=found.high, unit=found.unit, logarithmic=True, whole=found.whole)
            return cls(path, range=found)
        if len(set(given)) < len(given):
            raise DesignError(f"{path}: a value is given twice")
        return cls(path, choices=given)

    @property
    def numeric(self) -> Range:
        """Its range; it must have one."""
        if self.range is None:
            raise DesignError(f"{self.path}: its values are a list, not a range of numbers")
        return self.range

    def text(self, share: float) -> str:
        """Its value at a share, as a file has it."""
        if self.range is not None:
            return self.range.value(share)
        return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]

    def place(self, text: str) -> float:
        """The number of one of its values, or where it stands in the list."""
        if self.range is None:
            return float(self.choices.index(text))
        return float(text.removesuffix(self.range.unit))

    def snapped(self, share: float) -> float:
        """The share of the value that `text` gives, the same for all shares with that text."""
        if self.range is None:
            return (min(int(share * len(self.choices)), len(self.choices) - 1) + 0.5) / len(self.choices)
        if self.range.whole:
            return self.range.share(round(self.range.number(share)))
        rounded = float(f"{self.range.number(share):.{_DIGITS}g}")
        return self.range.share(min(max(rounded, self.range.low), self.range.high))


@dataclass(frozen=True)
class Space:
    """All variables of a problem."""

    variables: tuple[Variable, ...]

    @classmethod
    def read(cls, vary: Mapping[str, "str | Sequence[str]"]) -> "Space":
        """The space of a mapping of paths to ranges or values.  Raises `DesignError`."""
        if not vary:
            raise DesignError("nothing may be varied: give a key and its range, such as PATH=LOW..HIGH")
        # What decides whether a key counts is set before it.
        return cls(
            tuple(Variable.read(path.strip(), vary[path]) for path in sorted(vary, key=lambda path: path.count(".")))
        )

    @property
    def line(self) -> bool:
        """Whether there is one variable only, a range."""
        return len(self.variables) == 1 and self.variables[0].range is not None

    def active(self, place: Place) -> tuple[bool, ...]:
        """Whether each variable counts at a place."""
        return tuple(self._counts(number, place) for number in range(len(self.variables)))

    def _counts(self, number: int, place: Place) -> bool:
        path = self.variables[number].path
        for other, variable in enumerate(self.variables):
            if variable.choices and path.startswith(f"{variable.path}."):
                below = path[len(variable.path) + 1 :]
                name = _name(variable.text(place[other]))
                if not (below == name or below.startswith(f"{name}.")) or not self._counts(other, place):
                    return False
        return True

    def free(self, place: Place) -> tuple[int, ...]:
        """The numbers of the ranges that count at a place."""
        return tuple(
            number
            for number, counts in enumerate(self.active(place))
            if counts and self.variables[number].range is not None
        )

    def choice(self, place: Place) -> Place:
        """What stands for the listed values that count at a place: the place, with every range in its middle."""
        return tuple(
            share if variable.choices else 0.5
            for share, variable in zip(self.snapped(place), self.variables, strict=True)
        )

    def point(self, place: Place) -> Point:
        """The values at a place, without those that do not count there."""
        return tuple(
            (variable.path, variable.text(share))
            for variable, share, counts in zip(self.variables, place, self.active(place), strict=True)
            if counts
        )

    def snapped(self, place: Place) -> Place:
        """The place with the same point that stands for all of them."""
        rounded = tuple(variable.snapped(share) for variable, share in zip(self.variables, place, strict=True))
        return tuple(share if counts else 0.5 for share, counts in zip(rounded, self.active(rounded), strict=True))

    def named(self, text: str) -> int | None:
        """The number of the variable with this path, or with the only path that ends so."""
        paths = [variable.path for variable in self.variables]
        if text in paths:
            return paths.index(text)
        ends = [number for number, path in enumerate(paths) if path.endswith(f".{text}")]
        return ends[0] if len(ends) == 1 else None

    def near(self, place: Place, step: float) -> Iterator[Place]:
        """Places around one, a step away along each range that counts, and for two ranges along both."""
        free = self.free(place)
        for number in free:
            for by in (-step, step):
                yield self._moved(place, {number: by})
        if len(free) == 2:
            for one in (-step, step):
                for other in (-step, step):
                    yield self._moved(place, {free[0]: one, free[1]: other})

    def _moved(self, place: Place, by: Mapping[int, float]) -> Place:
        moved = list(place)
        for number, step in by.items():
            variable = self.variables[number]
            target = min(1.0, max(0.0, place[number] + step))
            found = variable.snapped(target)
            if found == variable.snapped(place[number]) and variable.numeric.whole:
                # A step that rounds to nothing is one whole number.
                whole = round(variable.numeric.number(place[number])) + (1 if step > 0 else -1)
                whole = min(max(whole, round(variable.numeric.low)), round(variable.numeric.high))
                found = variable.numeric.share(whole)
            moved[number] = found
        return tuple(moved)


def _name(value: str) -> str:
    """The name of a choice: a word, or the key of an inline table."""
    if value.startswith("{"):
        try:
            return str(next(iter(tomllib.loads(f"value = {value}")["value"])))
        except (tomllib.TOMLDecodeError, StopIteration):
            return value
    return value.strip("'\"")
