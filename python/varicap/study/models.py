"""The model engine at many points: what the models say of each flow, and why not, in one table."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import varicap._core as _core
from varicap._files import sha256
from varicap._folders import Folder, as_json
from varicap.engines.model import NoModelError, answered_all, why_not
from varicap.engines.model.alike import Alike, pattern
from varicap.engines.model.path import paths
from varicap.results.manifest import software
from varicap.results.names import refuse_foreign
from varicap.results.summary import Point
from varicap.results.tables import parquet
from varicap.statistics.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

_FIELDS = (
    pa.field("name", pa.string(), metadata={"description": "Name of the flow."}),
    pa.field("model", pa.string(), metadata={"description": "The model that answers; null if none fits."}),
    pa.field("goodput_bps", pa.float64(), metadata={"unit": "b/s", "description": "Goodput by the model."}),
    pa.field("throughput_bps", pa.float64(), metadata={"unit": "b/s", "description": "Throughput by the model."}),
    pa.field("valid", pa.bool_(), metadata={"description": "Whether the model's assumptions hold without strain."}),
    pa.field("strained", pa.list_(pa.string()), metadata={"description": "What holds only roughly."}),
    pa.field("not_applicable", pa.list_(pa.string()), metadata={"description": "Why no model fits, if none does."}),
)


_TOGETHER = 250
"""Points that are solved together: some models take hardly longer for them than for one."""


@dataclass(frozen=True, repr=False)
class ModelStudy:
    """What models say of a scenario at many points."""

    name: str
    points: tuple[Point, ...]
    table: pa.Table
    """A row for each point and flow: its values of the axes, the model, what it says, and what strains it."""
    folder: Path | None

    def __repr__(self) -> str:
        answered = len(self.table) - self.table["model"].null_count
        return f"<models of {self.name}: {answered} answers to {len(self.table)} flows at {len(self.points)} points>"


def solve_all(
    scenario: _core.Scenario,
    points: Sequence[Point],
    at: "Callable[[Point], _core.Scenario]",
    progress: Progress | None,
) -> ModelStudy:
    """The answers at all points; `at` reads the scenario at one.  Raises `NoModelError` if no model fits anywhere."""
    rows: list[dict[str, Any]] = []
    alike: dict[tuple[str, ...], Alike] = defaultdict(Alike)
    for first in range(0, len(points), _TOGETHER):
        some = points[first : first + _TOGETHER]
        flows = [paths(at(point), alike[pattern(point)]) for point in some]
        found = iter(answered_all([path for of_point in flows for path in of_point]))
        for number, of_point in enumerate(flows, first):
            rows += _rows(number, points[number], list(islice(found, len(of_point))))
        if progress is not None:
            done = first + len(some)
            progress(done / len(points), done, len(points))
    if all(row["model"] is None for row in rows):
        raise NoModelError("\n".join(dict.fromkeys(reason for row in rows for reason in row["not_applicable"])))
    axes = [pa.field(path, pa.string()) for path, _ in points[0]]
    details = dict.fromkeys(name for row in rows for name in row if name.startswith("details."))
    schema = pa.schema(
        [pa.field("point", pa.int64()), *axes, *_FIELDS, *(pa.field(name, pa.float64()) for name in details)]
    )
    return ModelStudy(scenario.name, tuple(points), pa.Table.from_pylist(rows, schema=schema), None)


def _rows(number: int, point: Point, flows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for flow in flows:
        row = {"point": number, **dict(point), "name": flow["name"], "strained": [], "not_applicable": []}
        if "not_applicable" in flow:
            yield {**row, "model": None, "not_applicable": why_not(flow)}
            continue
        yield {
            **row,
            "model": flow["model"],
            "goodput_bps": flow["goodput_bps"]["mean"],
            "throughput_bps": flow["throughput_bps"]["mean"],
            "valid": not flow["strained"],
            "strained": list(flow["strained"]),
            **{f"details.{name}": float(value) for name, value in flow["details"].items()},
        }


def save(study: ModelStudy, scenario: _core.Scenario, folder: Path) -> ModelStudy:
    """Write ``models.parquet`` and ``models.json``, which says of what it is, into `folder`."""
    content = parquet(study.table)
    facts = {
        "scenario": json.loads(scenario.to_json()),
        "points": [dict(point) for point in study.points],
        "traces": {name: sha256(path) for name, path in scenario.trace_files()},
        "tables": {"models.parquet": hashlib.sha256(content).hexdigest()},
        "software": software(),
    }
    with Folder(folder, make=True) as there:
        refuse_foreign(there)
        there.write_all({"models.parquet": content, "models.json": as_json(facts)})
    return ModelStudy(study.name, study.points, study.table, folder)
