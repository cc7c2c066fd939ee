"""Drawing only: tables for the terminal, figures, and pages, from the results of runs."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from varicap.report.web.source import Reportable


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
