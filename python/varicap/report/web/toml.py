"""A scenario as the file that it could have been read from."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def to_toml(scenario: Mapping[str, Any]) -> str:
    """The text of a TOML file with these keys; what is not given (None) is left out.

    >>> print(to_toml({"name": "x", "flows": {"a b": {"count": 2, "app": None}}}), end="")
    name = "x"
    <BLANKLINE>
    [flows]
    "a b" = { count = 2 }
    """
    return "\n".join(_lines(scenario, ())).lstrip("\n") + "\n"


def _lines(keys: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[str]:
    """The lines of a table: its values, then the tables within it."""
    given = {key: value for key, value in keys.items() if value is not None}
    plain = {key: value for key, value in given.items() if not _is_table(value)}
    if place and (plain or not given):
        yield ""
        yield f"[{'.'.join(map(_key, place))}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_value(value)}"
    for key, value in given.items():
        if _is_table(value):
            yield from _lines(value, (*place, key))


def _is_table(value: Any) -> bool:
    """A table of its own, if anything in it is one too; a small one stays in its line."""
    return isinstance(value, Mapping) and (len(value) > 3 or any(isinstance(each, Mapping) for each in value.values()))


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items() if each is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # A JSON text is a TOML text, except for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else json.dumps(key, ensure_ascii=False).replace("\x7f", "\\u007f")
