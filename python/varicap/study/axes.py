"""The axes of a study and the points that it visits: values of scenario keys, combined."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, isfinite, log
from typing import Literal, TypeAlias

from varicap import units
from varicap._printable import PrintableError
from varicap.results.summary import Point

Design: TypeAlias = Literal["product", "zip", "latin", "sobol"]

_RANGE = re.compile(r"^\s*([-+0-9.eE]+)\s*(.*?)\s*\.\.\s*([-+0-9.eE]+)\s*(.*?)(\s+log)?\s*$")


class DesignError(PrintableError, ValueError):
    """Axes that cannot be combined, or a range that cannot be read."""


@dataclass(frozen=True)
class Axis:
    """A key of the scenario and the values that it takes, or a range `low..high` from which a design chooses them.

    Linked keys, ``"a & b"``, take their values together: ``"1 & 2"`` is 1 of the first and 2 of the second, and a value
    without ``&`` is that of all of them.
    """

    path: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> "Axis":
        """An axis from ``path=value,value,…`` or ``path=low..high``.

        Commas inside brackets, braces and quotes belong to a value.

        >>> Axis.read("tcp.mss=500 B,1000 B").values
        ('500 B', '1000 B')
        >>> Axis.read("x=[1, 2],[3, 4]").values
        ('[1, 2]', '[3, 4]')
        """
        path, equals, values = text.partition("=")
        found = tuple(value.strip() for value in _split(values))
        if not equals or not path.strip() or not all(found):
            raise DesignError(f"`{text}` is not PATH=VALUE,VALUE,…")
        return cls(path.strip(), found)


def points(axes: Sequence[Axis], design: Design = "product", count: int | None = None, seed: int = 1) -> list[Point]:
    """The points of a study.

    ``product`` takes every combination, the last axis fastest; ``zip`` the first value of every axis, then the second,
    …; ``latin`` (Latin hypercube) and ``sobol`` spread `count` points over the ranges ``low..high`` of the axes, evenly
    in their logarithm where a range ends in `` log``.

    >>> points([Axis("a", ("1", "2")), Axis("b", ("3", "4"))])[1]
    (('a', '1'), ('b', '4'))
    >>> points([Axis("up & down", ("1 & 2", "3"))])
    [(('up', '1'), ('down', '2')), (('up', '3'), ('down', '3'))]
    >>> points([Axis("delay", ("10 ms..90 ms",))], "sobol", count=2)
    [(('delay', '10.0 ms'),), (('delay', '50.0 ms'),)]
    """
    names = [axis.path for axis in axes]
    if len(set(names)) < len(names):
        raise DesignError(f"an axis is given twice: {', '.join(names)}")
    if not axes:
        return [()]
    return [_unlinked(point) for point in _points(axes, design, count, seed)]


def _unlinked(point: Point) -> Point:
    """A point with each of its linked keys by itself."""
    found: list[tuple[str, str]] = []
    for path, value in point:
        keys = [key.strip() for key in path.split("&")]
        values = [part.strip() for part in value.split(" & ")] if len(keys) > 1 else [value]
        if len(values) not in (1, len(keys)):
            raise DesignError(
                f"`{value}`: {len(values)} values for {len(keys)} linked keys, expected one or one for each"
            )
        found += zip(keys, values * len(keys) if len(values) == 1 else values, strict=True)
    if len({key for key, _ in found}) < len(found):
        raise DesignError(f"an axis is given twice: {', '.join(key for key, _ in found)}")
    return tuple(found)


def _points(axes: Sequence[Axis], design: Design, count: int | None, seed: int) -> list[Point]:
    names = [axis.path for axis in axes]
    if design in ("product", "zip"):
        if count is not None:
            raise DesignError(f"the design `{design}` has as many points as its values give; leave the number out")
        columns = [axis.values for axis in axes]
        if design == "zip" and len({len(column) for column in columns}) > 1:
            lengths = ", ".join(f"{axis.path}: {len(axis.values)}" for axis in axes)
            raise DesignError(f"the design `zip` wants axes of one length, not {lengths}")
        rows: Iterable[tuple[str, ...]] = product(*columns) if design == "product" else zip(*columns, strict=True)
        return [tuple(zip(names, row, strict=True)) for row in rows]
    if count is None or count < 1:
        raise DesignError(f"the design `{design}` needs a number of points")
    scales = [_scale(axis) for axis in axes]
    return [
        tuple((name, scale(float(share))) for name, scale, share in zip(names, scales, row, strict=True))
        for row in _spread(design, len(axes), count, seed)
    ]


def axes_of(over: Mapping[str, Sequence[str] | str]) -> list[Axis]:
    """Axes from a mapping of paths to values or to a range."""
    return [Axis(path, (value,) if isinstance(value, str) else tuple(value)) for path, value in over.items()]


def _spread(design: str, dimensions: int, count: int, seed: int) -> list[list[float]]:
    """`count` points in the unit cube."""
    from scipy.stats import qmc

    if design == "latin":
        rows = qmc.LatinHypercube(dimensions, rng=seed).random(count)
    else:
        # Without scrambling, the first points are round numbers; a power of two of them is balanced.
        sampler = qmc.Sobol(dimensions, scramble=False)
        rows = sampler.random_base2((count - 1).bit_length())[:count]
    return [[float(share) for share in row] for row in rows]


def _scale(axis: Axis) -> Callable[[float], str]:
    """The value at a share of a range, with the unit of the range."""
    if len(axis.values) != 1:
        raise DesignError(f"{axis.path}: `{','.join(axis.values)}` is not a range such as 10 ms..100 ms")
    return Range.read(axis.path, axis.values[0]).value


@dataclass(frozen=True, kw_only=True)
class Range:
    """Numbers of one unit from `low` to `high`."""

    low: float
    high: float
    unit: str
    logarithmic: bool
    """Whether shares of the range are shares of its logarithm."""
    whole: bool
    """Whether its values are whole numbers: packets, or what is written without a unit and without a point."""

    @classmethod
    def read(cls, path: str, text: str) -> "Range":
        """A range of the key `path`, such as ``10 ms..100 ms`` or ``1..64 log``.  Raises `DesignError`.

        >>> Range.read("delay", "10 ms..90 ms").value(0.5)
        '50.0 ms'
        >>> Range.read("limit", "4..16 packets log").value(0.5)
        '8 packets'
        """
        match = _RANGE.match(text)
        if match is None:
            raise DesignError(f"{path}: `{text}` is not a range such as 10 ms..100 ms")
        try:
            low, high = float(match[1]), float(match[3])
        except ValueError:
            raise DesignError(f"{path}: `{text}` is not a range of numbers") from None
        unit, logarithmic = match[4], match[5] is not None
        if match[2] not in ("", unit):
            converted = _converted(f"{match[1]} {match[2]}", unit)
            if converted is None:
                raise DesignError(f"{path}: both ends of `{text}` want units of one quantity")
            low = converted
        if not (isfinite(low) and isfinite(high)):
            raise DesignError(f"{path}: `{text}` wants finite ends")
        if not low < high or (logarithmic and low <= 0):
            raise DesignError(f"{path}: `{text}` wants a lower end below the upper one, above 0 for log")
        whole = unit.startswith("packet") or (
            not unit and low.is_integer() and high.is_integer() and "." not in match[1]
        )
        return cls(low=low, high=high, unit=unit, logarithmic=logarithmic, whole=whole)

    def value(self, share: float) -> str:
        """The value at a share of the range, with its unit."""
        number = self.number(share)
        return f"{round(number) if self.whole else float(f'{number:.6g}')} {self.unit}".strip()

    def number(self, share: float) -> float:
        """The number at a share of the range; not rounded."""
        if self.logarithmic:
            return exp(log(self.low) + share * (log(self.high) - log(self.low)))
        return self.low + share * (self.high - self.low)

    def share(self, number: float) -> float:
        """Where a number lies: the inverse of `number`."""
        if self.logarithmic:
            return log(number / self.low) / log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)


def _converted(quantity: str, unit: str) -> float | None:
    """A time, rate, size or frequency in another unit; None if that is no unit of it."""
    for read in (units.seconds, units.bits_per_second, units.size, units.per_second):
        try:
            return read(quantity) / read(f"1 {unit}")
        except ValueError:
            continue
    return None


def _split(text: str) -> list[str]:
    """The parts between commas that are outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += letter
    return parts
