"""Names that are imported on first use, modules that are known by a shorter name than their place, unknown names."""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # what it brings is needed by no import, and takes longer than all else here


def on_first_use(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names are imported on first use; `names` are by the module that has them.

    >>> on_first_use("varicap", {"varicap.units": ["seconds"]})("seconds")("50 ms")
    0.05
    """
    homes = {name: module for module, found in names.items() for name in found}

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return attribute


def all_of(package: str, module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that offers all names of one of its modules, imported on first use.

    >>> all_of("varicap.questions.effcap", "solve")("Path")().rule
    (7, 49)
    """

    def attribute(name: str) -> Any:
        # The import system asks for modules of the package in the same manner; these it finds by itself.
        if name.startswith("__") or find_spec(f"{package}.{name}") is not None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module}"), name)

    return attribute


class ShortNames(Loader):
    """Finds modules by a second name: ``varicap.tcp`` is the very module ``varicap.parts.tcp``, and so is all below it.

    `homes` are the places by the short names, which have one dot.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def install(self) -> None:
        """Go before the finder of files, which would load what lies below a short name a second time."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called for every import in the program."""
        return None if self._place(fullname) is None else ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module at its own place, which is imported now if it was not yet."""
        place = self._place(spec.name)
        assert place is not None, spec.name  # noqa: S101 - `find_spec` answered
        module = import_module(place)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run; the module is to say of itself what it said before."""
        assert module.__spec__ is not None  # noqa: S101 - the import system has just set it
        module.__spec__ = module.__spec__.loader_state

    def _place(self, name: str) -> str | None:
        if not name.startswith("varicap."):
            return None
        package, module, *below = name.split(".")
        home = self._homes.get(f"{package}.{module}")
        return None if home is None else ".".join([home, *below])


def unknown(what: str, name: str, known: Collection[str], most: int | None = None) -> str:
    """Why a name is refused: the one that was probably meant, and what there is, at most so many.

    >>> unknown("engine", "simm", ["sim", "model"])
    'no engine `simm`; did you mean `sim`? There are: sim, model'
    >>> unknown("engine", "xyzzy", ["sim", "model", "kernel"], most=2)
    'no engine `xyzzy`; there are: sim, model and 1 more'
    """
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    begin = f"did you mean `{close[0]}`? There are" if close else "there are"
    there = [each for each in known if each]
    more = "" if most is None or len(there) <= most else f" and {len(there) - most} more"
    return f"no {what} `{name}`; {begin}: {', '.join(there[:most])}{more}"
