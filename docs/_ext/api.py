"""A page for each public part of the package, written before Sphinx looks for its sources."""

import pkgutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

import varicap

# The command line has a page of its own; figures of papers and the insides of pages are not for import.
HIDDEN = ("varicap.cli", "varicap.report.web", "varicap.papers.")
SHOWN = ("varicap.papers.claims", "varicap.papers.verdict", "varicap.papers.run", "varicap.papers.reproduce")


def modules() -> list[str]:
    """The public modules, by name."""
    found = (module.name for module in pkgutil.walk_packages(varicap.__path__, "varicap.", onerror=lambda _: None))
    return sorted(
        name
        for name in found
        if name in SHOWN or not (name.startswith(HIDDEN) or any(part.startswith("_") for part in name.split(".")))
    )


def pages() -> dict[str, str]:
    """The text of each page, by the name of its file."""
    texts: dict[str, str] = {}
    for module in modules():
        page = ".".join(module.split(".")[:2])
        heading = "=" if module == page else "-"
        title = f"{module}\n{heading * len(module)}\n"
        texts[page] = texts.get(page, "") + f"{title}\n.. automodule:: {module}\n   :members:\n   :undoc-members:\n\n"
    return {f"{name}.rst": text for name, text in texts.items()}


def index() -> str:
    """The overview: what `varicap` itself offers, and its modules."""
    lines = ["Python", "======", "", ".. currentmodule:: varicap", "", ".. automodule:: varicap", ""]
    lines += [".. list-table::", "   :widths: 30 70", ""]
    for name in varicap.__all__:
        thing = getattr(varicap, name)
        if name.startswith("__"):
            continue
        said = (thing.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ")
        if isinstance(thing, type(varicap)):
            link = f":doc:`varicap.{name} </reference/api/varicap.{name}>`"
        else:
            link = f":py:obj:`varicap.{name} <{thing.__module__}.{thing.__qualname__}>`"
        lines += [f"   * - {link}", f"     - {' '.join(said.split())}"]
    lines += ["", ".. toctree::", "   :hidden:", "   :glob:", "", "   varicap.*", ""]
    return "\n".join(lines)


def write(app: Sphinx) -> None:
    """Write what has changed, and remove what is no longer there."""
    folder = Path(app.srcdir) / "reference/api"
    folder.mkdir(exist_ok=True)
    wanted = pages() | {"index.rst": index()}
    for file in folder.iterdir():
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = folder / name
        if not file.is_file() or file.read_text() != text:
            file.write_text(text)


def formulas(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Indented lines below an empty one are formulas: shown as they are written."""
    shown: list[str] = []
    margin = ""
    for line in lines:
        above = shown[-1].strip() if shown else ""
        if line.startswith("    ") and not above and not margin.startswith(" "):
            shown += ["::", ""]
        shown.append(line)
        margin = line[:1] or margin
    lines[:] = shown


def numpy_sections(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Parameters, Raises, …  Not of attributes, in whose first line a colon is just a colon."""
    if what not in ("attribute", "data"):
        lines[:] = NumpyDocstring(lines, Config(), app, what, name, thing, options).lines()


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", formulas, priority=400)
    app.connect("autodoc-process-docstring", numpy_sections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
