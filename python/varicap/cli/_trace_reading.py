"""How a log is understood, as options of the commands that read one."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from varicap import units
from varicap.cli._quantities import reported
from varicap.terminal import one_of, quantity, say

if TYPE_CHECKING:
    from varicap.traces import Reading, Trace

_OPTIONS: dict[str, tuple[Any, str, str | None]] = {
    "columns": (None, "What columns are, by number from 0 or by name: time=0:s,rate=2:Mbit/s.", "as the file says"),
    "every": (
        None,
        "Time from row to row where no column has one; of a capture, over which packets count.",
        "by content",
    ),
    "only": (None, "Direction or series; of a capture `all` or '10.0.0.1 > 10.0.0.2:443'.", "a capture's busiest"),
    "gaps": ("hold", "Where rows or values are missing: hold, outage, refuse.", None),
    "duplicates": ("last", "Which row of an instant counts: last, first, mean, refuse.", None),
    "backward": ("refuse", "Rows earlier than the one before: refuse, sort, drop, append.", None),
    "unreadable": ("refuse", "Rows that cannot be read: refuse, skip.", None),
    "clip": (None, "The greatest rate: greater ones become this one.", "none"),
    "last": (None, "How long the last row lasts.", "as the one before it"),
    "resample": (None, "Time over which values become their means.", "none"),
    "strict": (False, "Refuse a log with gaps, duplicates, missing or absurd values.", None),
}
_CHOICES = {
    "gaps": ["hold", "outage", "refuse"],
    "duplicates": ["last", "first", "mean", "refuse"],
    "backward": ["refuse", "sort", "drop", "append"],
    "unreadable": ["refuse", "skip"],
}
_QUANTITIES = {"every": units.seconds, "last": units.seconds, "resample": units.seconds, "clip": units.bits_per_second}


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of a `Reading`, which it gets as ``reading``."""

    @wraps(command)
    def whole(**given: Any) -> None:
        command(reading=_reading({key: given.pop(key) for key in _OPTIONS}), **given)

    own = [each for name, each in inspect.signature(command).parameters.items() if name != "reading"]
    for name, (default, says, shown) in _OPTIONS.items():
        option = typer.Option(help=says, show_default=shown if shown else not isinstance(default, bool))
        kind: Any = bool if isinstance(default, bool) else str if default is not None else str | None
        parameter = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option], default=default
        )
        own.append(parameter)
    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    whole.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    whole.__annotations__ = {each.name: each.annotation for each in keyword}
    del whole.__wrapped__
    return whole


def _reading(given: dict[str, Any]) -> "Reading":
    from varicap.traces import Reading

    for name, choices in _CHOICES.items():
        given[name] = one_of(name, given[name], choices)
    for name, read in _QUANTITIES.items():
        if given[name] is not None and not quantity(f"--{name}", read, given[name]) > 0:
            raise typer.BadParameter(f"`{given[name]}` is not above zero", param_hint=f"--{name}")
    return Reading(**given)


def read(file: Path, reading: "Reading") -> "Trace":
    """The trace in a file; a mistake is reported."""
    from varicap import traces

    return reported(lambda: traces.load(file, reading))


def understood(trace: "Trace", file: Path | str, is_quiet: bool) -> None:
    """Say what was understood of a file."""
    if trace.understood is not None and not is_quiet:
        say(f"{file}: {trace.understood.sentence}")
