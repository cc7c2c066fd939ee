"""How results come by pictures of themselves without knowing who draws them.

`varicap` itself says which module draws; it is imported when the first picture is asked for.
"""

from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_drawer = ""


class Looks(TypedDict, total=False):
    """What a figure shows and how it looks, as the options of ``varicap plot``."""

    run: int
    """Of runs: the one whose series are drawn (the first by default)."""
    panels: Collection[str] | str | None
    """Of runs: rates, queue, delay, window, cwnd, rtt, scatter, fct. Of studies: curves, multiples, heat, scatter."""
    flows: Collection[str] | str | None
    """The flows that are drawn (all by default)."""
    measure: str | None
    """Of studies: a measure of the summary, such as rtt_p95_ms. Of runs: the delay of the scatter."""
    style: str
    """screen, paper (one column of 3.5 in) or slides."""
    width: float | str | None
    """In inches, or with its unit: "8.5 cm"."""
    height: float | str | None
    font: str | None
    """An installed family of fonts, or serif, sans-serif, monospace."""
    title: str | None
    log: str
    """The logarithmic axes: x, y or xy."""


def drawn_by(module: str) -> None:
    """Register the module that draws: its `draw` makes a figure of results, its `html` and `text` tables."""
    global _drawer
    _drawer = module


def figure(of: Any, **looks: Unpack[Looks]) -> "Figure":
    """The figure of what a run, a study or a comparison found; in a notebook it shows itself."""
    drawn: Figure = import_module(_drawer).draw(of, **looks)
    return drawn


def html(of: Any) -> str:
    """The tables of a summary, a study or a comparison, for a notebook."""
    tables: str = import_module(_drawer).html(of)
    return tables


def text(of: Any) -> str:
    """The same tables for the interactive interpreter."""
    tables: str = import_module(_drawer).text(of)
    return tables
