"""The paper's network, its flows and senders, and the measurements of its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow.compute as pc

from varicap.papers.run import Run
from varicap.results.result import Result
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

RATES = {"r1": 1.0, "r2": 2.0, "r4": 4.0}
"""Reservations of the flows of Fig. 2 [Mb/s]."""
ONE_WAY = ("r1", "r2", "r4", "be")
TWO_WAY = (*ONE_WAY, *(f"back-{flow}" for flow in ONE_WAY))
_STEP = "step"
_RESERVED = (*RATES, *(f"back-{flow}" for flow in RATES), _STEP)

WARMUP_S = 20
"""The beginning of each run, which is not counted: a connection may wait for first timeouts of 6 and 12 s [s]."""

BOTTLENECKS = ("n1-n2", "n2-n1", "n3-n4", "n4-n3")
OTHERS = tuple(
    link
    for a, b in (("n0", "n1"), ("n2", "n3"), ("n4", "n5"), ("n6", "n1"), ("n7", "n2"), ("n8", "n3"), ("n9", "n4"))
    for link in (f"{a}-{b}", f"{b}-{a}")
)
LINKS = (*BOTTLENECKS, *OTHERS)

Kind: TypeAlias = Literal["plain", "delayed", "timed", "windowed"]
"""How senders use reservations: marking only, delayed or timed transmissions, timed with a rate-adaptive window."""
Changes: TypeAlias = Mapping[str, str]


def senders(
    kind: Kind,
    *,
    bucket: str = "50 ms",
    timer: str = "20 ms",
    owner: Literal["own", "shared"] = "own",
    recovery: str = "reno",
    window: str = "rate-adaptive-window",
) -> dict[str, str]:
    """Reserved flows of this kind, as changes of the scenario."""
    changes = {}
    for flow in _RESERVED:
        reservation = f"flows.{flow}.reservation"
        changes[f"{reservation}.bucket"] = bucket
        changes[f"flows.{flow}.tcp.recovery"] = recovery
        if kind == "delayed":
            changes[f"{reservation}.delayed"] = "{}"
        elif kind != "plain":
            changes[f"{reservation}.timed"] = f'{{ interval = "{timer}", timer = "{owner}" }}'
        if kind == "windowed":
            changes[f"flows.{flow}.tcp.congestion"] = window
    return changes


def queues(queue: str, links: Sequence[str] = LINKS) -> dict[str, str]:
    """Changes of the scenario that give these links this queue."""
    return {f"topology.graph.links.{link}.queue": queue for link in links}


def capacities(capacity: str, links: Sequence[str]) -> dict[str, str]:
    """Changes of the scenario that give these links this capacity."""
    return {f"topology.graph.links.{link}.capacity": capacity for link in links}


DROP_TAIL = '{ drop-tail = { limit = "100 packets" } }'


@dataclass(frozen=True)
class Measured:
    """The results of one setting, with a value for each replication."""

    result: Result

    def throughput(self, flow: str) -> Array:
        """Throughput of a flow, or the mean over the flows of a group [Mb/s]."""
        return self._mean(flow, "throughput_bps", 1e6)

    def goodput(self, flow: str) -> Array:
        """Goodput: application bytes delivered in order [Mb/s]."""
        return self._mean(flow, "goodput_bps", 1e6)

    def compliant(self, flow: str) -> Array:
        """Throughput of the flow's marked packets [Mb/s]."""
        return self._mean(flow, "compliant_bps", 1e6)

    def excess(self, flow: str) -> Array:
        """Throughput of the flow's unmarked packets [Mb/s]."""
        return self.throughput(flow) - self.compliant(flow)

    def timeouts(self, flow: str) -> Array:
        """The number of timeouts of a flow."""
        return self._mean(flow, "timeouts", 1.0)

    def lost_tokens(self, flow: str, rate: float) -> Array:
        """The share of the tokens of a reservation of `rate` [Mb/s] that were lost."""
        summary = self.result.summary
        return 8 * self._mean(flow, "lost_tokens_bytes", 1e6) / (rate * float(summary["measured_s"]))

    def link(self, name: str, column: str) -> Array:
        """A column of the results of a link."""
        return samples(self.result.links, name, column)

    def _mean(self, flow: str, column: str, unit: float) -> Array:
        rows = self.result.flows.filter(pc.equal(self.result.flows["group"], flow))
        if rows.num_rows == 0:
            raise KeyError(flow)
        values = np.asarray(rows[column].to_numpy(zero_copy_only=False), dtype=np.float64)
        return np.asarray(values.reshape(self.result.runs, -1).mean(axis=1) / unit)

    def series(self, flow: str, column: str = "throughput_bps", scale: float = 1e-6) -> tuple[Array, Array]:
        """Ends of intervals [s], shape (n,), and a column of a flow's time series, shape (runs, n)."""
        table = self.result.flow_series
        rows = table.filter(pc.equal(table["flow"], flow))
        values = np.asarray(rows[column].to_numpy(zero_copy_only=False), dtype=np.float64) * scale
        times = np.asarray(rows["time_s"].to_numpy(), dtype=np.float64).reshape(self.result.runs, -1)[0]
        return times, values.reshape(self.result.runs, -1)


def measure(
    run: Run,
    changes: Changes,
    flows: Sequence[str] = ONE_WAY,
    *,
    scenario: str = "chain",
    seeds: int | None = None,
    series: bool = False,
) -> Measured:
    """Simulate these flows of the paper's network with these changes."""
    effort = {"duration": run.pick("100 s", "50 s"), "warmup": f"{WARMUP_S} s"}
    record = {"record.series": "true"} if series else {}
    count = run.pick(8, 3) if seeds is None else seeds
    return Measured(
        run.simulate(
            scenario, {**(effort if scenario == "chain" else {}), **record, **changes}, seeds=count, flows=flows
        )
    )


def means(values: Array, width: int) -> Array:
    """Means over `width` intervals each, along the last axis; a remainder at the end is dropped."""
    whole = values.shape[-1] // width
    return np.asarray(values[..., : whole * width].reshape(*values.shape[:-1], whole, width).mean(axis=-1))


def interval(values: Array) -> Interval:
    """Mean over the runs."""
    return Interval.of(np.asarray(values, dtype=np.float64))
