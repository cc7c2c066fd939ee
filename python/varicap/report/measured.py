"""Tables of the measures and the flows that somebody chose, of runs and of studies."""

from collections.abc import Collection, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from varicap.report.look import chosen
from varicap.report.measures import Measure, measure_of
from varicap.report.points import short, worded
from varicap.report.table import with_interval
from varicap.results.study import Study
from varicap.results.summary import items_of, measures_of, range_of, unit_of
from varicap.statistics import Interval

if TYPE_CHECKING:
    import pyarrow as pa

    from varicap.results.tables import Recorded

Cells = dict[tuple[str, str], str]


def table(
    found: "Recorded | Study", measures: Collection[str] | str, flows: Collection[str] | str | None = None
) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: a column for each measure, a row for each flow or link, and of a study for each point.

    Raises ``ValueError`` for a measure or a flow that there is not.
    """
    return _of_study(found, measures, flows) if isinstance(found, Study) else _of_runs(found, measures, flows)


def _of_runs(found: "Recorded", measures: Any, flows: Any) -> tuple[list[str], list[list[str]]]:
    tables = {"flows": found.flows, "links": found.links}
    known = {name: kind for kind in ("links", "flows") for name in measures_of(tables[kind])}
    wanted = chosen("measure", measures, list(known))
    cells: Cells = {}
    units: dict[str, Measure] = {}
    for name in wanted:
        rows = tables[known[name]]
        units[name] = measure_of(name, unit_of(rows.schema.field(name)), known[name])
        for item, values in _by_item(rows, name).items():
            value = Interval.of(values, within=range_of(name))
            cells[item, name] = with_interval(value.mean, value.lo, value.hi, units[name].scale)
    names = _names([item for item, _ in cells], flows)
    return ["flow", *(_heading(units[name]) for name in wanted)], [
        [item, *(cells.get((item, name), "–") for name in wanted)] for item in names
    ]


def _by_item(rows: "pa.Table", measure: str) -> dict[str, Any]:
    items = np.array(items_of(rows), object)
    values = np.asarray(rows[measure].cast("double").to_numpy(), np.float64)
    found = {item: values[items == item] for item in dict.fromkeys(items)}
    return {item: each[np.isfinite(each)] for item, each in found.items() if np.isfinite(each).any()}


def _of_study(study: Study, measures: Any, flows: Any) -> tuple[list[str], list[list[str]]]:
    rows = study.summary.to_pylist()
    kinds = {row["measure"]: (row["kind"], row["unit"]) for row in reversed(rows) if row["kind"] != "groups"}
    wanted = chosen("measure", measures, list(kinds))
    units = {name: measure_of(name, kinds[name][1], kinds[name][0]) for name in wanted}
    cells: dict[int, Cells] = {}
    for row in rows:
        if row["measure"] not in units or row["kind"] != kinds[row["measure"]][0] or not isfinite(row["mean"]):
            continue
        low, high = (row[end] if isfinite(row[end]) else None for end in ("lo", "hi"))
        cell = with_interval(row["mean"], low, high, units[row["measure"]].scale)
        cells.setdefault(row["point"], {})[row["name"], row["measure"]] = cell
    names = _names([item for of in cells.values() for item, _ in of], flows)
    paths = [path for path, _ in study.points[0]]
    lines = [
        [*(worded(value) for _, value in point), item, *(of.get((item, name), "–") for name in wanted)]
        for number, point in enumerate(study.points)
        for of in [cells.get(number, {})]
        for item in names
        if any((item, name) in of for name in wanted)
    ]
    return [*(short(path, paths) for path in paths), "flow", *(_heading(units[name]) for name in wanted)], lines


def _names(there: Sequence[str], flows: Any) -> list[str]:
    """The items that are wanted: flows, and links by their own names or by that of the flow whose they are."""
    known = list(dict.fromkeys(there))
    if flows is None:
        return known
    owners = list(dict.fromkeys([*known, *(item.rpartition("/")[0] for item in known if "/" in item)]))
    wanted = chosen("flow", flows, owners)
    return [item for item in known if item in wanted or item.rpartition("/")[0] in wanted]


def _heading(measure: Measure) -> str:
    return measure.label
