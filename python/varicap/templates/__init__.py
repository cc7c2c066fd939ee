"""Starting scenarios: short, commented, and ready to run, with the traces that they need.

>>> from varicap import templates
>>> templates.names()
['control', 'handover', 'lte', 'satellite', 'sharing', 'web', 'wifi']
>>> print(templates.text("web").splitlines()[1].split("#")[0].strip())
name = "web"
"""

import keyword
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import varicap._core as _core
from varicap._folders import Folder
from varicap._names import unknown
from varicap._printable import PrintableError

if TYPE_CHECKING:
    from varicap.traces import Rates

_HERE = Path(__file__).parent
_STEP_S = 0.1
"""Traces are written in steps of this [s], so that their files stay small."""


_FILES = {"control": ("{0}.toml", "{0}.py", "test_{0}.py")}
"""Templates of several files in a folder of their own, by the names of their files; the first is the scenario."""


class TemplateError(PrintableError, ValueError):
    """A template that does not exist, or files that stand where it would be written."""


def names() -> list[str]:
    """The names of all templates."""
    return sorted([*(path.stem for path in _HERE.glob("*.toml")), *_FILES])


def description(name: str) -> str:
    """What a template is about, in a sentence."""
    return text(name).splitlines()[0].removeprefix("# ")


def text(name: str) -> str:
    """The scenario of a template."""
    if name not in names():
        raise TemplateError(f"there is {unknown('template', name, names())}")
    if name in _FILES:
        return _several(name, name)[f"{name}.toml"]
    return (_HERE / f"{name}.toml").read_text(encoding="utf-8")


def new(name: str, path: str | Path | None = None, *, force: bool = False) -> list[Path]:
    """Write a template to `path` (``NAME.toml`` by default), and beside it the trace that it needs, if any.

    Returns what was written, the scenario first.  Files that are there stay as they are, and `TemplateError` is
    raised, unless `force` is given.
    """
    scenario = text(name)
    target = Path(f"{name}.toml") if path is None else Path(path)
    beside = trace_name(name)
    trace = None if beside is None else target.parent / beside
    if target.suffix.lower() == ".json":
        raise TemplateError(f"{target}: templates are TOML with comments, which JSON cannot hold; choose NAME.toml")
    if trace is not None and _is_same(target, trace):
        raise TemplateError(f"{target}: the trace that the scenario needs is written there; choose another name")
    several = _several(name, _module(target)) if name in _FILES else {}
    wanted = [target] if trace is None else [target, trace]
    wanted += [target.parent / each for each in several if each != target.name]
    there = [str(each) for each in wanted if os.path.lexists(each)]
    if there and not force:
        raise TemplateError(f"{' and '.join(there)}: there is such a file already; it stays as it is without --force")
    with Folder(target.parent, make=True) as folder:
        contents = {} if trace is None else {trace.name: _trace_text(name).encode()}
        contents[target.name] = scenario.encode()
        contents |= {each: found.encode() for each, found in several.items()}
        for each in contents:
            folder.remove_link(each)  # it is replaced, and not what it points to
        folder.write_all(contents)
    return wanted


def _module(target: Path) -> str:
    """The name of a control whose scenario is `target`: one that Python can import."""
    if target.suffix != ".toml" or not target.stem.isidentifier() or keyword.iskeyword(target.stem):
        raise TemplateError(
            f"{target}: its name is that of a module of Python, too: letters, digits and _, as my_reno.toml"
        )
    return target.stem


def _several(name: str, module: str) -> dict[str, str]:
    """The files of a template with several, for a module of this name."""
    known = {"MODULE": module, "CLASS": "".join(part.capitalize() for part in module.split("_"))}
    found = {}
    for file in _FILES[name]:
        text = (_HERE / name / f"{file.format(name)}.txt").read_text(encoding="utf-8")
        for word, meant in known.items():
            text = text.replace(word, meant)
        found[file.format(module)] = text
    return found


def trace_name(name: str) -> str | None:
    """The file that a template needs beside it, if any."""
    return f"{name}-capacity.csv" if name in _TRACES else None


def _is_same(target: Path, trace: Path) -> bool:
    """Whether two files of a folder have one name; case does not count, since it does not in some file systems."""
    return target.name.casefold() == trace.name.casefold()


def _trace_text(name: str) -> str:
    """The trace of a template as CSV; the same text on any machine."""
    made = _TRACES[name]()
    many = round(_STEP_S / float(made.time_s[1] - made.time_s[0]))
    means = made.rate_bps[: len(made.rate_bps) // many * many].reshape(-1, many).mean(axis=1)
    head = [f"# varicap {_core.__version__}: generated for `varicap new {name}`, measured nowhere", "time_s,rate_bps"]
    rows = [f"{place * _STEP_S:.1f},{rate:.0f}" for place, rate in enumerate(means)]
    return "\n".join([*head, *rows, ""])


def _lte() -> "Rates":
    from varicap.traces.cellular import generate_lte_rates

    return generate_lte_rates(7, 120.0)


def _satellite() -> "Rates":
    from varicap.traces.satellite import generate_leo

    return generate_leo(7, 180.0)


def _handover() -> "Rates":
    from varicap.traces.handover import generate_handover

    return generate_handover(7, 180.0)


_TRACES: Mapping[str, Callable[[], "Rates"]] = {"lte": _lte, "satellite": _satellite, "handover": _handover}
