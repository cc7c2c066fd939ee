"""A study as a figure: curves with intervals, small multiples, heat maps, throughput against delay."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from varicap.report import style
from varicap.report.clouds import DELAYS
from varicap.report.look import Look, chosen, halves, pick
from varicap.report.measures import Measure, measure_of
from varicap.report.points import Numbers, colours, free, is_scattered, label_of, places, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from varicap.report.look import Drawn
    from varicap.results.study import Study

PANELS = ("curves", "multiples", "heat", "scatter")
"""How a study can be drawn."""

_MARKERS = "osD^vP*X<>"
_ACROSS = 4  # panels in a row
_BESIDE = 4  # curves from which on their names stand beside the frame
_TEXT_UP_TO = 12  # values of an axis, up to which a heat map says its numbers

Row = dict[str, Any]


@dataclass(frozen=True)
class _Drawing:
    """A measure of a study, and how it is drawn."""

    study: "Study"
    measure: Measure
    rows: list[Row]
    """In the unit of the axis."""
    names: list[str]
    """All flows, or links; their places are their colours."""
    wanted: list[str]
    look: Look

    @property
    def paths(self) -> list[str]:
        """The axes of the study; of those that go together the first."""
        return free(self.study)

    def colour(self, name: str) -> int:
        """The number of the colour of a flow, or of a link."""
        return colours(self.study, self.names)[name]

    def values(self, path: str) -> list[str]:
        """The values of an axis in their order."""
        return list(dict.fromkeys(dict(point)[path] for point in self.study.points))

    def label(self, path: str) -> str:
        """An axis in words, with its unit."""
        return style.literal(label_of(path, self.values(path), self.paths))


def chart(
    study: "Study",
    measure: str = "goodput_bps",
    *,
    panels: Collection[str] | str | None = None,
    flows: Collection[str] | str | None = None,
    look: Look | None = None,
) -> "Drawn":
    """A measure of a study with 95 % intervals, as `PANELS` names it; a flow has one colour in all of them.

    By itself a study of one axis is drawn as curves, one of several as small multiples: a panel for each value of the
    further axes.  Every flow and point is drawn.  In a scatter the measure is the delay, by default the mean RTT.
    Raises ``ValueError`` if there is no such measure, panel or flow.
    """
    panel = None if panels is None else _panel(panels)
    if panel == "scatter" and measure != "goodput_bps":
        pick("delay", measure, DELAYS)
    rows, found = _measured(study, measure)
    names = list(dict.fromkeys(row["name"] for row in rows))
    wanted = chosen("flow" if found.kind == "flows" else "link", flows, names)
    kept = [row for row in rows if row["name"] in wanted]
    drawing = _Drawing(study, found, kept, names, wanted, look or Look())
    if panel is None:
        # The curves of one flow over the further axes share a panel while colours can distinguish them.
        few = len(names) == 1 and len(_combinations(drawing, drawing.paths[1:])) <= len(style.COLOURS)
        return (_multiples if len(drawing.paths) > 1 and not few else _curves)(drawing)
    kinds: dict[str, Callable[[_Drawing], Drawn]] = {
        "curves": _curves,
        "multiples": _multiples,
        "heat": _heat,
        "scatter": _scatter,
    }
    return kinds[panel](drawing)


def _panel(panels: Collection[str] | str) -> str:
    names = chosen("panel", panels, PANELS)
    if len(names) > 1:
        raise ValueError(f"a figure of a study has one kind of panels, and not {len(names)}: {', '.join(names)}")
    return names[0]


def _measured(study: "Study", column: str) -> tuple[list[Row], Measure]:
    """The rows of a measure in the unit of the axis: of flows, or of groups or links if flows have no such measure."""
    summary = study.summary
    rows = summary.filter(pc.equal(summary["measure"], column)).to_pylist()
    rows = [row for row in rows if row["kind"] == "flows" and isfinite(row["mean"])] or rows
    if not rows:
        pick("measure", column, dict.fromkeys(summary["measure"].to_pylist()))
    measure = measure_of(column, rows[0]["unit"], rows[0]["kind"])
    ends = ("mean", "lo", "hi")
    scaled = [{**row, **{key: row[key] * measure.scale for key in ends}} for row in rows]
    known = [row for row in scaled if isfinite(row["mean"])]
    if not known:
        raise ValueError(f"`{column}` was not measured at any point of this study")
    return known, measure


def _curves(drawing: _Drawing) -> "Drawn":
    """All in one panel: a colour for each flow, a kind of line for each value of the further axes."""
    path, others = (drawing.paths or [""])[0], drawing.paths[1:]
    with drawing.look.figure(7.5, 4.2, drawing.study.name) as figure:
        axes = figure.subplots()
        combinations = _combinations(drawing, others)
        for number, combination in enumerate(combinations):
            for name in drawing.wanted:
                label = ", ".join([*([name] if len(drawing.names) > 1 or not others else []), *combination])
                _curve(axes, drawing, _of(drawing, name, others, combination), path, label, number)
        _finish(axes, drawing, path)
        axes.set_ylabel(drawing.measure.label)
        heading = style.literal(", ".join(short(other, drawing.paths) for other in others)) or None
        if len(combinations) * len(drawing.wanted) > _BESIDE:
            axes.legend(title=heading, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
        else:
            axes.legend(title=heading, frameon=False)
    return figure


def _multiples(drawing: _Drawing) -> "Drawn":
    """A panel for each value of the further axes, on the same scales; a curve for each flow."""
    path, others = (drawing.paths or [""])[0], drawing.paths[1:]
    if len(drawing.paths) > 1 and all(is_scattered(drawing.study, each) for each in drawing.paths):
        return _by_axis(drawing)
    combinations = _combinations(drawing, others)
    columns = min(
        _ACROSS, len(combinations), max(1, int(drawing.look.inches(11.0, 1.0)[0] / (0.21 * drawing.look.size)))
    )
    lines = -(-len(combinations) // columns)
    with drawing.look.figure(0.9 + 2.5 * columns, 0.9 + 2.2 * lines, drawing.study.name) as figure:
        grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for axes, combination in zip(grid.flat, combinations, strict=False):
            for name in drawing.wanted:
                _curve(axes, drawing, _of(drawing, name, others, combination), path, name, 0)
            said = [f"{short(other, drawing.paths)} {value}" for other, value in zip(others, combination, strict=True)]
            letters = int(figure.get_figwidth() / columns * 72 / (0.7 * drawing.look.size))
            wrapped = (line for each in said for line in wrap(each, max(12, letters)))
            axes.set_title("\n".join(map(style.literal, wrapped)))
        # Scales are shared, and a limit of one panel would end the search for those of all.
        for axes in grid.flat[: len(combinations)]:
            _finish(axes, drawing, path)
            axes.set_xlabel("")
        for axes in grid.flat[len(combinations) :]:
            axes.set_visible(False)
        for number, axes in enumerate(grid.flat[: len(combinations)]):
            if number + columns >= len(combinations):
                axes.set_xlabel(drawing.label(path) if path else "")
                axes.xaxis.set_tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel(drawing.measure.label)
        _legend_below(figure, grid.flat[0], drawing)
    return figure


def _by_axis(drawing: _Drawing) -> "Drawn":
    """Of a scattered design a panel for each axis, and a dot for each point."""
    paths = drawing.paths
    with drawing.look.figure(1.0 + 3.0 * len(paths), 3.4, drawing.study.name) as figure:
        grid = figure.subplots(1, len(paths), squeeze=False, sharey=True)[0]
        for axes, path in zip(grid, paths, strict=True):
            for name in drawing.wanted:
                _curve(axes, drawing, [row for row in drawing.rows if row["name"] == name], path, name, 0, "none")
        for axes, path in zip(grid, paths, strict=True):
            _finish(axes, drawing, path)
        grid[0].set_ylabel(drawing.measure.label)
        _legend_below(figure, grid[0], drawing)
    return figure


def _heat(drawing: _Drawing) -> "Drawn":
    """Two axes as the sides of a map, a map for each flow, one scale of colours for all."""
    if len(drawing.paths) != 2:
        raise ValueError(f"a heat map has two axes, and this study has {len(drawing.paths)}")
    across, up = drawing.paths
    columns, lines = drawing.values(across), drawing.values(up)
    columns, lines = (sorted(each, key=places(each).__getitem__) for each in (columns, lines))
    width = 1.6 + len(drawing.wanted) * (0.9 + 0.62 * len(columns))
    with drawing.look.figure(width, 1.4 + 0.42 * len(lines), drawing.study.name) as figure:
        grid = figure.subplots(1, len(drawing.wanted), squeeze=False, sharey=True)[0]
        known = [row["mean"] for row in drawing.rows]
        least, most = min(known), max(known)
        for axes, name in zip(grid, drawing.wanted, strict=True):
            map_ = np.full((len(lines), len(columns)), np.nan)
            for row in drawing.rows:
                if row["name"] == name:
                    map_[lines.index(row[up]), columns.index(row[across])] = row["mean"]
            image = axes.imshow(map_, cmap="viridis", vmin=least, vmax=most, aspect="auto", origin="lower")
            _numbers(axes, map_, (least + most) / 2, drawing.look)
            axes.set_xticks(range(len(columns)), [_bare(value, columns) for value in columns])
            axes.set_yticks(range(len(lines)), [_bare(value, lines) for value in lines])
            axes.set_title(style.literal(name))
            axes.set_xlabel(drawing.label(across))
        grid[0].set_ylabel(drawing.label(up))
        figure.colorbar(image, ax=grid.tolist(), pad=0.01, label=drawing.measure.label)
    return figure


def _numbers(axes: "Axes", map_: Any, middle: float, look: Look) -> None:
    if max(map_.shape) > _TEXT_UP_TO:
        return
    for (row, column), value in np.ndenumerate(map_):
        if isfinite(value):
            colour = "black" if value > middle else "white"
            digits = f"{value:#.3g}".removesuffix(".")
            axes.text(column, row, digits, ha="center", va="center", color=colour, fontsize=look.size - 1)


def _bare(value: str, values: Sequence[str]) -> str:
    """A value without its unit, if the axis says the unit."""
    numbers = Numbers.among(values)
    return style.literal(f"{numbers.of[value]:g}" if numbers else value)


def _scatter(drawing: _Drawing) -> "Drawn":
    """Goodput against delay: a cross of two intervals for each flow and point."""
    column = drawing.measure.column
    delays, delay = _measured(drawing.study, "rtt_mean_ms" if column == "goodput_bps" else column)
    rates, rate = _measured(drawing.study, "goodput_bps")
    with drawing.look.figure(6.4, 4.4, drawing.study.name) as figure:
        axes = figure.subplots()
        found = {(row["point"], row["name"]): row for row in delays}
        for name in drawing.wanted:
            pairs = [
                (found[row["point"], name], row)
                for row in rates
                if row["name"] == name and (row["point"], name) in found
            ]
            number = drawing.colour(name)
            axes.errorbar(
                [x["mean"] for x, _ in pairs],
                [y["mean"] for _, y in pairs],
                xerr=_halves([x for x, _ in pairs]),
                yerr=_halves([y for _, y in pairs]),
                fmt=_MARKERS[number % len(_MARKERS)],
                color=style.colour(number),
                elinewidth=0.6 * drawing.look.line,
                label=style.literal(name),
            )
        drawing.look.plain(axes)
        axes.margins(x=0.05)
        axes.set_xlabel(delay.label)
        axes.set_ylabel(rate.label)
        axes.legend(frameon=False)
    return figure


def _combinations(drawing: _Drawing, others: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of the further axes, as points have them together."""
    there = {tuple(dict(point)[other] for other in others) for point in drawing.study.points}
    return [each for each in product(*(drawing.values(other) for other in others)) if each in there]


