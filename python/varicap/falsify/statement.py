"""What is said of a control, which a path may refute: a bound on a column of the results, or on a share."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import varicap._core as _core
from varicap._names import unknown
from varicap._printable import PrintableError
from varicap.design.optimise.demands import Constraint, measures
from varicap.results.samples import samples
from varicap.results.summary import chances_of, range_of
from varicap.results.tables import arrow
from varicap.statistics import MANY, Array, Bounds, Interval
from varicap.study.axes import DesignError

_SHARES = {"share": "goodput_of_capacity", "least_share": "goodput_of_capacity"}
"""Measures of this room, and a column that is read as they are."""


class StatementError(PrintableError, ValueError):
    """A statement that says nothing of these results."""


@dataclass(frozen=True)
class Statement:
    """``NAME.COLUMN >= BOUND``; what is not within the bound refutes it."""

    text: str
    table: str
    """Of the results: flows, groups, links; empty for `least_share`, which is of all flows."""
    name: str
    measure: str
    unit: str
    bounds: Bounds

    @classmethod
    def read(cls, text: str, base: _core.Scenario) -> "Statement":
        """The statement of a text, of a scenario whose flows and links it names.

        Besides columns there are two measures: ``NAME.share``, what a flow gets of the goodput of all flows, and
        ``least_share``, what the flow with the least gets of an even share.  Raises `StatementError`.
        """
        words = text.split()
        whole = words[0] if words else ""
        name, _, measure = whole.rpartition(".")
        stands = _SHARES.get(measure)
        try:
            asked = Constraint.read(text if stands is None else text.replace(measure, stands, 1))
        except DesignError as error:
            raise StatementError(str(error)) from None
        if stands is None:
            name, measure = asked.of.name or "", asked.of.measure
        if measure == "least_share":
            if name:
                raise StatementError(f"`{whole}`: a least share is of all flows: say `least_share`")
            return cls(" ".join(words), "", "", measure, "1", asked.bounds)
        table, item = _item(base, name, "goodput_bps" if measure == "share" else measure)
        return cls(" ".join(words), table, item, measure, asked.of.unit, asked.bounds)

    @property
    def sign(self) -> float:
        """What makes a smaller value a worse one."""
        return 1.0 if self.bounds.high == math.inf else -1.0

    @property
    def bound(self) -> float:
        """The number that it says."""
        return self.bounds.low if self.bounds.high == math.inf else self.bounds.high

    def values(self, results: _core.Results) -> list[float]:
        """The measure in each run; NaN in a run without it."""
        if self.measure == "least_share":
            return [float(one) for one in _least_share(arrow(results.flows()))]
        if self.measure == "share":
            return [float(one) for one in _share(arrow(results.groups()), arrow(results.flows()), self.name)]
        return [float(one) for one in samples(arrow(getattr(results, self.table)()), self.name, self.measure)]

    def interval(self, values: list[float], *, is_exact: bool) -> Interval:
        """The mean with its interval; no width where nothing is drawn."""
        if is_exact:
            return Interval.exactly(values[0])
        if self.measure in _SHARES:
            return Interval.of(values, within="share", chances=MANY)
        chances = chances_of(self.measure)
        counted = MANY if isinstance(chances, str) else chances
        return Interval.of(values, within=range_of(self.measure), chances=counted)

    def shown(self, value: float) -> str:
        """A value with its unit.

        >>> Statement("", "", "", "least_share", "1", Bounds(low=0.5)).shown(0.0934)
        '9.3 %'
        """
        if self.unit == "1" and (self.measure in _SHARES or range_of(self.measure) == "share"):
            return f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.3g} %"
        if self.unit == "b/s":
            return f"{value / 1e6:.3g} Mbit/s"
        return f"{value:.3g}" + ("" if self.unit == "1" else f" {self.unit}")


def _item(base: _core.Scenario, name: str, measure: str) -> tuple[str, str]:
    """The table and the row that a measure is of.  Raises `StatementError`."""
    flows: dict[str, int] = {}
    links: list[str] = []
    limited: list[str] = []
    for network in json.loads(base.facts()):
        flows |= {flow["name"]: flow["count"] for flow in network["flows"]}
        links += [link["name"] for link in network["links"]]
        limited += [link["name"] for link in network["links"] if link["capacity"] != {"constant": "unlimited"}]
    of_links = measure in measures(("links",))
    of_flows = measure in measures(("flows",))
    if name in links and of_links:
        return "links", name
    for flow, count in flows.items():
        if name == flow and of_flows:
            return ("flows" if count == 1 else "groups"), name
        if count > 1 and name in {f"{flow}.{number}" for number in range(count)} and of_flows:
            return "flows", name
    if name:
        raise StatementError(unknown("flow or link with that column", name, [*flows, *dict.fromkeys(links)]))
    there = list(dict.fromkeys(limited)) if of_links and not of_flows else list(flows)
    if len(there) != 1:
        raise StatementError(f"`{measure}` may mean several: say {', '.join(f'`{one}.{measure}`' for one in there)}")
    if of_links and not of_flows:
        return "links", there[0]
    return ("flows" if flows[there[0]] == 1 else "groups"), there[0]


def _by_run(flows: pa.Table) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for run, goodput in zip(flows["replication"].to_pylist(), flows["goodput_bps"].to_pylist(), strict=True):
        found.setdefault(run, []).append(goodput or 0.0)
    return found


def _least_share(flows: pa.Table) -> Array:
    """What the flow with the least has of an even share, in each run [1]."""
    return np.array([min(each) * len(each) / max(sum(each), 1e-9) for each in _by_run(flows).values()])


def _share(groups: pa.Table, flows: pa.Table, name: str) -> Array:
    """What a flow, or a group, has of all goodput, in each run [1]."""
    table = groups if groups.num_rows and name in groups["name"].to_pylist() else flows
    total = np.array([sum(each) for each in _by_run(flows).values()])
    return np.asarray(samples(table, name, "goodput_bps") / np.maximum(total, 1e-9))
