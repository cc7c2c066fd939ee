"""§IV and VI: Reno against Tahoe, and what else the paper leaves open, over the cells of its tables."""

from collections.abc import Mapping, Sequence
from functools import partial
from textwrap import fill

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.run import Grid, Outcome, Run, paired
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import Table, published
from varicap.papers.wireless.simulated import FLOWS, LINK, OURS, Choice, simulate, timeouts
from varicap.papers.wireless.tables import TABLE_1, TABLE_3, TABLE_4, TABLE_6, TABLES
from varicap.papers.worst import least, most
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_OFTEN = {f"flows.{flow}.tcp.repeat_fast_retransmit": "true" for flow in FLOWS}
_PER_ACK = {"tcp.congestion.reno.increase": '"per-ack"'}
_ONE_SAMPLE = {"tcp.rtt_samples": '"one-per-window"'}
CHOICES = (
    OURS,
    Choice("a loss halves the data in flight", {"tcp.halving": '"flight-size"'}),
    Choice("Reno's window is not inflated", {"flows.reno.tcp.window_inflation": "false"}),
    Choice("Reno halves once for a window's losses", {"flows.reno.tcp.repeat_fast_retransmit": "false"}),
    Choice("Tahoe resends what ACKs uncover alone", {"flows.tahoe.tcp.after_timeout": "first-hole"}),
    Choice("Tahoe falls again while it resends", _OFTEN),
    Choice("growth for each ACK", _PER_ACK),
    Choice("one RTT sample per window", _ONE_SAMPLE),
    Choice("4.3BSD: the last three", _OFTEN | _PER_ACK | _ONE_SAMPLE),
    Choice("the packet in service does not count", {f"{LINK}.queue.drop-tail.counts_in_service": "false"}),
    Choice("timeouts of one tick or more", {"tcp.timer.ticks.minimum_ticks": "1"}),
    Choice("a window of 64 kB at most", {"tcp.max_window": "64 kB"}),
    Choice("1 ms of ACK jitter", {f"flows.{flow}.jitter": "1 ms" for flow in FLOWS}),
)
"""What the paper leaves open, each alone; the first is ours."""

_TODAY = Choice("Linux's CUBIC", {"flows.reno.tcp": '{ stack = "linux" }'})

Found = Mapping[str, Sequence[Array]]
"""Link utilisation of each flow, cell by cell, in each replication [%]."""


def reproduce(run: Run) -> Outcome:
    """Where Reno comes closest to Tahoe, how much poorer it is, and how each choice moves both."""
    ratios = _ratios(_cells(run, TABLES))
    values = {
        "R-below": Value(sim=most(ratios)),
        "R-timeouts": Value(sim=_more_timeouts(run)),
        "R-much": Value(sim=Interval.of(ratios.mean(axis=0))),
        "R-much-short": Value(sim=Interval.of(_ratios(_cells(run, (TABLE_3, TABLE_6))).mean(axis=0))),
    }
    # A quick run is too short for all cells, but no choice has more of them than another.
    tables = by_choice(run)
    found = {choice.name: _cells(run, tables, choice, effort(run)) for choice in CHOICES}
    readings: dict[str, dict[str, Value]] = {"R-below": {}, "R-much": {}}
    for name, cells in list(found.items())[1:]:
        readings["R-below"][name] = Value(sim=most(_ratios(cells)))
        readings["R-much"][name] = Value.of(_ratios(cells).mean(axis=0))
    today = {
        "R-below": {"Linux's CUBIC instead of Reno": Value(sim=most(_ratios(_cells(run, tables, _TODAY, effort(run)))))}
    }
    return Outcome(values, partial(_draw, tables, found), [_grid(tables, found)], readings, today)


def by_choice(run: Run) -> Sequence[Table]:
    """The tables whose cells are simulated by each choice."""
    return run.pick(TABLES, (TABLE_1, TABLE_4))


def effort(run: Run) -> float:
    """Simulated time of a cell by another choice, over that of a cell of the tables."""
    return run.pick(0.15, 0.4)


def _more_timeouts(run: Run) -> Interval:
    """How many more timeouts a minute Reno has than Tahoe, where that is least of all cells."""
    apart = []
    for table in TABLES:
        by_flow = timeouts(run, table)
        apart += [by_flow["reno"][cell] - by_flow["tahoe"][cell] for cell in by_flow["reno"]]
    return least(apart)


def _cells(run: Run, tables: Sequence[Table], choice: Choice = OURS, effort: float = 1.0) -> Found:
    ours: dict[str, list[Array]] = {flow: [] for flow in FLOWS}
    for table in tables:
        for flow, cells in simulate(run, table, choice=choice, effort=effort).items():
            ours[flow] += cells.values()
    return ours


def _ratios(found: Found) -> Array:
    """Reno's throughput over Tahoe's, shape (cells, replications)."""
    together = paired(*found["reno"], *found["tahoe"])
    reno, tahoe = np.split(together, 2)
    return np.asarray(reno / tahoe)


def _distances(tables: Sequence[Table], found: Found) -> dict[str, Interval]:
    """Root mean square of the relative difference between ours and the paper's, by flow [%]."""
    far = {}
    for flow in FLOWS:
        paper = np.array(published("wireless", [one for table in tables for one in table.ids(flow)]))
        ratios = paired(*found[flow]) / paper[:, np.newaxis]
        far[flow] = Interval.of(100 * np.sqrt(((ratios - 1) ** 2).mean(axis=0)))
    return far


def _grid(tables: Sequence[Table], found: Mapping[str, Found]) -> Grid:
    rows = {}
    for name, cells in found.items():
        far, ratios = _distances(tables, cells), _ratios(cells)
        of_ratios = (100 * ratios.mean(axis=0), 100 * ratios.max(axis=0), 100 * (ratios < 1).mean(axis=0))
        near = _near(tables, cells)
        rows[name] = [far[flow] for flow in FLOWS] + [Interval.of(one) for one in of_ratios] + [Interval(near)]
    return Grid(
        f"Readings: the simulation, {len(next(iter(found.values()))['tahoe'])} cells",
        "%",
        "distance from the paper (rms); Reno over Tahoe, mean and largest; cells: Reno gets less, within 5 %",
        [*FLOWS, "Reno/Tahoe", "largest", "Reno below", "within 5 %"],
        rows,
    )


def _near(tables: Sequence[Table], found: Found) -> float:
    """The share of the cells of both flows whose mean is within 5 % of the paper's [%]."""
    near = [
        abs(float(ours.mean()) / paper - 1) <= 0.05
        for flow in FLOWS
        for ours, paper in zip(
            found[flow], published("wireless", [one for table in tables for one in table.ids(flow)]), strict=True
        )
    ]
    return 100 * sum(near) / len(near)


def _draw(tables: Sequence[Table], found: Mapping[str, Found]) -> Figure:
    far = [_distances(tables, cells) for cells in found.values()]
    groups = [(flow, [one[flow] for one in far]) for flow in FLOWS]
    names = [fill(name, 11) for name in found]
    return bars("How far the simulation is from the paper's, by choice", names, groups, "distance (rms) [%]")
