"""What notebooks and the interactive interpreter show of results: tables of their numbers."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.cells import cell_len

from varicap._printable import printable
from varicap.engines.comparison import Comparison
from varicap.report import points
from varicap.report.table import Summary, rows, significant, title_of
from varicap.results.study import Study

if TYPE_CHECKING:
    from varicap.results.tables import Recorded

Grid: TypeAlias = tuple[Sequence[str], list[list[str]]]
"""Headings and rows."""

_MOST_POINTS = 20


def html(of: "Summary | Study | Comparison") -> str:
    """The numbers as HTML."""
    title, grids = _numbers(of)
    return f"<p><b>{escape(title)}</b></p>" + "".join(_html(*grid) for grid in grids)


def grid(title: str, headings: Sequence[str], body: list[list[str]]) -> str:
    """Any table as HTML, below its title."""
    return f"<p><b>{escape(title)}</b></p>{_html(headings, body)}"


def text(of: "Recorded | Study | Comparison") -> str:
    """The numbers as lines of text, after the name of the type."""
    title, grids = _numbers(of if isinstance(of, Study | Comparison) else of.summary)
    lines = [line for grid in grids for line in _lines(*grid)]
    return "\n  ".join([f"{type(of).__name__} of {printable(title)}", *lines])


def _numbers(of: "Summary | Study | Comparison") -> tuple[str, list[Grid]]:
    if isinstance(of, Study):
        count = len(of.points)
        more = f", of which {_MOST_POINTS} are here" if count > _MOST_POINTS else ""
        title = f"{of.name}: {count} point{'s' if count != 1 else ''}{more}, ± 95 % interval"
        return title, [points.tall(of, _MOST_POINTS)]
    if isinstance(of, Comparison):
        engines = list(of.summaries)
        grid = [_compared(row, engines) for row in of.to_dict()["differences"]]
        refused = [f"{name} does not apply" for name in of.answers if name not in engines]
        return f"{of.scenario}: {', '.join([*engines, *refused])}", [(["flow", "measure", *engines], grid)]
    tables = rows(of)
    return title_of(of, tables), list(tables)


def _compared(row: dict[str, Any], engines: list[str]) -> list[str]:
    """What each engine says, and how far it is from the first."""
    cells = []
    for engine in engines:
        value, apart = row["values"].get(engine), row["difference_percent"].get(engine)
        cells.append("–" if value is None else significant(value, 4) + ("" if apart is None else f" ({apart:+.1f} %)"))
    return [row["flow"], f"{row['measure']} [{row['unit']}]" if row["unit"] else row["measure"], *cells]


def _html(headings: Sequence[str], body: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in body)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _lines(headings: Sequence[str], body: list[list[str]]) -> list[str]:
    """Columns as wide as a terminal shows their cells, which come from files and are made safe for it."""
    grid = [[printable(cell) for cell in row] for row in (headings, *body)]
    widths = [max(map(cell_len, column)) for column in zip(*grid, strict=True)]
    return [
        "  ".join(" " * (width - cell_len(cell)) + cell for cell, width in zip(row, widths, strict=True))
        for row in grid
    ]
