"""Networks in which only some queues know about reservations, as measured in Figs. 12 and 13."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import (
    DROP_TAIL,
    OTHERS,
    WARMUP_S,
    Measured,
    capacities,
    interval,
    means,
    measure,
    queues,
    senders,
)
from varicap.papers.minrate.panels import line, over_time
from varicap.papers.run import Grid, Run
from varicap.statistics import Array

TOPOLOGIES = ("45Mb/bidir", "45Mb/samedir", "10Mb/bidir", "10Mb/samedir")
"""Capacity of all links but the bottlenecks, and whether pairs of cross traffic have a connection in each direction."""
_FORWARD, _BACK = ("n6-n7", "n8-n9"), ("n7-n6", "n9-n8")
_FLOWS = ("r1", "r4", "be")
_THREE_S = 30  # intervals of the series


def evolution(
    run: Run, topology: str, *, drop_tail: Sequence[str], recovery: str = "reno", jitter: bool = False
) -> Measured:
    """Reserved flows with timer and windowing among cross traffic, where these links have drop-tail queues."""
    access, way = topology.split("/")
    changes = senders("windowed", recovery=recovery) | queues(DROP_TAIL, drop_tail) | {"flows.be.count": "1"}
    if access == "10Mb":
        changes |= capacities("10 Mbit/s", OTHERS)
    cross = (*_FORWARD, *_BACK) if way == "bidir" else _FORWARD
    if way == "samedir":
        changes |= {f"flows.{flow}.count": "2" for flow in _FORWARD}
    if jitter:
        changes |= {f"flows.{flow}.jitter": "0.8 ms" for flow in (*_FLOWS, *cross)}
    # As many as settle a share of runs; those with jitter are a table beside the claims.
    return measure(run, changes, (*_FLOWS, *cross), series=True, seeds=None if jitter else run.pick(20, 6))


def dips(found: Measured) -> Array:
    """The share of the 4 Mb/s flow's means over 3 s that lie below 3.8 Mb/s."""
    return np.asarray((_over_3s(found) < 3.8).mean(axis=1))


def better_times(found: Measured) -> Array:
    """The upper quartile of the 4 Mb/s flow's means over 3 s [Mb/s]."""
    return np.asarray(np.quantile(_over_3s(found), 0.75, axis=1))


def swing(found: Measured) -> Array:
    """The standard deviation of the 4 Mb/s flow's means over 3 s [Mb/s]."""
    return np.asarray(_over_3s(found).std(axis=1, ddof=1))


def _over_3s(found: Measured) -> Array:
    times, rates = found.series("r4")
    return means(rates[:, times > WARMUP_S + 1e-9], _THREE_S)


def readings(figure: str, rows: Mapping[str, Measured]) -> Grid:
    """Throughput of each flow from n0 to n5, in each reading of the topology."""
    columns = ["1 Mb/s reserved", "4 Mb/s reserved", "best effort"]
    found = {name: [interval(one.throughput(flow)) for flow in _FLOWS] for name, one in rows.items()}
    return Grid(f"Readings: access links and pairs of {figure}, throughput", "Mb/s", "flow", columns, found)


def draw(title: str, panels: Mapping[str, Measured]) -> Figure:
    """Throughput over time, a panel for each."""
    return over_time(
        title,
        [(name, [line(found, flow, colour) for colour, flow in enumerate(_FLOWS)]) for name, found in panels.items()],
    )
