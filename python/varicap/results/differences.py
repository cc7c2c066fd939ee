"""How flows of the same runs differ: means of differences, run by run.

In a run all flows face the same channel and the same random numbers.  Where a good run for one is a good run for the
other, as it is for flows in isolation, the difference varies less from run to run than either flow does, and its
interval is narrower than the two intervals suggest.  Flows that compete for a link may do the opposite: what one gets
the other lacks, and the interval is wider.  It is right in both cases, which the two intervals by themselves are not.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varicap.results.bottleneck import busiest
from varicap.results.summary import measures_of, unit_of
from varicap.statistics import Array, intervals

OF_LINKS = ("utilisation", "loss_ratio", "sojourn_mean_ms", "sojourn_p50_ms", "sojourn_p95_ms", "sojourn_p99_ms")
"""Measures of the bottleneck of a flow that has its links to itself."""


def differences(flows: pa.Table, links: pa.Table, reference: str | None = None) -> pa.Table:
    """A row for each flow and measure: how it differs from the `reference`, which is the first flow unless named.

    The columns ``difference``, ``lo`` and ``hi`` are in the measure's unit, with a 95 % interval of the paired
    differences where there are two runs or more; ``percent`` and its ends relate them to the mean of the reference.
    Where every group of flows has its links to itself, flows of two groups are compared by the delays and losses of
    their bottlenecks too.
    The intervals are of the differences alone: those in percent take the mean of the reference as exact, and none is
    widened for the number of comparisons.
    Raises ``ValueError`` for a flow that there is not.
    """
    names = list(dict.fromkeys(flows["name"].to_pylist())) if flows.num_rows else []
    if reference is not None and reference not in names:
        raise ValueError(f"no flow `{reference}`; there are: {', '.join(names)}")
    first = reference if reference is not None else (names[0] if names else "")
    of_flows = _by_run(flows, names, measures_of(flows))
    of_links = of_own_links(flows, links, names)
    groups = dict(zip(flows["name"].to_pylist(), flows["group"].to_pylist(), strict=True)) if names else {}
    units = {name: unit_of(table.schema.field(name)) for table in (links, flows) for name in measures_of(table)}
    rows: list[dict[str, Any]] = []
    for name in names:
        if name == first:
            continue
        # Flows of one group share their links, which do not differ from themselves.
        for measure, table in (of_flows if groups[name] == groups[first] else {**of_flows, **of_links}).items():
            with np.errstate(invalid="ignore"):  # of two infinite values
                paired = (table[name] - table[first])[None]
            (difference,), (low,), (high,) = intervals(paired)
            both = np.isfinite(paired[0])
            if not both.any():
                continue
            base = float(table[first][both].mean())
            share = 100.0 / abs(base) if base else np.nan
            rows.append(
                {
                    "flow": name,
                    "reference": first,
                    "measure": measure,
                    "unit": units[measure],
                    "runs": int(both.sum()),
                    "difference": difference,
                    "lo": low,
                    "hi": high,
                    "percent": difference * share,
                    "percent_lo": low * share,
                    "percent_hi": high * share,
                }
            )
    return pa.Table.from_pylist(rows, _SCHEMA)


def _by_run(rows: pa.Table, names: list[str], measures: list[str]) -> dict[str, dict[str, Array]]:
    """Of each measure the values of each name, by run."""
    found: dict[str, dict[str, Array]] = {measure: {} for measure in measures}
    for name in names:
        own = rows.filter(pc.equal(rows["name"], name)).sort_by("replication")
        for measure in measures:
            found[measure][name] = np.asarray(own[measure].to_numpy(), np.float64)
    return found


def of_own_links(flows: pa.Table, links: pa.Table, names: list[str]) -> Mapping[str, dict[str, Array]]:
    """Measures of the bottleneck that each flow has to itself, by flow and in order of the runs.

    There is nothing if any of the flows has none.
    """
    if not names or links.num_rows == 0:
        return {}
    groups = dict(zip(flows["name"].to_pylist(), flows["group"].to_pylist(), strict=True))
    found: dict[str, dict[str, Array]] = {measure: {} for measure in OF_LINKS}
    for name in names:
        own = links.filter(pc.equal(links["flow"], groups[name]))
        # Without a finite capacity nothing waits; an outage has no utilisation, and is a bottleneck all the same.
        limited = own.filter(pc.is_finite(own["capacity_bps"]))
        used = (
            limited.filter(pc.is_finite(limited["utilisation"])).group_by("name").aggregate([("utilisation", "mean")])
        )
        means = dict(zip(used["name"].to_pylist(), used["utilisation_mean"].to_pylist(), strict=True))
        most = busiest({link: means.get(link) for link in dict.fromkeys(limited["name"].to_pylist())})
        if most is None:
            return {}
        for measure, values in _by_run(own.filter(pc.equal(own["name"], most)), [most], list(OF_LINKS)).items():
            found[measure][name] = values[most]
    return found


_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("flow", "reference", "measure", "unit")),
        ("runs", pa.int64()),
        *((name, pa.float64()) for name in ("difference", "lo", "hi", "percent", "percent_lo", "percent_hi")),
    ]
)
