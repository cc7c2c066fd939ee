"""A study as a table and as a chart."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure

from varicap.report import style
from varicap.report.points import places as places_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varicap.results.study import Study

_MOST_CURVES = 7


def chart(study: "Study", measure: str = "goodput_bps") -> Figure:
    """A measure over the first axis, with 95 % intervals; a curve for each item and value of the other axes.

    Raises ``ValueError`` if the study has no such measure.
    """
    rows, unit = _measured(study, measure)
    figure = Figure(figsize=(7.5, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    paths = [path for path, _ in study.points[0]]
    curves: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        label = ", ".join([row["name"], *(row[path] for path in paths[1:])])
        curves.setdefault(label, []).append(row)
    places = places_of([dict(point)[paths[0]] for point in study.points]) if paths else {"": 0.0}
    for number, (label, points) in enumerate(list(curves.items())[:_MOST_CURVES]):
        _curve(axes, number, label, points, places, paths)
    style.plain(axes)
    axes.margins(x=0.03)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"{measure.removesuffix('_bps').removesuffix('_ms').replace('_', ' ')} [{unit}]", fontsize=8)
    axes.set_xlabel(style.literal(paths[0]) if paths else "", fontsize=8)
    if list(places.values()) == [float(place) for place in range(len(places))]:
        axes.set_xticks(list(places.values()), [style.literal(value) for value in places], fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    axes.set_title(style.literal(study.name), fontsize=10, loc="left")
    return figure


def _measured(study: "Study", measure: str) -> tuple[list[dict[str, Any]], str]:
    """The rows of a measure in the unit of the axis: of flows, or of links if flows have no such measure."""
    summary = study.summary
    rows = summary.filter(pc.equal(summary["measure"], measure)).to_pylist()
    rows = [row for row in rows if row["kind"] == "flows"] or rows
    if not rows:
        known = ", ".join(dict.fromkeys(summary["measure"].to_pylist()))
        raise ValueError(f"no measure `{measure}`; there are: {known}")
    unit, scale = ("Mb/s", 1e-6) if rows[0]["unit"] == "b/s" else (rows[0]["unit"], 1.0)
    return [{**row, **{key: row[key] * scale for key in ("mean", "lo", "hi")}} for row in rows], unit


def _curve(
    axes: "Axes", number: int, label: str, points: list[dict[str, Any]], places: Mapping[str, float], paths: list[str]
) -> None:
    points = sorted(points, key=lambda row: places[row[paths[0]] if paths else ""])
    at = [places[row[paths[0]] if paths else ""] for row in points]
    mean = np.array([row["mean"] for row in points])
    half = np.nan_to_num(np.array([row["hi"] for row in points]) - mean)
    axes.errorbar(
        at,
        mean,
        yerr=half,
        color=style.colour(number),
        linewidth=1.0,
        marker="o",
        markersize=3,
        capsize=2,
        label=style.literal(label),
    )
