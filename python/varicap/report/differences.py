"""Differences between flows of the same runs: as a table, and which of them are more than chance."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from varicap.report.measures import Measure, measure_of
from varicap.report.points import short, worded
from varicap.report.rows import where
from varicap.report.table import with_interval

Row = Mapping[str, Any]

NOTE = (
    "Differences are taken run by run. * The 95 % interval does not include zero; without ± all runs have the same "
    "difference. Percentages take the mean of the reference as exact; intervals are not adjusted for the number of "
    "comparisons."
)
_OF_ONE_RUN = "Differences in one run, which has no interval: they may be chance."

_SHOWN = (
    ("goodput_bps",),
    ("sojourn_p95_ms", "rtt_p95_ms"),
    ("loss_ratio", "retransmitted_packets"),
    ("timeouts",),
    ("fct_mean_ms",),
    ("missing_transfers",),
)
"""Columns of the table: of each the first measure that there is."""


_RELATED = ("Mb/s", "ms")
"""Units in which a reference is far enough from zero that a difference in percent of it says something."""


_ROUNDING = 1e-12
"""Of a difference: the width of an interval that comes from the rounding of sums alone."""

Standing: TypeAlias = Literal["unknown", "single", "constant", "chance", "significant"]


def standing(row: Row) -> Standing:
    """What a difference with its interval says.

    One run says nothing of others.  The same difference in every run is a fact of these runs, but its interval without
    width is no evidence of others: what the runs have in common may decide.

    >>> standing({"difference": 1.0, "lo": 1.0, "hi": 1.0}), standing({"difference": 1.0, "lo": 0.5, "hi": 1.5})
    ('constant', 'significant')
    """
    difference, low, high = row["difference"], row["lo"], row["hi"]
    if not isfinite(difference):
        return "unknown"
    if not isfinite(low):
        return "single"
    if high - low <= _ROUNDING * abs(difference):
        return "constant" if difference else "chance"
    return "significant" if low > 0.0 or high < 0.0 else "chance"


def significant(row: Row) -> bool:
    """Whether a difference is more than chance: its interval has a width, and does not include zero."""
    return standing(row) == "significant"


def note(found: pa.Table) -> str:
    """How the table of these differences is to be read."""
    return NOTE if max(found["runs"].to_pylist(), default=0) > 1 else _OF_ONE_RUN


def table(found: pa.Table) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: a row for each flow, the measures that matter as columns."""
    rows = {(row["flow"], row["measure"]): row for row in found.to_pylist()}
    flows = list(dict.fromkeys(flow for flow, _ in rows))
    there = dict.fromkeys(measure for _, measure in rows)
    columns = [next((one for one in choice if one in there), None) for choice in _SHOWN]
    shown = [column for column in columns if column and any(_says(rows.get((flow, column))) for flow in flows)]
    if not flows:
        return [], []
    units = {measure: row["unit"] for (_, measure), row in rows.items()}
    measures = [measure_of(column, units[column]) for column in shown]
    reference = next(iter(rows.values()))["reference"]
    headings = [f"against {reference}", *(measure.label for measure in measures)]
    return headings, [
        [flow, *(cell(rows.get((flow, measure.column)), measure) for measure in measures)] for flow in flows
    ]


def table_of_study(found: pa.Table, paths: list[str]) -> tuple[list[str], list[list[str]]]:
    """The same at each point of a study, with the values of its axes first."""
    heads: list[str] = []
    lines: list[list[str]] = []
    every, _ = table(found)
    for number in dict.fromkeys(found["point"].to_pylist()):
        rows = where(found, "point", number)
        headings, body = table(rows)
        heads = every
        values = [worded(rows[path][0].as_py()) for path in paths]
        lines += [[*values, line[0], *_under(every, headings, line)] for line in body]
    return [*(short(path, paths) for path in paths), *heads], lines


def _under(every: list[str], headings: list[str], line: list[str]) -> list[str]:
    """The cells of a line under all headings; a point may lack what another has."""
    there = dict(zip(headings[1:], line[1:], strict=True))
    return [there.get(heading, "–") for heading in every[1:]]


def cell(row: Row | None, measure: Measure) -> str:
    """A difference with its interval, and in percent of the reference."""
    if row is None or not isfinite(row["difference"]):
        return "–"
    low, high = (row[end] if isfinite(row[end]) else None for end in ("lo", "hi"))
    text = with_interval(row["difference"], low, high, measure.scale)
    sign = "" if text.startswith("-") or float(text.split()[0]) == 0.0 else "+"
    share = f" ({row['percent']:+.1f} %)" if isfinite(row["percent"]) and measure.unit in _RELATED else ""
    return f"{sign}{text}{share}{' *' if significant(row) else ''}"


def _says(row: Row | None) -> bool:
    return row is not None and bool(row["difference"] or significant(row))
