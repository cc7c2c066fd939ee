"""The scenario without what is designed, as far as it can do without: what the design is worth."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import varicap._core as _core
from varicap.design.optimise.candidates import intervals_of
from varicap.design.optimise.demands import Column, values
from varicap.design.optimise.found import Without
from varicap.design.optimise.space import Space
from varicap.engines import sim
from varicap.plugins import Extensions
from varicap.results.summary import KINDS, Tables


def without(
    base: _core.Scenario, space: Space, columns: Sequence[Column], seeds: int, seed: int, own: Extensions, **limits: Any
) -> Without | None:
    """What the columns are where the innermost table that holds all varied keys, and may be absent, is absent."""
    found = _absent(base, [variable.path for variable in space.variables])
    if found is None:
        return None
    path, scenario = found
    result = sim.run(scenario, seeds=seeds, seed=seed, controls=own.controls, queues=own.queues, **limits)
    each = {"flows": result.flows, "groups": result.groups, "links": result.links}
    tables: Tables = {kind: _of_one_point(each[kind]) for kind in KINDS}
    samples = np.array([sample for _, _, sample in values(tables, columns, {})], dtype=np.float64)
    measured = intervals_of(samples, columns, is_exact=scenario.draws_nothing)
    return Without(path, seeds, dict(zip((column.text for column in columns), measured, strict=True)))


def _of_one_point(rows: pa.Table) -> pa.Table:
    return rows if not rows.num_columns else rows.add_column(0, "point", pa.array([0] * rows.num_rows, pa.int64()))


def _absent(base: _core.Scenario, paths: Sequence[str]) -> tuple[str, _core.Scenario] | None:
    """The path of the table, and the scenario without it; None if no such table may be absent."""
    parts = [path.split(".") for path in paths]
    common = [each[0] for each in zip(*(part[:-1] for part in parts), strict=False) if len(set(each)) == 1]
    for depth in range(len(common), 1, -1):
        keys = json.loads(base.to_json())
        table = keys
        for part in common[: depth - 1]:
            table = table.get(part) if isinstance(table, dict) else None
        if not isinstance(table, dict) or table.get(common[depth - 1]) is None:
            continue
        del table[common[depth - 1]]
        try:
            scenario = _core.Scenario.from_json(json.dumps(keys), base.name, base.base_dir, [])
        except _core.ScenarioError:
            continue
        there = json.loads(scenario.to_json())
        for part in common[:depth]:
            there = there.get(part) if isinstance(there, dict) else None
        if there is None and common[:depth][0] != "topology" and depth > 2:
            return ".".join(common[:depth]), scenario
    return None
