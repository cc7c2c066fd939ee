"""Extensions of one's own in Python: what they are called, where they come from, and whether they are the same.

A scenario names an extension, ``congestion = { custom = "mine" }``, and never says where it comes from.  Whoever runs
it brings it: from memory (`varicap.run(…, controls=…, queues=…)`), from a file (``--plugin mine.py``, `read`), or by
having installed a package with an entry point in the group ``varicap.controls`` or ``varicap.queues``.  A class of a
file is found by its name in any spelling: ``MyReno`` is ``my-reno``, ``my_reno`` and ``myreno``, too.

The digest of an extension is that of the file that defines it, as far as one does; what that file imports is not in it.

>>> spellings("MyReno2")
('MyReno2', 'my-reno2', 'my_reno2', 'myreno2')
"""

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

from varicap._files import UnreadableError, read_whole, sha256
from varicap._printable import PrintableError

Make: TypeAlias = Callable[..., Any]
"""Makes a control, a queue or a policy: usually a class."""

GROUPS = ("varicap.controls", "varicap.queues")
"""Of entry points: congestion controls and policies of links; queues."""

_CONTROL, _QUEUE = ("on_ack", "on_congestion"), ("enqueue", "dequeue")
"""What makes a class a congestion control (`varicap.tcp.CongestionControl`) and a queue (`varicap.queues.Queue`)."""

_MOST = 10_000_000
"""Bytes of a file with code: more is none."""
_MODULE = "varicap_plugin_"
_CUSTOM = re.compile(r"""custom\s*=\s*["']([^"']+)["']""")


class PluginError(PrintableError, ValueError):
    """An extension that cannot be had, or is not the one that was meant."""


@dataclass(frozen=True)
class Plugin:
    """What a file brings; it was run to find out."""

    file: str
    text: bytes = field(repr=False)
    controls: Mapping[str, Make]
    """Congestion controls and policies of links, by each spelling of their names."""
    queues: Mapping[str, Make]

    @property
    def names(self) -> list[str]:
        """The congestion controls that it has, as they are written there."""
        return [name for name, make in self.controls.items() if is_control(make) and make.__name__ == name]


def read(file: str | Path) -> Plugin:
    """Run a Python file, and tell what it brings.  Raises `PluginError`."""
    path = Path(file)
    if path.suffix != ".py":
        raise PluginError(f"{file}: not a Python file; expected one that ends in .py")
    try:
        text = read_whole(path, _MOST)
    except UnreadableError as error:
        raise PluginError(f"{file}: {error}") from None
    module = _module(str(path), text)
    own = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type | FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    return Plugin(
        str(path),
        text,
        _by_spelling({name: make for name, make in own.items() if not _has(make, _QUEUE)}),
        _by_spelling({name: make for name, make in own.items() if not _has(make, _CONTROL)}),
    )


def together(files: Iterable[str | Path]) -> tuple[dict[str, Make], dict[str, Make]]:
    """The controls and the queues of several files.  Raises `PluginError`, also where two have the same name."""
    controls: dict[str, Make] = {}
    queues: dict[str, Make] = {}
    for plugin in map(read, files):
        for known, more in ((controls, plugin.controls), (queues, plugin.queues)):
            if both := known.keys() & more.keys():
                raise PluginError(f"{plugin.file}: another file of --plugin has a `{min(both)}`, too")
            known |= more
    return controls, queues


def spellings(name: str) -> tuple[str, ...]:
    """The names by which a scenario may call a class."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower().replace("_", "-")
    return tuple(dict.fromkeys((name, words, words.replace("-", "_"), words.replace("-", ""))))


def is_control(make: Any) -> bool:
    """Whether it is the class of a congestion control."""
    return isinstance(make, type) and _has(make, _CONTROL)


@dataclass(frozen=True)
class Extensions:
    """The extensions that runs use, by the names that their scenario has; it goes to other processes by value."""

    controls: Mapping[str, Make] = field(default_factory=dict)
    queues: Mapping[str, Make] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.controls or self.queues)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, controls first."""
        return (*self.controls, *self.queues)

    @property
    def origins(self) -> dict[str, dict[str, str] | None]:
        """By name the file that defines it and that file's digest; None if no file says what it is."""
        return {name: _origin(make) for name, make in (*self.controls.items(), *self.queues.items())}

    def __reduce__(self) -> tuple[Any, ...]:
        packed = [{name: _packed(make) for name, make in each.items()} for each in (self.controls, self.queues)]
        return _unpacked, (*packed, self.origins)


def used(
    scenario: Any,
    controls: Mapping[str, Make] | None = None,
    queues: Mapping[str, Make] | None = None,
    values: Sequence[tuple[str, str]] = (),
) -> Extensions:
    """Of what was brought, and of what is installed here, that which a scenario names.

    `scenario` is as JSON has it; `values` are others of its keys, by dotted path, as text.
    """
    named = dict.fromkeys([*_named(scenario), *_in_values(values)])
    found: tuple[dict[str, Make], dict[str, Make]] = ({}, {})
    for given, kept, group in zip((controls or {}, queues or {}), found, GROUPS, strict=True):
        for name in named:
            make = given.get(name)
            if make is None and name not in (controls or {}) and name not in (queues or {}):
                make = _installed(group).get(name)
            if make is not None:
                kept[name] = make
    return Extensions(*found)


