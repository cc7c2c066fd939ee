"""Tables as LaTeX and Markdown."""

import re
from collections.abc import Callable, Sequence

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


def latex(headings: Sequence[str], rows: Rows) -> str:
    r"""A table for the package booktabs; text of any origin stays text.

    >>> print(latex(["flow", "loss [%]"], [["a_b", "-1.0 ± 0.2"]]), end="")
    % \usepackage{booktabs}
    \begin{tabular}{lr}
      \toprule
      flow & loss [\%] \\
      \midrule
      a\_b & $-$1.0 $\pm$ 0.2 \\
      \bottomrule
    \end{tabular}
    """
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
        r"  \toprule",
        _latex_row(headings),
        r"  \midrule",
        *map(_latex_row, rows),
        r"  \bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    row = " & ".join(map(_latex_cell, cells))
    # After the end of a row a bracket would be the space below it, and a star would keep the rows together.
    guard = "{}" if row.startswith(("[", "*")) else ""
    return rf"  {guard}{row} \\"


def _latex_cell(text: str) -> str:
    escaped = "".join(_LATEX.get(sign, sign) for sign in printable(text))
    # In a name a hyphen is a hyphen, in a cell of numbers a minus.
    return re.sub(r"-(?=\d)", "$-$", escaped) if re.match(r"[+-]?\d", text) else escaped


def markdown(headings: Sequence[str], rows: Rows) -> str:
    r"""A table of GitHub's Markdown.

    >>> print(markdown(["flow", "lost"], [["a|b", "1"]]), end="")
    | flow | lost |
    |---|---:|
    | a\|b | 1 |
    """
    rule = "|".join(["---", *["---:"] * (len(headings) - 1)])
    lines = [_markdown_row(headings), f"|{rule}|", *map(_markdown_row, rows)]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    escaped = ("".join(_MARKDOWN.get(sign, sign) for sign in printable(cell)) for cell in cells)
    return f"| {' | '.join(escaped)} |"


FORMATS: dict[str, Callable[[Sequence[str], Rows], str]] = {"latex": latex, "markdown": markdown}
"""What makes the text of each format."""
