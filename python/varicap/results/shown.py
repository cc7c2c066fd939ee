"""How results come by pictures of themselves without knowing who draws them.

`varicap` itself says which module draws; it is imported when the first picture is asked for.
"""

from functools import partial
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_drawer = ""


def drawn_by(module: str) -> None:
    """Register the module that draws: its `draw` makes a figure of results, its `html` and `text` tables."""
    global _drawer
    _drawer = module


def figure(of: Any) -> "Figure":
    """The figure of what a run, a study or a comparison found; in a notebook it shows itself."""
    drawn: Figure = import_module(_drawer).draw(of)
    # Notebooks know figures of pyplot only, which this is not.
    vars(drawn)["_repr_png_"] = partial(_png, drawn)
    return drawn


def html(of: Any) -> str:
    """The tables of a summary, a study or a comparison, for a notebook."""
    tables: str = import_module(_drawer).html(of)
    return tables


def text(of: Any) -> str:
    """The same tables for the interactive interpreter."""
    tables: str = import_module(_drawer).text(of)
    return tables


def _png(drawn: "Figure") -> bytes:
    image = BytesIO()
    drawn.savefig(image, format="png")
    return image.getvalue()
