"""The navigation of each page without what it leaves out: titles of pages, and no headings or members of modules.

Sphinx copies the contents of all pages for each page, and then drops all but their titles: that was half of its time.
"""

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

_titles: dict[str, nodes.Element] = {}
"""The contents of each page, once for all of them."""


def titles(contents: nodes.Element) -> nodes.Element:
    """The contents of a page as Sphinx leaves them where titles alone are asked for."""
    kept = contents.deepcopy()
    for top in kept.children:
        if isinstance(top, nodes.Element) and len(top) > 1:
            if below := list(top.findall(addnodes.toctree)):
                top[1][:] = below
            else:
                top.pop(1)
    return kept


def shorten(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Let whoever asks for the navigation of a page have it made from titles, if titles are all that is asked for."""
    whole = context.get("toctree")
    if whole is None:
        return
    tocs = app.env.tocs
    if not _titles:
        _titles.update({name: titles(contents) for name, contents in tocs.items()})

    def navigation(**asked: Any) -> Any:
        if not asked.get("titles_only"):
            return whole(**asked)
        app.env.tocs = _titles
        try:
            return whole(**asked)
        finally:
            app.env.tocs = tocs

    context["toctree"] = navigation


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("html-page-context", shorten, priority=100)  # before the theme, which asks then
    return {"parallel_read_safe": True, "parallel_write_safe": True}
