"""Papers to print: the conclusions of each, and a page for each figure with its claims, in one PDF."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from varicap.interface import Folder, __version__, read_whole
from varicap.papers import conclusions
from varicap.papers.page import counted_lines
from varicap.papers.reproduce import Reproduction
from varicap.papers.verdict import Judged
from varicap.report.table import with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "papers.pdf"
_A4 = (8.27, 11.69)  # [inch]
_COLUMNS, _ROWS = 104, 74
"""Of a page of text."""
_MOST_PICTURE = 100_000_000
_TITLE, _ROOM = 4, 40
"""Rows of a figure's page above and below its picture."""


def write(done: Sequence[Reproduction], folder: Path) -> Path:
    """Write the book of what was reproduced, whose plots were drawn, into a folder; returns its path."""
    from matplotlib.backends.backend_pdf import PdfPages

    content = BytesIO()
    with PdfPages(content, metadata={"Creator": f"varicap {__version__}", "CreationDate": None}) as book:
        for one in done:
            for page in _pages(one):
                book.savefig(page)
    with Folder.inner(folder, make=True) as there:
        return there.write(NAME, content.getvalue())


def _pages(done: Reproduction) -> "Iterator[Figure]":
    lines = [*_wrapped(done.paper.title), "", *counted_lines(done), ""]
    for one in done.conclusions:
        of = one.conclusion
        lines += ["", *_wrapped(f"{one.stands.upper()}: {of.says} ({of.where})"), *_wrapped(f"“{of.quote}”", 4)]
        lines += _wrapped(f"{one.why} [{of.number}: {conclusions.number(one.number)}]", 4)
        for head, names in (("holds under", one.under), ("not under", one.not_under)):
            lines += _wrapped(f"{head}: {', '.join(names)}", 4) if names else []
        lines += [
            line
            for _, under in one.today
            for line in _wrapped(f"today, {under.name}: {conclusions.said(under.value)}, {under.verdict}", 4)
        ]
    for start in range(0, len(lines), _ROWS):
        yield _text(lines[start : start + _ROWS])
    for plot in done.plots:
        yield _figure(done, plot)


def _figure(done: Reproduction, plot: Path) -> "Figure":
    """A figure with the claims that it measures, as many as there is room for."""
    from matplotlib.image import imread

    title = _wrapped(f"[{done.paper.key}] {done.paper.figures[plot.stem]}")[:_TITLE]
    claims = [line for one in done.claims if one.claim.figure == plot.stem for line in _claim(one)]
    if len(claims) > _ROOM:
        claims = [*claims[: _ROOM - 1], "… and more, which the page of the paper has"]
    page = _text([*title, *[""] * (_ROWS - len(title) - len(claims)), *claims])
    axes = page.add_axes((0.08, 0.06 + 0.88 * len(claims) / _ROWS, 0.84, 0.88 * (1 - (len(claims) + 4) / _ROWS)))
    axes.imshow(imread(BytesIO(read_whole(plot, _MOST_PICTURE)), format="png"))
    axes.set_axis_off()
    return page


def _claim(judged: Judged) -> list[str]:
    claim, ours = judged.claim, judged.ours
    value = with_interval(ours.mean, ours.lo, ours.hi)
    said = f"{judged.verdict}: {claim.id} ({claim.where}): {claim.statement}: {value}, accepted {claim.tolerance}"
    return _wrapped(said)


def _text(lines: Sequence[str]) -> "Figure":
    from matplotlib.figure import Figure

    page = Figure(figsize=_A4)
    # A dollar would begin a formula.
    text = "\n".join(lines).replace("$", r"\$")
    page.text(0.06, 0.96, text, family="monospace", fontsize=7.5, va="top", linespacing=1.25)
    return page


def _wrapped(text: str, indent: int = 0) -> list[str]:
    return wrap(text, _COLUMNS, initial_indent=" " * indent, subsequent_indent=" " * (indent or 2))
