"""What every part of a typed scenario can do: turn into the table of a file, and back."""

import json
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

import varicap._core as _core
from varicap._files import read_scenario


@dataclass(frozen=True)
class Part:
    """A table of a scenario file, as a value."""

    _tag: ClassVar[str] = ""
    """The name of the choice that this part is; empty if it is none."""
    _bare: ClassVar[bool] = False
    """Whether the choice holds a value rather than a table."""

    def to_dict(self) -> dict[str, Any]:
        """The table as a file would hold it, without what is default."""
        return {
            item.name.rstrip("_"): _plain(value)
            for item in fields(self)
            if (value := getattr(self, item.name)) is not None and value != item.default
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """The part that a table of a file describes."""
        hints = get_type_hints(cls)
        names = {item.name.rstrip("_"): item.name for item in fields(cls)}
        return cls(**{names[key]: _typed(hints[names[key]], value) for key, value in table.items()})


class ScenarioFile(Part):
    """A whole scenario file."""

    def to_toml(self) -> str:
        """The scenario as a TOML file, without what is default."""
        return "\n".join(_toml(self.to_dict(), ())).lstrip("\n") + "\n"

    @classmethod
    def from_toml(cls, path: str | Path, overrides: Mapping[str, str] | None = None) -> Self:
        """Read a file; `overrides` are what `--set` gives on the command line."""
        path = Path(path)
        pairs = list((overrides or {}).items())
        read = _core.Scenario.from_toml(read_scenario(path)[0], str(path), str(path.parent), pairs)
        return cls.from_dict(json.loads(read.to_json()))


def _plain(value: Any) -> Any:
    """Tables, lists, texts and numbers."""
    match value:
        case Part():
            inner = _plain(getattr(value, fields(value)[0].name)) if value._bare else value.to_dict()
            return {value._tag: inner} if value._tag else inner
        case Mapping():
            return {key: _plain(inner) for key, inner in value.items()}
        case str():
            return value
        case Sequence():
            return [_plain(inner) for inner in value]
        case _:
            return value


def _typed(hint: Any, value: Any) -> Any:
    """`value` of a file as the type that `hint` asks for."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    parts = [option for option in options if isinstance(option, type) and issubclass(option, Part)]
    if isinstance(value, Mapping):
        for part in parts:
            if part._tag in value:
                inner = value[part._tag]
                return part.from_dict({fields(part)[0].name: inner} if part._bare else inner)
        for part in parts:
            if not part._tag:
                return part.from_dict(value)
        inner_hint = next(get_args(option)[1] for option in options if get_origin(option) is Mapping)
        return {key: _typed(inner_hint, inner) for key, inner in value.items()}
    if isinstance(value, list):
        inner_hint = next(get_args(option)[0] for option in options if get_origin(option) is Sequence)
        return tuple(_typed(inner_hint, inner) for inner in value)
    return value


_DEEPEST_HEADER = 3


def _toml(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    """The lines of a table: its values, then its tables below headers of their own."""
    nested = {key: value for key, value in table.items() if isinstance(value, Mapping) and len(path) < _DEEPEST_HEADER}
    lines = [f"{_key(key)} = {_inline(value)}" for key, value in table.items() if key not in nested]
    if path and (lines or not nested):
        lines = ["", f"[{'.'.join(_key(key) for key in path)}]", *lines]
    for key, value in nested.items():
        lines += _toml(value, (*path, key))
    return lines


def _inline(value: Any) -> str:
    match value:
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_inline(inner)}" for key, inner in value.items()) + " }"
        case list():
            return "[" + ", ".join(_inline(inner) for inner in value) + "]"
        case str():
            # JSON's texts are TOML's, but for one character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return json.dumps(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _inline(key)
