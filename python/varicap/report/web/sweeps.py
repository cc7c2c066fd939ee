"""Charts of a study: each measure over an axis, with error bars."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

import pyarrow.compute as pc

from varicap.report.points import places
from varicap.report.table import with_interval
from varicap.report.web.charts import Chart, Column
from varicap.report.web.svg import Axis, Curve, axis, plot
from varicap.results.study import Study

_MOST_CURVES = 14
_WIDE = 30  # greatest over least, from which on an axis is logarithmic


@dataclass(frozen=True)
class Measure:
    """A column of the study's tables, as readers want it."""

    kind: str
    column: str
    title: str
    unit: str
    scale: float = 1.0


_MEASURES = (
    Measure("flows", "goodput_bps", "Goodput", "Mb/s", 1e-6),
    Measure("links", "utilisation", "Utilisation", "%", 100.0),
    Measure("flows", "rtt_p50_ms", "Round-trip time, median", "ms"),
    Measure("flows", "rtt_p95_ms", "Round-trip time, 95th percentile", "ms"),
    Measure("links", "sojourn_p95_ms", "Queueing delay, 95th percentile", "ms"),
    Measure("links", "loss_ratio", "Lost packets", "%", 100.0),
    Measure("flows", "timeouts", "Timeouts", "per run"),
    Measure("flows", "fct_mean_ms", "Flow completion time, mean", "ms"),
)

Row = dict[str, Any]


def sweeps(study: Study) -> Iterator[Chart]:
    """A chart for each measure that says something; for scattered designs one for each axis."""
    paths = [path for path, _ in study.points[0]]
    summary = study.summary
    limited = _limited(summary.filter(pc.equal(summary["measure"], "utilisation")).to_pylist())
    scattered = len(paths) > 1 and all(_is_scattered(study, path) for path in paths)
    for measure in _MEASURES:
        chosen = pc.and_(pc.equal(summary["kind"], measure.kind), pc.equal(summary["measure"], measure.column))
        rows = [row for row in summary.filter(chosen).to_pylist() if isfinite(row["mean"])]
        rows = [row for row in rows if measure.kind != "links" or row["name"] in limited]
        if not any(row["mean"] for row in rows):
            continue
        for number, path in enumerate(paths if scattered else paths[:1] or [""]):
            others = () if scattered else tuple(paths[1:])
            yield _chart(f"{measure.column.replace('_', '-')}-{number}", measure, rows, path, others, scattered)


def _limited(rows: list[Row]) -> set[str]:
    """Links with a finite capacity."""
    return {row["name"] for row in rows if isfinite(row["mean"])}


def _is_scattered(study: Study, path: str) -> bool:
    """Whether nearly every point has a value of its own, as in latin and sobol designs."""
    values = {dict(point)[path] for point in study.points}
    return len(values) > max(4, 0.8 * len(study.points))


def _chart(key: str, measure: Measure, rows: list[Row], path: str, others: tuple[str, ...], scattered: bool) -> Chart:
    place = places([row[path] for row in rows]) if path else {"": 0.0}
    several = len({row["name"] for row in rows}) > 1
    groups: dict[str, list[Row]] = {}
    for row in rows:
        parts = [row["name"]] if several or not others else []
        groups.setdefault(", ".join([*parts, *(row[other] for other in others)]), []).append(row)
    shown = dict(list(groups.items())[:_MOST_CURVES])
    curves = [
        _curve(
            label,
            number,
            sorted(group, key=lambda row: place[row[path] if path else ""]),
            path,
            place,
            measure,
            scattered,
        )
        for number, (label, group) in enumerate(shown.items())
    ]
    left_out = len(groups) - len(shown)
    best = max(rows, key=lambda row: row["mean"])
    text = (
        (f"Over {path}. " if path else "")
        + f"Greatest [{measure.unit}]: {_cell(best, measure)}, {best['name']}"
        + "".join(f", {_last(each)} {best[each]}" for each in (path, *others) if each)
        + "."
    )
    every = [value for curve in curves for value in (*curve.y, *curve.high) if isfinite(value)]
    note = f"{left_out} more curves are left out; the tables have them." if left_out else ""
    paths = [each for each in (path, *others) if each]
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
        plot(
            curves,
            _across(path, place),
            axis(f"{measure.title.lower()} [{measure.unit}]", every, from_zero=True),
            f"{measure.title}, with 95 % intervals. {text}",
        ),
        (
            (*map(_last, paths), "of", f"[{measure.unit}]", "difference from point 0"),
            *(
                (*(row[each] for each in paths), row["name"], _cell(row, measure), _difference(row, measure))
                for row in rows
            ),
        ),
    )


def _curve(label: str, number: int, rows: list[Row], path: str, place: Any, measure: Measure, scattered: bool) -> Curve:
    return Curve(
        label,
        tuple(place[row[path] if path else ""] for row in rows),
        *(tuple(row["mean"] * measure.scale for row in rows), number),
        tuple(row["lo"] * measure.scale for row in rows),
        tuple(row["hi"] * measure.scale for row in rows),
        style="dots" if scattered else "points",
    )


def _across(path: str, place: Any) -> Axis:
    """Numbers at their places; names in their order."""
    values = list(place.values())
    if values != [float(number) for number in range(len(values))]:
        units = {name.partition(" ")[2] for name in place}
        unit = f" [{units.pop()}]" if len(units) == 1 and units != {""} else ""
        wide = min(values) > 0 and max(values) / min(values) >= _WIDE
        found = axis(f"{_last(path)}{unit}", values, logarithmic=wide)
        few = len(values) <= 8 and not wide
        return Axis(found.label, found.low, found.high, _apart(found, values)) if few else found
    ticks = tuple((number, name if len(name) <= 16 else f"{name[:15]}…") for name, number in place.items())
    return Axis(_last(path), -0.5, len(values) - 0.5, ticks)


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