def _of(drawing: _Drawing, name: str, others: Sequence[str], combination: Sequence[str]) -> list[Row]:
    wanted = dict(zip(others, combination, strict=True))
    return [
        row for row in drawing.rows if row["name"] == name and all(row[key] == value for key, value in wanted.items())
    ]


def _curve(
    axes: "Axes", drawing: _Drawing, rows: list[Row], path: str, label: str, number: int, line: str | None = None
) -> None:
    if not rows:
        return
    place = places(drawing.values(path)) if path else {"": 0.0}
    rows = sorted(rows, key=lambda row: place[row[path] if path else ""])
    # Where there is but one flow, colours tell the further axes apart.
    name = rows[0]["name"]
    flow = drawing.colour(name) if len(drawing.names) > 1 else number
    # Links of one flow have its colour, and other lines.
    twins = [each for each in drawing.names if drawing.colour(each) == flow]
    kind = style.LINES[number % len(style.LINES)] if number else style.line(flow)
    if len(drawing.names) > 1 and not number and len(twins) > 1:
        kind = style.LINES[twins.index(name) % len(style.LINES)]
    axes.errorbar(
        [place[row[path] if path else ""] for row in rows],
        [row["mean"] for row in rows],
        yerr=_halves(rows),
        color=style.colour(flow),
        linestyle=line or kind,
        marker=_MARKERS[number % len(_MARKERS)],
        elinewidth=0.7 * drawing.look.line,
        capsize=2,
        label=style.literal(label),
    )


def _halves(rows: list[Row]) -> list[list[float]]:
    return halves((row["mean"], row["lo"], row["hi"]) for row in rows)


def _finish(axes: "Axes", drawing: _Drawing, path: str) -> None:
    drawing.look.plain(axes)
    axes.margins(x=0.05)
    axes.set_xlabel(drawing.label(path) if path else "")
    if not path:
        axes.set_xticks([])
    elif Numbers.among(drawing.values(path)) is None:
        place = places(drawing.values(path))
        axes.set_xticks(list(place.values()), [style.literal(value) for value in place])


def _legend_below(figure: "Drawn", axes: "Axes", drawing: _Drawing) -> None:
    if len(drawing.wanted) > 1:
        columns = max(1, min(len(drawing.wanted), int(figure.get_figwidth() / (0.16 * drawing.look.size))))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, frameon=False)
