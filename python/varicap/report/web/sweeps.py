"""Charts of a study: each measure over an axis, with error bars."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import pyarrow.compute as pc

from varicap.report.measures import IN_REPORTS, Measure
from varicap.report.points import Numbers, colours, free, is_scattered, label_of, places, short
from varicap.report.story import highest
from varicap.report.table import with_interval
from varicap.report.web.charts import Chart, Column
from varicap.report.web.svg import Axis, Curve, axis, fitting, multiples, place_width, plot
from varicap.results.study import Study

_MOST_CURVES = 7
_MOST_PANELS = 24
_MOST_PLACES = 3  # that a text names
_WIDE = 30  # greatest over least, from which on an axis is logarithmic


Row = dict[str, Any]


def sweeps(study: Study) -> Iterator[Chart]:
    """A chart for each measure that says something; for scattered designs one for each axis."""
    paths = free(study)
    summary = study.summary
    limited = _limited(summary.filter(pc.equal(summary["measure"], "utilisation")).to_pylist())
    scattered = len(paths) > 1 and all(is_scattered(study, path) for path in paths)
    for measure in IN_REPORTS:
        chosen = pc.and_(pc.equal(summary["kind"], measure.kind), pc.equal(summary["measure"], measure.column))
        rows = [row for row in summary.filter(chosen).to_pylist() if isfinite(row["mean"])]
        rows = [row for row in rows if measure.kind != "links" or row["name"] in limited]
        if not any(row["mean"] for row in rows):
            continue
        for number, path in enumerate(paths if scattered else paths[:1] or [""]):
            others = () if scattered else tuple(paths[1:])
            colour = colours(study, list(dict.fromkeys(row["name"] for row in rows)))
            yield _chart(f"{measure.column.replace('_', '-')}-{number}", measure, rows, path, others, scattered, colour)


def _limited(rows: list[Row]) -> set[str]:
    """Links with a finite capacity."""
    return {row["name"] for row in rows if isfinite(row["mean"])}


def _chart(
    key: str,
    measure: Measure,
    rows: list[Row],
    path: str,
    others: tuple[str, ...],
    scattered: bool,
    place_of: Mapping[str, int],
) -> Chart:
    place = places([row[path] for row in rows]) if path else {"": 0.0}
    names = list(dict.fromkeys(row["name"] for row in rows))
    panels: dict[str, dict[str, list[Row]]] = {}
    for row in sorted(rows, key=lambda row: place[row[path] if path else ""]):
        combination = ", ".join(f"{short(other, others)} {row[other]}" for other in others)
        panels.setdefault(combination, {}).setdefault(row["name"], []).append(row)
    # In the order of the points, not of the first axis.
    order = list(dict.fromkeys(", ".join(f"{short(other, others)} {row[other]}" for other in others) for row in rows))
    shown = order[:_MOST_PANELS]
    left_out = len(order) - len(shown)
    together = len(names) == 1 and len(order) <= _MOST_CURVES

    def curve(label: str, number: int, group: list[Row]) -> Curve:
        return _curve(label, number, group, path, place, measure, scattered)

    drawn = [(each, [curve(name, place_of[name], group) for name, group in panels[each].items()]) for each in shown]
    if together:
        # Of one flow, or link, colours tell the further axes apart.
        groups = enumerate((each, group) for each in shown for group in panels[each].values())
        drawn = [("", [curve(each if others else names[0], number, group) for number, (each, group) in groups])]
    curves = [each for _, of_panel in drawn for each in of_panel]
    paths = [each for each in (path, *others) if each]
    text = f"{f'Over {short(path)}. ' if path else ''}{_greatest(rows, measure, paths)}"
    every = [value for curve in curves for value in (*curve.y, *curve.high) if isfinite(value)]
    note = f"{left_out} more panels are left out; the tables have them." if left_out else ""
    across = _across(path, place)
    up = axis(measure.label, every, from_zero=True)
    said = f"{measure.title}, with 95 % intervals. {text}"
    drawing = plot(drawn[0][1], across, up, said) if len(drawn) == 1 else multiples(drawn, across, up, said)
    return Chart(
        key,
        measure.title + (f" over {_last(path)}" if scattered else ""),
        measure.unit,
        (
            *(Column(each, "", [row[each] for row in rows]) for each in paths),
            Column("name", "", [row["name"] for row in rows]),
            *(
                Column(end, measure.unit, [_finite(row[end], measure.scale) for row in rows])
                for end in ("mean", "lo", "hi", "difference", "difference_lo", "difference_hi")
            ),
        ),
        text,
        note,
        drawing,
        (
            (*map(_last, paths), "of", f"[{measure.unit}]", "difference from point 0"),
            *(
                (*(row[each] for each in paths), row["name"], _cell(row, measure), _difference(row, measure))
                for row in rows
            ),
        ),
        wide=len(drawn) > 1,
    )


def _greatest(rows: list[Row], measure: Measure, paths: list[str]) -> str:
    """The greatest mean, and all that have it."""
    best = [rows[place] for place in highest(rows)]
    cells = {_cell(row, measure) for row in best}
    # Those that share a mean need not share its interval.
    most = cells.pop() if len(cells) == 1 else with_interval(best[0]["mean"], None, None, measure.scale)
    if len(best) > _MOST_PLACES:
        where = f", in {len(best)} of the {len(rows)} rows of the table"
    else:
        named = (", ".join((row["name"], *(f"{_last(path)} {row[path]}" for path in paths))) for row in best)
        where = f"{', ' if len(best) == 1 else ': '}{'; '.join(named)}"
    return f"Greatest [{measure.unit}]: {most}{where}."


def _curve(label: str, number: int, rows: list[Row], path: str, place: Any, measure: Measure, scattered: bool) -> Curve:
    return Curve(
        label,
        tuple(place[row[path] if path else ""] for row in rows),
        *(tuple(row["mean"] * measure.scale for row in rows), number),
        tuple(row["lo"] * measure.scale for row in rows),
        tuple(row["hi"] * measure.scale for row in rows),
        style="dots" if scattered else "points",
    )


def _across(path: str, place: Mapping[str, float]) -> Axis:
    """Numbers at their places; names in their order."""
    values = list(place.values())
    if Numbers.among(place):
        wide = min(values) > 0 and max(values) / min(values) >= _WIDE
        found = axis(label_of(path, list(place)), values, logarithmic=wide)
        few = len(values) <= 8 and not wide
        return Axis(found.label, found.low, found.high, _apart(found, values)) if few else found
    room = place_width(len(values))
    ticks = tuple((number, fitting(name, room)) for name, number in place.items())
    return Axis(short(path), -0.5, len(values) - 0.5, ticks)


def _apart(found: Axis, values: list[float]) -> tuple[tuple[float, str], ...]:
    """The values themselves as ticks, but none so close to another that they would overlap."""
    kept: list[float] = []
    for value in sorted(values):
        if not kept or found.share(value) - found.share(kept[-1]) > 0.07:
            kept.append(value)
    return tuple((value, f"{value:g}") for value in kept)


def _last(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def _cell(row: Row, measure: Measure) -> str:
    low, high = (None if not isfinite(row[end]) else row[end] for end in ("lo", "hi"))
    return with_interval(row["mean"], low, high, measure.scale)


def _difference(row: Row, measure: Measure) -> str:
    if row["point"] == 0 or not isfinite(row["difference"]):
        return "–"
    low, high = (None if not isfinite(row[f"difference_{end}"]) else row[f"difference_{end}"] for end in ("lo", "hi"))
    cell = with_interval(row["difference"], low, high, measure.scale)
    return cell if cell.startswith("-") else f"+{cell}"


def _finite(value: float, scale: float) -> float | None:
    return value * scale if isfinite(value) else None
