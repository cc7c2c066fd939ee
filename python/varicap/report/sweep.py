"""A study as a table and as a chart."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure

from varicap.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varicap.study import Study

_MOST_CURVES = 7


def chart(study: "Study") -> Figure:
    """Goodput of each flow over the first axis, with 95 % intervals; a curve for each value of the other axes."""
    summary = study.summary
    rows = summary.filter(
        pc.and_(pc.equal(summary["kind"], "flows"), pc.equal(summary["measure"], "goodput_bps"))
    ).to_pylist()
    figure = Figure(figsize=(7.5, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    paths = [path for path, _ in study.points[0]]
    curves: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        label = ", ".join([row["name"], *(row[path] for path in paths[1:])])
        curves.setdefault(label, []).append(row)
    places = _places([dict(point)[paths[0]] for point in study.points]) if paths else {"": 0.0}
    for number, (label, points) in enumerate(list(curves.items())[:_MOST_CURVES]):
        _curve(axes, number, label, points, places, paths)
    style.plain(axes)
    axes.margins(x=0.03)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("goodput [Mb/s]", fontsize=8)
    axes.set_xlabel(paths[0] if paths else "", fontsize=8)
    if list(places.values()) == [float(place) for place in range(len(places))]:
        axes.set_xticks(list(places.values()), list(places), fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    axes.set_title(study.name, fontsize=10, loc="left")
    return figure


def _curve(
    axes: "Axes", number: int, label: str, points: list[dict[str, Any]], places: dict[str, float], paths: list[str]
) -> None:
    points = sorted(points, key=lambda row: places[row[paths[0]] if paths else ""])
    at = [places[row[paths[0]] if paths else ""] for row in points]
    mean = np.array([row["mean"] for row in points]) / 1e6
    half = np.nan_to_num(np.array([row["hi"] for row in points]) / 1e6 - mean)
    axes.errorbar(
        at, mean, yerr=half, color=style.colour(number), linewidth=1.0, marker="o", markersize=3, capsize=2, label=label
    )


def _places(values: list[str]) -> dict[str, float]:
    """Where each value stands: at its number if all have the same unit, else in their order."""
    split = [value.split(" ", 1) for value in dict.fromkeys(values)]
    try:
        if len({tuple(parts[1:]) for parts in split}) == 1:
            return {" ".join(parts): float(parts[0]) for parts in split}
    except ValueError:
        pass
    return {value: float(place) for place, value in enumerate(dict.fromkeys(values))}
