"""All cells of the analysis together: which loss probability the paper's tables follow, and how the paper searched."""

from dataclasses import replace
from functools import partial

from matplotlib.figure import Figure

from varicap.analyse.models.wireless import Parameters, estimate_all
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import on_grid, percent, published
from varicap.papers.wireless.tables import TABLES
from varicap.report.paper import Axis, Curve, curves

_LAST_DIGIT = 0.0051  # the paper truncates some halves of it and rounds others


def reproduce(run: Run) -> Outcome:
    """Distances of the cells from the paper's, for a fixed loss probability and for the printed criterion."""
    paper = published(run.key, [one for table in TABLES for one in table.ids()])
    fixed_links = [one for table in TABLES for one in table.links()]
    systems = [table.system for table in TABLES for _ in table.ids()]
    fixed = estimate_all(fixed_links)
    printed = percent(estimate_all([_printed(one) for one in fixed_links]))
    searched = [on_grid(system, one) for system, one in zip(systems, fixed, strict=True)]
    values = {
        "C-fixed": Value(model=_mean_distance(percent(fixed), paper)),
        "C-grid": Value(
            model=float(sum(abs(one - cell) < _LAST_DIGIT for one, cell in zip(searched, paper, strict=True)))
        ),
        "C-printed": Value(model=_mean_distance(printed, paper)),
    }
    return Outcome(values, partial(_draw, paper, percent(fixed), printed))


def _mean_distance(ours: list[float], paper: list[float]) -> float:
    return sum(abs(one - cell) for one, cell in zip(ours, paper, strict=True)) / len(paper)


def _draw(paper: list[float], fixed: list[float], printed: list[float]) -> Figure:
    order = sorted(range(len(paper)), key=lambda cell: paper[cell])
    x = range(len(order))
    lines = [
        Curve("fixed loss probability", x, [fixed[cell] for cell in order], 0, "model"),
        Curve("1 / W^2, as printed", x, [printed[cell] for cell in order], 1, "model"),
        Curve("the paper", x, [paper[cell] for cell in order], 6, "paper"),
    ]
    title = "The analysis's 36 cells of Tables I to VI"
    return curves(title, lines, Axis("cell, by the paper's value"), Axis("link utilisation [%]"))


def _printed(parameters: Parameters) -> Parameters:
    return replace(parameters, tolerated_loss=None)
