"""How results come by pictures of themselves without knowing who draws them.

`varicap` itself says which module draws; it is imported when the first picture is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_drawer = ""


def drawn_by(module: str) -> None:
    """Register the module that draws: its `draw` makes a figure of results, its `html` the tables of a summary."""
    global _drawer
    _drawer = module


def figure(of: Any) -> "Figure":
    """The figure of what a run, a study or a comparison found."""
    drawn: Figure = import_module(_drawer).draw(of)
    return drawn


def html(summary: dict[str, Any]) -> str:
    """The tables of a summary, for a notebook."""
    text: str = import_module(_drawer).html(summary)
    return text
