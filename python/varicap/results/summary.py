"""The results of a study: each measure at each point with its interval, and its difference from the first point.

All points face the same random numbers (replication r of one and of another), so a difference between two points is a
mean of differences, replication by replication. What the channel does to both cancels, so that its interval is
narrower than the two intervals suggest wherever the points' runs go up and down together.  It counts the runs that both
points have; `difference_base` is the mean of point 0 over these, to which the difference can be related.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import varicap._core as _core
from varicap.statistics import MANY, Array, Range, intervals

Point: TypeAlias = tuple[tuple[str, str], ...]
"""Values by their dotted path, in the notation of scenario files."""

KINDS = ("flows", "groups", "links")
"""The tables of a run."""

Tables = dict[str, pa.Table]

_COLUMNS = (
    *("point", "kind", "name", "measure", "unit", "runs", "mean", "lo", "hi"),
    *("difference", "difference_lo", "difference_hi", "difference_runs", "difference_base"),
)
_NOT_MEASURES = ("point", "replication", "seed", "flows")
_FEW_MISSING = 0.01  # of transfers, as for a note on runs
WATCHED = {"flows": "goodput_bps", "links": "utilisation"}
"""The measures to which `precision` applies, by table."""


@dataclass(frozen=True)
class Block:
    """The runs of some points in one table: points that have the same items and the same number of runs."""

    points: NDArray[np.int64]
    items: tuple[str, ...]
    """The item that each row of a run describes: a flow or a link."""
    values: Array
    """The values, of shape (points, replications, items, measures)."""


def summarise(tables: Tables, points: Sequence[Point], exact: frozenset[int]) -> pa.Table:
    """A row for each point, item and measure: mean over the replications, interval, difference from point 0.

    Points are exact if nothing is drawn there.
    """
    parts = [part for kind in KINDS for part in _lines(kind, tables[kind], exact)]
    columns = {name: _joined([part[place] for part in parts]) for place, name in enumerate(_COLUMNS)}
    settings = [dict(point) for point in points]
    chosen = {path: Texts(columns["point"], [point[path] for point in settings]).plain() for path, _ in points[0]}
    return pa.table({"point": columns["point"], **chosen, **columns})


@dataclass(frozen=True)
class Texts:
    """Many texts of which few are distinct: as objects of Python they would cost more than what they say."""

    places: NDArray[np.int64]
    """The place of each in `names`."""
    names: Sequence[str]

    def plain(self) -> pa.Array:
        """The texts, each written out."""
        return pa.DictionaryArray.from_arrays(self.places, pa.array(self.names, pa.string())).cast(pa.string())


def _joined(parts: "Sequence[NDArray[Any] | Texts]") -> "NDArray[Any] | pa.Array":
    """A column of its parts, which are all texts or all numbers."""
    texts = [part.plain() for part in parts if isinstance(part, Texts)]
    return pa.concat_arrays(texts) if texts else np.concatenate([part for part in parts if not isinstance(part, Texts)])


def _lines(kind: str, rows: pa.Table, exact: frozenset[int]) -> "Iterator[tuple[NDArray[Any] | Texts, ...]]":
    """The columns of the summary for one table, point by point."""
    measures = measures_of(rows)
    units = [unit_of(rows.schema.field(name)) for name in measures]
    blocks = blocks_of(rows)
    if not blocks:
        return
    first = next((block for block in blocks if block.points[0] == 0), None)
    found: list[tuple[NDArray[Any], ...]] = []
    known: list[str] = []
    for block in blocks:
        count, runs, items, _ = block.values.shape
        size = items * len(measures)
        statistics = (*_intervals(block, measures, exact), *_differences(first, block))
        found.append(
            (
                np.repeat(block.points, size),
                np.tile(np.repeat(len(known) + np.arange(items), len(measures)), count),
                np.full(count * size, runs),
                *(each.ravel() for each in statistics),
            )
        )
        known += block.items
    points, names, runs_of, *numbers = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(points, kind="stable")
    repeated = len(points) // len(measures)
    measure = np.tile(np.arange(len(measures)), repeated)
    yield (
        points[order],
        Texts(np.zeros_like(points), [kind]),
        Texts(names[order], known),
        Texts(measure, measures),
        Texts(measure, units),
        runs_of[order],
        *(column[order] for column in numbers),
    )


def _intervals(block: Block, measures: Sequence[str], exact: frozenset[int]) -> tuple[Array, Array, Array]:
    """Each measure's mean with its interval, by its range; none has a width at a point that is exact."""
    mean, low, high = intervals(block.values, ranges_of(measures), chances=_chances(block.values, measures))
    is_exact = np.isin(block.points, [*exact]).reshape(-1, 1, 1) & ~np.isnan(low)
    return mean, np.where(is_exact, mean, low), np.where(is_exact, mean, high)


def _chances(values: Array, measures: Sequence[str]) -> Array:
    """How many chances a run is of each measure that is a share; `values` are those of a block."""
    chances = np.empty((values.shape[0], *values.shape[2:]))
    for place, measure in enumerate(measures):
        counted = chances_of(measure)
        by = values[..., measures.index(counted)].mean(axis=1) if isinstance(counted, str) else counted
        chances[..., place] = by
    return chances


@cache
def _columns() -> Mapping[str, Mapping[str, Any]]:
    """Each measure, as the engine declares it with the column."""
    described = json.loads(_core.columns())
    return {one["name"]: one for kind in KINDS for one in described[kind]}