def check_same(recorded: Mapping[str, Mapping[str, str] | None], brought: Extensions) -> None:
    """Refuse extensions that are missing, or not those of which the digests were recorded: `PluginError`."""
    there = brought.origins
    for name, before in recorded.items():
        file = "a file" if before is None else before["file"]
        option = "--plugin FILE.py" if before is None else f"--plugin {before['file']}"
        if name not in there:
            raise PluginError(f"it used `{name}`, written in Python in {file}, which is not kept: bring it by {option}")
        now = there[name]
        if before is not None and (now is None or now["sha256"] != before["sha256"]):
            here = "no file" if now is None else f"{now['file']} ({now['sha256'][:12]})"
            raise PluginError(f"`{name}` was of {file} ({before['sha256'][:12]}), and here it is of {here}")


def told(error: BaseException) -> str | None:
    """What an exception of an extension says, and where in its file and in the run; None for others."""
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str) and note.startswith("in ")]
    if not notes:
        return None
    said = str(error) if isinstance(error, ValueError) and not _frames(error) else f"{type(error).__name__}: {error}"
    where = "".join(f"{file}:{line}: " for file, line in _frames(error)[-1:])
    return f"{where}{said} ({'; '.join(notes)})"


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """The lines of files of ours that an exception came through."""
    found = []
    trace = error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_MODULE):
            found.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _module(file: str, text: bytes) -> ModuleType:
    """The module that a file is, which is run once for each text."""
    name = f"{_MODULE}{hashlib.sha256(text).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = file
    vars(module)["__varicap_text__"] = text
    sys.modules[name] = module
    try:
        exec(compile(text, file, "exec"), vars(module))  # noqa: S102 - the user named the file so that it is run
    except Exception as error:
        del sys.modules[name]
        line = "".join(f":{at}" for _, at in _frames(error)[-1:])
        raise PluginError(f"{file}{line}: {type(error).__name__}: {error}") from error
    return module


def _by_spelling(made: Mapping[str, Make]) -> dict[str, Make]:
    found: dict[str, Make] = dict(made)
    for name, make in made.items():
        for spelling in spellings(name):
            found.setdefault(spelling, make)
    return found


def _has(make: Make, methods: tuple[str, ...]) -> bool:
    return isinstance(make, type) and all(hasattr(make, each) for each in methods)


def _named(value: Any) -> Iterator[str]:
    """The names that a scenario has for what it leaves to others."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "custom" and isinstance(inner, str):
                yield inner
            else:
                yield from _named(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _named(inner)


def _in_values(values: Iterable[tuple[str, str]]) -> Iterator[str]:
    for path, text in values:
        if path.endswith(".custom"):
            yield text.strip().strip("\"'")
        yield from _CUSTOM.findall(text)


@lru_cache(maxsize=len(GROUPS))
def _installed(group: str) -> Mapping[str, Make]:
    """The extensions of installed packages, which are imported only if a scenario names them."""
    return _Installed(group)


class _Installed(dict[str, Make]):
    def __init__(self, group: str) -> None:
        super().__init__()
        self._points = {point.name: point for point in entry_points(group=group)}

    def get(self, name: str, otherwise: Any = None) -> Any:
        point = self._points.get(name)
        if point is None:
            return otherwise
        try:
            return point.load()
        except Exception as error:
            place = f"`{name}`, which the entry point {point.value} of an installed package names"
            raise PluginError(f"{place}: {type(error).__name__}: {error}") from error


def _origin(make: Make) -> dict[str, str] | None:
    """The file that defines an extension by itself, and its digest."""
    module = sys.modules.get(getattr(make, "__module__", "") or "")
    found: Any = module
    for part in getattr(make, "__qualname__", "<none>").split("."):
        found = getattr(found, part, None)
    if module is None or found is not make:
        return None  # it was made by something: what it does may depend on more than its text
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return None
    text = vars(module).get("__varicap_text__")
    try:
        digest = sha256(file) if text is None else hashlib.sha256(text).hexdigest()
    except OSError:
        return None
    return {"file": Path(file).name, "sha256": digest}


def _packed(make: Make) -> tuple[str, Any, str]:
    """An extension for another process: of a file that was named its text, otherwise what pickling makes of it."""
    module = sys.modules.get(getattr(make, "__module__", "") or "")
    text = None if module is None else vars(module).get("__varicap_text__")
    return ("", make, "") if text is None else (str(vars(module)["__file__"]), text, make.__qualname__)


def _unpacked(
    controls: Mapping[str, tuple[str, Any, str]],
    queues: Mapping[str, tuple[str, Any, str]],
    origins: Mapping[str, Mapping[str, str] | None],
) -> Extensions:
    found = Extensions(*({name: _made(*each) for name, each in kind.items()} for kind in (controls, queues)))
    check_same(origins, found)
    return found


def _made(file: str, value: Any, name: str) -> Any:
    made: Any = value if not name else _module(file, value)
    for part in name.split(".") if name else ():
        made = getattr(made, part)
    return made
