"""JSON files that may come from anywhere, checked where they are read: whoever uses them finds what varicap writes.

A shape is written as the value that it describes: a type, a tuple of types, an object with the keys that must be there,
`[shape]` for a list, `Each(shape)` for an object with any keys, `Maybe(shape)` for what may be null or missing.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from varicap._folders import Folder, parsed
from varicap._printable import PrintableError

Shape: TypeAlias = Any

_GREATEST = sys.float_info.max
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", dict: "an object"}


class ShapeError(PrintableError, ValueError):
    """A value that is not what varicap writes: its key, and what was expected there."""


@dataclass(frozen=True)
class Each:
    """An object with any keys, whose values have one shape."""

    of: Shape


@dataclass(frozen=True)
class Maybe:
    """What may be null, or missing from its object."""

    of: Shape


@dataclass(frozen=True)
class Whole:
    """A whole number between two others."""

    low: int
    high: int


def read_json(
    folder: Folder, name: str, error: Callable[[str], Exception], kind: str = "a file that varicap wrote"
) -> dict[str, Any]:
    """The object in a JSON file; `error` makes the exception for a file that holds none, from a text that names it."""
    path = folder.path / name
    try:
        return object_in(path, folder.read(name), error, kind)
    except OSError as fault:
        raise error(f"{path}: {fault.strerror}") from None


def object_in(path: Path, text: bytes, error: Callable[[str], Exception], kind: str) -> dict[str, Any]:
    """The object in the text of a JSON file."""
    try:
        value = parsed(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise error(f"{path}: not {kind}")
    return value


def check_version(
    path: Path, value: Mapping[str, Any], key: str, version: int, error: Callable[[str], Exception]
) -> None:
    """Refuse a file of another version, or one that has none and so is something else."""
    found = value.get(key)
    if isinstance(found, bool) or not isinstance(found, int):
        raise error(f"{path}: not a file that varicap wrote: `{key}` is missing or not a whole number")
    if found != version:
        raise error(f"{path}: {key} {found}; this varicap reads {version}")


def check(value: Any, shape: Shape, key: str = "") -> None:
    """Raise `ShapeError` where a value departs from a shape.

    >>> check({"seed": 1, "traces": {"a": "b"}}, {"seed": int, "traces": Each(str), "more": Maybe(str)})
    >>> check({"tables": [{"rows": "3"}]}, {"tables": [{"rows": int}]})
    Traceback (most recent call last):
    varicap.results.stored.ShapeError: `tables.0.rows` is not a whole number
    """
    if isinstance(shape, Maybe):
        if value is not None:
            check(value, shape.of, key)
    elif isinstance(shape, Whole):
        check(value, int, key)
        if not shape.low <= value <= shape.high:
            raise ShapeError(f"`{key}` is not between {shape.low} and {shape.high}")
    elif isinstance(shape, Each):
        check(value, dict, key)
        for name, inner in value.items():
            check(inner, shape.of, _below(key, name))
    elif isinstance(shape, dict):
        check(value, dict, key)
        for name, inner in shape.items():
            if name not in value and not isinstance(inner, Maybe):
                raise ShapeError(f"`{_below(key, name)}` is missing")
            check(value.get(name), inner, _below(key, name))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise ShapeError(f"`{key}` is not a list")
        for place, inner in enumerate(value):
            check(inner, shape[0], _below(key, str(place)))
    elif not _is(value, shape):
        raise ShapeError(f"`{key}` is not {_NAMES[shape]}" if key else f"not {_NAMES[shape]}")


def _is(value: Any, kind: type) -> bool:
    """Whether a value of JSON is of a type; a whole number is a number too, and true is none."""
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float) and abs(value) <= _GREATEST
    return isinstance(value, kind)


def _below(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
