"""Arguments of plain types, converted without Pydantic, by which typer converts: loading it takes as long as a run.

Whatever is not plainly right is left to typer, and so has its message.
"""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

import typer.core

_PLACE = "build_runtime_param"
_ELSE = object()
"""What is not converted here."""


def convert_plainly() -> None:
    """From now on the program converts so, if this version of typer has the place for it."""
    make = getattr(typer.core, _PLACE, None)
    if make is not None:
        setattr(typer.core, _PLACE, lambda descriptor: _Plain(descriptor, make))


class _Plain:
    """In the place of what typer makes of the annotation of a parameter."""

    def __init__(self, descriptor: Any, make: Callable[[Any], Any]) -> None:
        self._descriptor = descriptor
        self._make = make

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        plain = _values(value, param, self._descriptor)
        return self._make(self._descriptor).coerce(value, param=param, ctx=ctx) if plain is _ELSE else plain


def _values(value: Any, param: Any, descriptor: Any) -> Any:
    """What a parameter has, which may be given several times or not at all."""
    info, annotation = descriptor.parameter_info, descriptor.annotation
    is_many = param.multiple or param.nargs == -1
    if info.parser is not None or (is_many and get_origin(annotation) is not list):
        return _ELSE
    if value is None:
        return () if is_many else None
    if not is_many:
        return _converted(value, annotation, info)
    if not isinstance(value, list | tuple):
        return _ELSE
    (each,) = get_args(annotation)
    found = [_converted(one, each, info) for one in value]
    return _ELSE if any(one is _ELSE for one in found) else found


def _converted(value: Any, annotation: Any, info: Any) -> Any:
    """The value as a parameter's type has it; `_ELSE` unless that is plain."""
    if annotation is str:
        return value if isinstance(value, str) else _ELSE
    if annotation is int:
        return _whole(value, info)
    if annotation is Path:
        is_checked = info.exists or info.resolve_path or info.writable or info.allow_dash or info.path_type
        return _ELSE if is_checked or not isinstance(value, str | Path) else Path(value)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next((one for one in annotation if value is one or value == one.value), _ELSE)
    return _ELSE


def _whole(value: Any, info: Any) -> Any:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if type(value) is not int:
        return _ELSE
    is_within = (info.min is None or value >= info.min) and (info.max is None or value <= info.max)
    return value if is_within else _ELSE
