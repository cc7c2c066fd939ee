"""The control that is evaluated: one that is built in, a class in a file or in memory, or a learned policy."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap import plugins
from varicap._files import sha256
from varicap._printable import PrintableError
from varicap.tcp import settings

_POLICIES = (".onnx", ".npz")


class ControlError(PrintableError):
    """What was named is no congestion control, and what would be."""


@dataclass(frozen=True)
class Control:
    """A congestion control, as scenarios have it."""

    name: str
    written: Any
    """What the ``congestion`` of a scenario takes."""
    made: Mapping[str, Any]
    """Classes that are written in Python, by name."""
    digest: str | None
    """Of the file that it comes from; none if it comes from none."""

    @property
    def is_lasting(self) -> bool:
        """Whether its results may be kept: whoever comes back finds the same control, or sees that it is another."""
        return not self.made or self.digest is not None


def control_of(name: str, plugin: str | Path | None = None, made: Mapping[str, Any] | None = None) -> Control:
    """The control of this name: a class of `made` or of the file `plugin`, a policy's file, or what a scenario has.

    A scenario's is a name, or a table such as ``{ cubic = { beta = 0.5 } }``.

    Raises `ControlError`, and whatever the file of a plugin raises.
    """
    if made and name in made:
        return Control(name, {"custom": name}, {name: made[name]}, None)
    if plugin is not None:
        try:
            found = plugins.read(plugin)
        except plugins.PluginError as error:
            raise ControlError(str(error)) from error
        make = found.controls.get(name)
        if not plugins.is_control(make):
            has = ", ".join(found.names) or "no class with `on_ack` and `on_congestion`"
            raise ControlError(f"{plugin}: no control `{name}` there; it has {has}")
        return Control(name, {"custom": name}, {name: make}, hashlib.sha256(found.text).hexdigest())
    if name.endswith(_POLICIES):
        file = Path(name)
        if not file.is_file():
            raise ControlError(f"{name}: no such file")
        return Control(file.stem, {"policy": {"file": str(file.absolute())}}, {}, sha256(file))
    written = _parameters(name)
    try:
        settings(congestion=written)
    except _core.ScenarioError as error:
        raise ControlError(
            f"{error}\nA class of your own comes with --plugin FILE.py, a learned policy as its file (.onnx, .npz)."
        ) from None
    return Control(name, written, {}, None)


def _parameters(name: str) -> Any:
    """A control as a scenario has it: its name, or a table of its parameters.

    >>> _parameters("bbr3"), _parameters("{ cubic = { beta = 0.5 } }")
    ('bbr3', {'cubic': {'beta': 0.5}})
    """
    if not name.startswith("{"):
        return name
    try:
        return tomllib.loads(f"control = {name}")["control"]
    except tomllib.TOMLDecodeError as error:
        raise ControlError(
            f"{name}: {error}; expected a table as in a scenario, {{ cubic = {{ beta = 0.5 }} }}"
        ) from None
