"""What a page begins with: the findings in sentences, and a chart of throughput against delay."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow.compute as pc

from varicap.report import story
from varicap.report.table import with_interval
from varicap.report.web.charts import Array, Chart, Column, listed
from varicap.report.web.source import Source
from varicap.report.web.svg import Curve, axis, plot
from varicap.results.differences import of_own_links
from varicap.statistics import Interval

_MOST_FLOWS = 14


def sentences(source: Source) -> list[str]:
    """What was found, and what distinguishes the flows."""
    if source.study is not None and "design" in source.manifest:
        return list(source.manifest["design"]["sentences"])
    if source.study is not None:
        return list(story.of_study(source.study))
    if source.summary is None:
        return []
    findings = list(story.of_runs(source.summary, source.flows, source.links))
    differ = story.distinctions(source.scenario)
    if findings and len(differ) > 1:
        findings.append(f"The flows differ in {', '.join(list(differ)[:-1])} and {list(differ)[-1]}: see Path.")
    elif findings and differ:
        findings.append(f"The flows differ in {next(iter(differ))} alone: see Path.")
    return findings


def tradeoff(source: Source) -> Iterator[Chart]:
    """Goodput over delay: a dot for each run, and the means with both intervals.

    The delay is that of the queue where each flow has its bottleneck to itself; flows that share one wait alike, and
    are told apart by their round trips.
    """
    rows = source.flows
    if source.summary is None or source.summary["engine"] == "model" or rows.num_rows == 0:
        return
    rows = rows.sort_by("replication")
    names = [str(flow["name"]) for flow in source.summary["flows"]]
    queueing = of_own_links(rows, source.links, names).get("sojourn_p95_ms", {})
    measure = "queueing delay" if queueing else "round-trip time"
    curves: list[Curve] = []
    lines: list[tuple[str, ...]] = []
    columns: list[Column] = []
    across: list[float] = []
    up: list[float] = []
    for number, flow in enumerate(source.summary["flows"][:_MOST_FLOWS]):
        own = rows.filter(pc.equal(rows["name"], flow["name"]))
        delay = queueing.get(str(flow["name"]), _values(own, "rtt_p95_ms", 1.0))
        rate = _values(own, "goodput_bps", 1e-6)
        known = np.isfinite(delay) & np.isfinite(rate)
        if not known.any():
            continue
        x, y = Interval.of(delay[known], within="quantile"), Interval.of(rate[known], within="amount")
        curves.append(Curve("", tuple(delay[known]), tuple(rate[known]), number, style="dots"))
        ends = {"low": (y.lo,), "high": (y.hi,), "left": (x.lo,), "right": (x.hi,)} if x.lo is not None else {}
        mean: dict[str, Any] = ends
        curves.append(Curve(str(flow["name"]), (x.mean,), (y.mean,), number, **mean))
        across += [*delay[known], *(end for end in (x.lo, x.hi) if end is not None)]
        up += [*rate[known], *(end for end in (y.lo, y.hi) if end is not None)]
        name = str(flow["name"])
        lines.append((name, with_interval(y.mean, y.lo, y.hi), with_interval(x.mean, x.lo, x.hi)))
        columns += [
            Column(f"{name}, goodput", "Mb/s", listed(rate, 7)),
            Column(f"{name}, {measure}", "ms", listed(delay, 7)),
        ]
    if not curves:
        return
    text = "; ".join(f"{name}: {rate} Mb/s at {delay} ms" for name, rate, delay in lines) + "."
    several = source.summary["runs"] > 1
    yield Chart(
        "tradeoff",
        f"Goodput against {measure}",
        "Mb/s",
        (Column("run", "", list(range(max(len(column.values) for column in columns)))), *columns),
        text,
        "A dot for each run; the means with the 95 % intervals of both. Up and to the left is better."
        if several
        else "Up and to the left is better.",
        plot(
            curves,
            axis(f"{measure}, 95th percentile [ms]", _not_below_zero(across), from_zero=False),
            axis("goodput [Mb/s]", _not_below_zero(up), from_zero=False),
            f"Goodput against {measure}. {text}",
        ),
        (("flow", "goodput [Mb/s]", f"{measure}, 95th percentile [ms]"), *lines),
    )


def _not_below_zero(values: list[float]) -> list[float]:
    return [max(0.0, value) for value in values]


def _values(rows: Any, column: str, scale: float) -> Array:
    values: Array = np.asarray(rows[column].to_numpy(), np.float64)
    return values * scale
