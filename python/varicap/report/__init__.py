"""Drawing only: tables for the terminal, figures, and pages, from the results of runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from varicap.engines.comparison import Comparison
    from varicap.report.web.source import Reportable
    from varicap.results.study import Study
    from varicap.results.tables import Recorded


def page(of: "Reportable", path: str | Path = "report.html", *, run: int = 0) -> Path:
    """Write one HTML file that shows results, a study, or a folder of either; returns the file.

    It needs no network and no other file.  Time series are those of the run with the number `run`, if it recorded any.
    Raises `varicap.saved.FolderError` for a folder without results.

    >>> import tempfile, varicap
    >>> result = varicap.run("examples/fixed.toml", seeds=2, series=True, overrides={"duration": "20 s"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page(result, f"{folder}/fixed.html").name
    'fixed.html'
    """
    from varicap.report.web.page import write

    return write(of, path, run)


def draw(of: "Recorded | Study | Comparison") -> "Figure":
    """The figure of runs over time, of a study over its first axis, or of the engines' windows."""
    from varicap.engines.comparison import Comparison
    from varicap.results.study import Study

    if isinstance(of, Comparison):
        from varicap.report.engines import windows

        return windows(of)
    if isinstance(of, Study):
        from varicap.report.sweep import chart

        return chart(of)
    from varicap.report.figure import overview

    return overview(of)


def html(of: "dict[str, Any] | Study | Comparison") -> str:
    """The numbers of a summary, a study or a comparison for a notebook."""
    from varicap.report import notebook

    return notebook.html(of)


def text(of: "Recorded | Study | Comparison") -> str:
    """The same numbers for the interactive interpreter."""
    from varicap.report import notebook

    return notebook.text(of)
