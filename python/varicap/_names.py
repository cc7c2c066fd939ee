"""Names that are imported on first use, and what is said of names that are not there."""

from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from typing import Any


def on_first_use(
    package: str, names: Mapping[str, Iterable[str]], modules: Collection[str] = ()
) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports on first use: `names`, by the module that has them, and `modules`.

    >>> on_first_use("varicap", {"varicap.units": ["seconds"]})("seconds")("50 ms")
    0.05
    """
    homes = {name: module for module, found in names.items() for name in found}

    def attribute(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute


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
