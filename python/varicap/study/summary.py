"""What a study found: each measure at each point with its interval, and how far it lies from the first point.

All points face the same random numbers (replication r of one and of another), so a difference between two points is a
mean of differences, replication by replication: its interval is narrower than the two intervals suggest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import stdtrit

from varicap.study.design import Point
from varicap.study.store import KINDS, Tables

Array = NDArray[np.float64]

_CONFIDENCE = 0.95
_COLUMNS = (
    *("point", "kind", "name", "measure", "unit", "runs", "mean", "lo", "hi"),
    *("difference", "difference_lo", "difference_hi"),
)
_NOT_MEASURES = ("point", "replication", "seed", "flows")
WATCHED = {"flows": "goodput_bps", "links": "utilisation"}
"""What `precision` is about, by table."""


@dataclass(frozen=True)
class Block:
    """The runs of one point in one table."""

    items: tuple[str, ...]
    """What each row of a run is about: a flow, a link."""
    values: Array
    """Of shape (replications, items, measures)."""


def summarise(tables: Tables, points: Sequence[Point]) -> pa.Table:
    """A row for each point, item and measure: mean over the replications, interval, difference from point 0."""
    parts = [part for kind in KINDS for part in _lines(kind, tables[kind])]
    columns = {name: np.concatenate([part[place] for part in parts]) for place, name in enumerate(_COLUMNS)}
    axes = {path: np.array([dict(point)[path] for point in points], object) for path, _ in points[0]}
    chosen = {path: values[columns["point"]] for path, values in axes.items()}
    return pa.table({"point": columns["point"], **chosen, **columns})


def _lines(kind: str, rows: pa.Table) -> Iterator[tuple[NDArray[Any], ...]]:
    """The columns of the summary, point by point."""
    measures = _measures(rows)
    names = np.array(measures, object)
    units = np.array([_unit(rows.schema.field(name)) for name in measures], object)
    blocks = blocks_of(rows)
    for point, block in blocks.items():
        runs, items, count = block.values.shape
        size = items * count
        apart = _differences(blocks.get(0), block)
        yield (
            np.full(size, point),
            np.full(size, kind, object),
            np.repeat(np.array(block.items, object), count),
            np.tile(names, items),
            np.tile(units, items),
            np.full(size, runs),
            *(each.ravel() for each in intervals(block.values)),
            *(each.ravel() for each in apart),
        )


def blocks_of(rows: pa.Table) -> dict[int, Block]:
    """The runs of each point; every run of a point has the same items."""
    if rows.num_rows == 0:
        return {}
    numbers = np.asarray(rows["point"].to_numpy())
    runs = np.asarray(rows["replication"].to_numpy())
    values = np.stack([np.asarray(rows[name].to_numpy(), np.float64) for name in _measures(rows)], axis=1)
    items = _items(rows)
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    blocks = {}
    for begin, end in zip(begins, [*begins[1:], len(numbers)], strict=True):
        count = int((runs[begin:end] == runs[begin]).sum())
        block = values[begin:end].reshape(-1, count, values.shape[1])
        blocks[int(numbers[begin])] = Block(tuple(items[begin : begin + count]), block)
    return blocks


def intervals(values: Array) -> tuple[Array, Array, Array]:
    """Mean over the first axis and Student's 95 % interval; values that are not there do not count.

    Source: [law2015, §4.5].
    """
    known = np.isfinite(values)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=0) / count
        squares = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
        half = stdtrit(count - 1, (1 + _CONFIDENCE) / 2) * np.sqrt(squares / (count - 1) / count)
    half = np.where(count > 1, half, np.nan)
    return mean, mean - half, mean + half


def widest(tables: Tables) -> dict[int, float]:
    """Of each point the widest interval of goodput and utilisation, its half width over its mean."""
    found: dict[int, float] = {}
    for kind, measure in WATCHED.items():
        rows = tables[kind]
        for point, block in blocks_of(rows).items():
            mean, low, high = intervals(block.values[:, :, _measures(rows).index(measure)])
            half = (high - low) / 2
            share = np.where(mean == 0, 0.0, np.where(np.isnan(half), np.inf, half / np.where(mean == 0, 1, abs(mean))))
            share = np.where(np.isnan(mean), 0.0, share)
            found[point] = max(found.get(point, 0.0), float(share.max(initial=0.0)))
    return found


def _differences(first: Block | None, block: Block) -> tuple[Array, Array, Array]:
    """From point 0, replication by replication; nothing where the items differ."""
    if first is None or first.items != block.items:
        nothing = np.full(block.values.shape[1:], np.nan)
        return nothing, nothing, nothing
    runs = min(len(block.values), len(first.values))
    return intervals(block.values[:runs] - first.values[:runs])


def _items(rows: pa.Table) -> list[str]:
    """A name for each row; links that isolated flows have for themselves are told apart by them."""
    names: list[str] = rows["name"].to_pylist()
    if "flow" not in rows.column_names:
        return names
    return [f"{flow}/{name}" if flow else name for name, flow in zip(names, rows["flow"].to_pylist(), strict=True)]


def _measures(rows: pa.Table) -> list[str]:
    """The columns that are numbers and were measured."""
    numeric = [field for field in rows.schema if pa.types.is_floating(field.type) or pa.types.is_integer(field.type)]
    return [field.name for field in numeric if field.name not in _NOT_MEASURES]


def _unit(field: pa.Field) -> str:
    unit: bytes = (field.metadata or {}).get(b"unit", b"")
    return unit.decode()