def chances_of(measure: str) -> float | str:
    """How many chances a run is of a measure that is a share, or the column that counts them."""
    chances: float | str = _columns().get(measure, {}).get("chances", MANY)
    return chances


def range_of(measure: str) -> Range:
    """The range of a measure, by the name of its column."""
    found: Range = _columns().get(measure, {}).get("range", "any")
    return found


def ranges_of(measures: Sequence[str]) -> list[Range]:
    """The ranges of measures, by the names of their columns."""
    return [range_of(measure) for measure in measures]


def blocks_of(rows: pa.Table) -> list[Block]:
    """The runs of the points, grouped by shape; every run of a point has the same items."""
    if rows.num_rows == 0:
        return []
    numbers = np.asarray(rows["point"].to_numpy())
    runs = np.asarray(rows["replication"].to_numpy())
    values = np.stack([np.asarray(rows[name].to_numpy(), np.float64) for name in measures_of(rows)], axis=1)
    items = np.array(items_of(rows), object)
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    ends = np.append(begins[1:], len(numbers))
    # The number of rows that a run of the point has.
    sizes = np.add.reduceat(runs == np.repeat(runs[begins], ends - begins), begins)
    alike: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for place, (begin, end, size) in enumerate(zip(begins.tolist(), ends.tolist(), sizes.tolist(), strict=True)):
        alike.setdefault((end - begin, tuple(items[begin : begin + size])), []).append(place)
    blocks = []
    for (length, names), places in alike.items():
        chosen = (begins[places][:, None] + np.arange(length)).ravel()
        shape = (len(places), -1, len(names), values.shape[1])
        blocks.append(Block(numbers[begins[places]], names, values[chosen].reshape(shape)))
    return blocks


def widest(tables: Tables, exact: frozenset[int]) -> dict[int, float]:
    """The widest interval of goodput and utilisation of each point: how far it reaches, over its mean.

    It is infinite where it has no width only because the runs agree.
    """
    found: dict[int, float] = {}
    for kind, measure in WATCHED.items():
        rows = tables[kind]
        for block in blocks_of(rows):
            mean, low, high = intervals(block.values[..., measures_of(rows).index(measure)], range_of(measure))
            reach = np.maximum(high - mean, mean - low)
            base = np.where(mean == 0, 1, abs(mean))
            # Runs that agree only by chance show no width.
            is_exact = np.isin(block.points, [*exact])[:, None]
            share = np.where(np.isnan(reach) | ((reach == 0) & ~is_exact), np.inf, reach / base)
            share = np.where((mean == 0) | np.isnan(mean), 0.0, share)
            for point, most in zip(block.points.tolist(), share.max(axis=1, initial=0.0).tolist(), strict=True):
                found[point] = max(found.get(point, 0.0), most)
    return found


def missing_transfers(flows: pa.Table, points: int) -> list[str]:
    """A sentence on the points of a study at which more than a few transfers were refused or unfinished, if any."""
    counts = ("offered_transfers", "refused_transfers", "unfinished_transfers")
    if not flows.num_rows or not set(counts) <= set(flows.column_names):  # of an earlier version
        return []
    of_item = flows.group_by(["point", "group"]).aggregate([(count, "sum") for count in counts])
    offered, refused, unfinished = (of_item[f"{count}_sum"].to_numpy() for count in counts)
    missing = refused + unfinished
    where = missing > _FEW_MISSING * offered
    if not where.any():
        return []
    there = len(set(of_item["point"].to_numpy()[where].tolist()))
    most = int(np.argmax(np.where(where, missing / np.maximum(offered, 1), 0.0)))
    return [
        f"at {there} of {points} points transfers were refused or unfinished, up to {missing[most]} of "
        f"{offered[most]}: completion times are of those that ended (`missing_transfers` has the share of the others)"
    ]


def _differences(first: Block | None, block: Block) -> tuple[Array, ...]:
    """The difference from point 0, replication by replication, and over how many runs of what mean at point 0.

    There is nothing where the items differ.
    """
    if first is None or first.items != block.items:
        shape = (len(block.points), *block.values.shape[2:])
        nothing = np.full(shape, np.nan)
        return nothing, nothing, nothing, np.zeros(shape, np.int64), nothing
    runs = min(block.values.shape[1], first.values.shape[1])
    begin = first.values[:1, :runs]
    with np.errstate(invalid="ignore"):  # of two infinite values
        paired = block.values[:, :runs] - begin
    base, _, _ = intervals(np.where(np.isfinite(paired), begin, np.nan))
    return *intervals(paired), np.isfinite(paired).sum(axis=1), base


def items_of(rows: pa.Table) -> list[str]:
    """A name for each row; links that belong to one isolated flow are distinguished by its name."""
    names: list[str] = rows["name"].to_pylist()
    if "flow" not in rows.column_names:
        return names
    return [f"{flow}/{name}" if flow else name for name, flow in zip(names, rows["flow"].to_pylist(), strict=True)]


def measures_of(rows: pa.Table) -> list[str]:
    """The columns that hold measured numbers."""
    numeric = [field for field in rows.schema if pa.types.is_floating(field.type) or pa.types.is_integer(field.type)]
    return [field.name for field in numeric if field.name not in _NOT_MEASURES]


def unit_of(field: pa.Field) -> str:
    """The unit of a column; nothing if it has none."""
    unit: bytes = (field.metadata or {}).get(b"unit", b"")
    return unit.decode()
