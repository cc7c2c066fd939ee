"""Drawing only: tables for the terminal, figures, and pages, from the results of runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from varicap.engines.comparison import Comparison
    from varicap.engines.fitted import FitComparison
    from varicap.report.web.source import Reportable
    from varicap.results.shown import Looks
    from varicap.results.study import Study
    from varicap.results.tables import Recorded


def page(of: "Reportable", path: str | Path = "report.html", *, run: int = 0, laboratory: str | None = None) -> Path:
    """Write one HTML file that shows results, a study, or a folder of either; returns the file.

    It needs no network and no other file.  Time series are those of the run with the number `run`, if it recorded any.
    A link opens the scenario in the laboratory at the address `laboratory`, else in that of this installation, if it
    has one; with an empty address there is no link.
    Raises `varicap.results.FolderError` for a folder without results.

    >>> import tempfile, varicap
    >>> result = varicap.run("examples/fixed.toml", seeds=2, series=True, overrides={"duration": "20 s"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page(result, f"{folder}/fixed.html").name
    'fixed.html'
    """
    from varicap.report.web.page import write

    return write(of, path, run, laboratory)


def draw(of: "Recorded | Study | Comparison | FitComparison", **looks: "Unpack[Looks]") -> "Figure":
    """The figure of runs over time, of a study over its first axis, of the engines' windows, or of a fit's answers.

    Raises ``ValueError`` for a look, a panel or a flow that there is not.
    """
    from varicap.engines.comparison import Comparison
    from varicap.engines.fitted import FitComparison
    from varicap.report.look import Look
    from varicap.results.study import Study

    given: dict[str, Any] = dict(looks)
    run, panels, flows, measure = (given.pop(name, None) for name in ("run", "panels", "flows", "measure"))
    # What is left says how the figure looks; a word that nobody knows is a TypeError, as of any function.
    look = Look(**given)
    if isinstance(of, Comparison):
        from varicap.report.engines import windows

        _refuse("a comparison", run=run, panels=panels, measure=measure)
        return windows(of, flows=flows, look=look)
    if isinstance(of, FitComparison):
        from varicap.report.fitted import figure

        _refuse("a comparison of fits", run=run, panels=panels, measure=measure, flows=flows)
        return figure(of, look)
    if isinstance(of, Study):
        from varicap.report.sweep import chart

        _refuse("a study", run=run)
        return chart(of, measure or "goodput_bps", panels=panels, flows=flows, look=look)
    from varicap.report.figure import overview

    return overview(of, run or 0, panels=panels, flows=flows, measure=measure, look=look)


def _refuse(what: str, **given: object) -> None:
    """Raise ``ValueError`` for options that say nothing of what is drawn."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"`{name}` is not for {what}")


def html(of: "dict[str, Any] | Study | Comparison") -> str:
    """The numbers of a summary, a study or a comparison for a notebook."""
    from varicap.report import notebook

    return notebook.html(of)


def text(of: "Recorded | Study | Comparison") -> str:
    """The same numbers for the interactive interpreter."""
    from varicap.report import notebook

    return notebook.text(of)
