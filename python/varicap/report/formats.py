"""Tables as LaTeX and Markdown."""

import re
from collections.abc import Callable, Sequence
from textwrap import wrap

from varicap._printable import printable

_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "–": "--",
    "−": "$-$",
    "→": r"$\rightarrow$",
    "…": r"\dots{}",
}
_MARKDOWN = {sign: f"\\{sign}" for sign in "\\`*_{}[]<>|#"}

Rows = Sequence[Sequence[str]]


_COLUMN_PT, _LETTER_PT, _BETWEEN_PT = 240.0, 4.4, 6.0
"""A column of two, the mean width of letters at footnote size, and what separates columns then [pt]."""
_SHORT = 12
"""Letters of a heading that is not broken."""


def latex(headings: Sequence[str], rows: Rows, note: str = "") -> str:
    r"""A table for the package booktabs, in small letters and with broken headings; text of any origin stays text.

    One that would be wider than a column is made as narrow (with the package graphicx).  A note stands below it.

    >>> print(latex(["flow", "loss [%]"], [["a_b", "-1.0 ± 0.2"]]), end="")
    % \usepackage{booktabs}
    {\footnotesize\setlength{\tabcolsep}{3pt}%
    \begin{tabular}{lr}
      \toprule
      flow & loss [\%] \\
      \midrule
      a\_b & $-$1.0 $\pm$ 0.2 \\
      \bottomrule
    \end{tabular}}
    """
    broken = [_broken(heading, max((len(row[at]) for row in rows), default=0)) for at, heading in enumerate(headings)]
    widest = [
        max(*(len(row[at]) for row in rows), *map(len, broken[at])) if rows else max(map(len, broken[at]))
        for at in range(len(headings))
    ]
    is_wide = _LETTER_PT * sum(widest) + _BETWEEN_PT * len(widest) > _COLUMN_PT
    lines = [
        r"% \usepackage{booktabs}" + (r" \usepackage{graphicx}" if is_wide else ""),
        r"{\footnotesize\setlength{\tabcolsep}{3pt}%",
        *([r"\resizebox{\columnwidth}{!}{%"] if is_wide else []),
        rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
        r"  \toprule",
        *_latex_headings(broken),
        r"  \midrule",
        *map(_latex_row, rows),
        r"  \bottomrule",
        r"\end{tabular}" + ("}" if is_wide else "") + ("" if note else "}"),
    ]
    if note:
        lines.append(rf"\par\smallskip\parbox{{\columnwidth}}{{{_latex_cell(note)}}}}}")
    return "\n".join(lines) + "\n"


def _broken(heading: str, room: int) -> list[str]:
    """A heading in lines, as wide as its longest word or what stands below it."""
    words = heading.split()
    return wrap(heading, max([room, _SHORT, *map(len, words)]), break_long_words=False) or [""]


def _latex_headings(broken: Sequence[Sequence[str]]) -> list[str]:
    """Headings as rows of their lines, the last of each at the bottom."""
    deep = max(map(len, broken))
    columns = [[""] * (deep - len(lines)) + list(lines) for lines in broken]
    return [_latex_row([column[line] for column in columns]) for line in range(deep)]


def _latex_row(cells: Sequence[str]) -> str:
    row = " & ".join(map(_latex_cell, cells))
    # After the end of a row a bracket would be the space below it, and a star would keep the rows together.
    guard = "{}" if row.startswith(("[", "*")) else ""
    return rf"  {guard}{row} \\"


def _latex_cell(text: str) -> str:
    escaped = "".join(_LATEX.get(sign, sign) for sign in printable(text))
    # In a name a hyphen is a hyphen, in a cell of numbers a minus.
    return re.sub(r"-(?=\d)", "$-$", escaped) if re.match(r"[+-]?\d", text) else escaped


def markdown(headings: Sequence[str], rows: Rows, note: str = "") -> str:
    r"""A table of GitHub's Markdown.

    >>> print(markdown(["flow", "lost"], [["a|b", "1"]]), end="")
    | flow | lost |
    |---|---:|
    | a\|b | 1 |
    """
    rule = "|".join(["---", *["---:"] * (len(headings) - 1)])
    lines = [_markdown_row(headings), f"|{rule}|", *map(_markdown_row, rows), *(["", note] if note else [])]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    escaped = ("".join(_MARKDOWN.get(sign, sign) for sign in printable(cell)) for cell in cells)
    return f"| {' | '.join(escaped)} |"


FORMATS: dict[str, Callable[[Sequence[str], Rows, str], str]] = {"latex": latex, "markdown": markdown}
"""What makes the text of each format."""
