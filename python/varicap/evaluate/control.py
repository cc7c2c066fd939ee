"""The control that is evaluated: one that is built in, a class in a file or in memory, or a learned policy."""

import hashlib
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap._files import sha256
from varicap._printable import PrintableError
from varicap.tcp import settings

_POLICIES = (".onnx", ".npz")
_HAS = ("on_ack", "on_congestion")
"""What makes a class a congestion control (`varicap.tcp.CongestionControl`)."""


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
        found = classes(plugin)
        if name not in found:
            has = ", ".join(found) or "no class with `on_ack` and `on_congestion`"
            raise ControlError(f"{plugin}: no control `{name}` there; it has {has}")
        return Control(name, {"custom": name}, {name: found[name]}, sha256(Path(plugin)))
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


def classes(plugin: str | Path) -> dict[str, type]:
    """The congestion controls that a Python file defines, by the names of their classes.  It runs that file."""
    file = Path(plugin)
    if not file.is_file():
        raise ControlError(f"{plugin}: no such file")
    name = f"varicap_plugin_{hashlib.sha256(str(file.absolute()).encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ControlError(f"{plugin}: not a Python file; expected one that ends in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ControlError(f"{plugin}: {type(error).__name__}: {error}") from error
    return {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == name and all(hasattr(value, one) for one in _HAS)
    }
