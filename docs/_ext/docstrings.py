"""Docstrings are written to be read in an editor; here Sphinx learns how."""

from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring


def as_written(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Formulas (indented lines below an empty one), fenced blocks and tables with bars."""
    lines[:] = list(_blocks(list(lines)))


def of_matplotlib(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what Matplotlib adds to our figures, which is documented there and in roles that are known there."""
    return True if str(getattr(thing, "__module__", "")).startswith("matplotlib") else None


def _blocks(lines: list[str]) -> Iterator[str]:
    before = margin = ""
    while lines:
        line = lines.pop(0)
        if line.startswith("```"):
            yield from ("::", "")
            while lines and not lines[0].startswith("```"):
                yield f"    {lines.pop(0)}"
            del lines[:1]
            line = ""
        elif line.startswith("|"):
            rows = [line]
            while lines and lines[0].startswith("|"):
                rows.append(lines.pop(0))
            yield from _table(rows)
            line = ""
        elif line.startswith("    ") and not before and margin != " ":
            yield from ("::", "")
        yield line
        before, margin = line.strip(), line[:1] or margin


def _table(rows: list[str]) -> Iterator[str]:
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in rows:
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        if not set("".join(cells)) <= set("-: "):
            yield f"   * - {cells[0]}"
            yield from (f"     - {cell}" for cell in cells[1:])


def numpy_sections(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Parameters, Raises, …  Not of attributes and properties, in whose first line a colon is just a colon."""
    if what not in ("attribute", "data", "property"):
        lines[:] = NumpyDocstring(lines, Config(), app, what, name, thing, options).lines()


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("autodoc-process-docstring", as_written, priority=400)
    app.connect("autodoc-process-docstring", numpy_sections)
    app.connect("autodoc-skip-member", of_matplotlib)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
