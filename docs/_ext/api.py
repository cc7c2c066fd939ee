"""A page for each public part of the package, written before Sphinx looks for its sources."""

import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

from generated import keep
from sphinx.application import Sphinx

import varicap

# The command line has a page of its own; figures of papers, the insides of pages and of dialogues are not for import.
HIDDEN = (
    "varicap.cli",
    "varicap.terminal",
    "varicap.report.web",
    "varicap.papers.",
    "varicap.engines.kernel_worker",
    "varicap.dialogue.",
)
SHOWN = ("varicap.papers.claims", "varicap.papers.verdict", "varicap.papers.run", "varicap.papers.reproduce")


def modules() -> list[str]:
    """The public modules, by name."""
    found = (module.name for module in pkgutil.walk_packages(varicap.__path__, "varicap.", onerror=lambda _: None))
    return sorted(
        name
        for name in found
        if name in SHOWN or not (name.startswith(HIDDEN) or any(part.startswith("_") for part in name.split(".")))
    )


def page(module: str, below: list[str]) -> str:
    """A module, and the way to those below it."""
    lines = [module, "=" * len(module), "", f".. automodule:: {module}", "   :members:", "   :undoc-members:", ""]
    if below:
        lines += [".. toctree::", "", *(f"   {name}" for name in below), ""]
    return "\n".join(lines)


def index(below: list[str]) -> str:
    """The overview: what `varicap` itself offers, and its modules."""
    lines = ["Python", "======", "", ".. automodule:: varicap", "", ".. list-table::", "   :widths: 35 65", ""]
    for name in sorted(set(dir(varicap)) - {"__version__"}):
        thing = getattr(varicap, name)
        said = (thing.__doc__ or "").strip().partition("\n\n")[0]
        lines += [f"   * - {_link(name, thing)}", f"     - {' '.join(said.split())}"]
    lines += ["", ".. autoexception:: varicap.ScenarioError", "   :members:", ""]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in below), ""])


def _link(name: str, thing: Any) -> str:
    if isinstance(thing, ModuleType):
        return f":doc:`varicap.{name} </reference/api/{thing.__name__}>`"
    home = "varicap" if thing.__module__ in ("varicap", "varicap._core") else thing.__module__
    return f":py:obj:`varicap.{name} <{home}.{thing.__name__}>`"


def write(app: Sphinx) -> None:
    """Write the pages, and remove those of modules that are no longer there."""
    folder = Path(app.srcdir) / "reference/api"
    below: dict[str, list[str]] = {}
    for module in modules():
        below.setdefault(module.rpartition(".")[0], []).append(module)
    wanted = {f"{module}.rst": page(module, below.get(module, [])) for module in modules()}
    wanted["index.rst"] = index(below["varicap"])
    for file in folder.glob("*.rst"):
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        keep(folder / name, text)


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
