"""§IV and VI: Reno against Tahoe, and what else the paper leaves open, over the cells of its tables."""

from collections.abc import Mapping, Sequence
from functools import partial
from textwrap import fill

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import Table, published
from varicap.papers.wireless.simulated import FLOWS, LINK, OURS, Choice, simulate
from varicap.papers.wireless.tables import TABLE_1, TABLE_4, TABLES
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_SILENT = Choice("Reno's window is not inflated", {"flows.reno.tcp.window_inflation": "false"})
_CHOICES = (
    OURS,
    _SILENT,
    Choice("Reno halves once for a window's losses", {"flows.reno.tcp.repeat_fast_retransmit": "false"}),
    Choice("Tahoe resends what ACKs uncover alone", {"flows.tahoe.tcp.after_timeout": "first-hole"}),
    Choice("Tahoe falls again while it resends", {"flows.tahoe.tcp.repeat_fast_retransmit": "true"}),
    Choice("the packet in service does not count", {f"{LINK}.queue.drop-tail.counts_in_service": "false"}),
    Choice("timeouts of one tick or more", {"tcp.timer.ticks.minimum_ticks": "1"}),
    Choice("a window of 64 kB at most", {"tcp.max_window": "64 kB"}),
)
_EFFORT = 0.15  # of a cell of the tables, for choices that are not ours

Found = Mapping[str, Sequence[Array]]
"""Link utilisation of each flow, cell by cell, in each replication [%]."""


def reproduce(run: Run) -> Outcome:
    """Where Reno comes closest to Tahoe, and how far each choice is from the paper's simulation."""
    tables = run.pick(TABLES, (TABLE_1, TABLE_4))
    found = {choice.name: _cells(run, tables, choice) for choice in _CHOICES}
    values = {
        "R-below": Value(sim=_closest(found[OURS.name])),
        "R-below-silent": Value(sim=_closest(found[_SILENT.name])),
    }
    return Outcome(values, partial(_draw, tables, found), [_grid(tables, found)])


def _cells(run: Run, tables: Sequence[Table], choice: Choice) -> Found:
    effort = 1.0 if choice is OURS else run.pick(_EFFORT, 0.4)
    ours: dict[str, list[Array]] = {flow: [] for flow in FLOWS}
    for table in tables:
        for flow, cells in simulate(run, table, choice=choice, effort=effort).items():
            ours[flow] += cells.values()
    return ours


def _closest(found: Found) -> Interval:
    """The ratio of Reno to Tahoe in the cell where it is largest [1]."""
    ratios = [reno / tahoe for tahoe, reno in zip(found["tahoe"], found["reno"], strict=True)]
    return Interval.of(max(ratios, key=lambda ratio: float(ratio.mean())))


def _below(found: Found) -> float:
    """Share of the cells in which Reno gets less than Tahoe [%]."""
    cells = zip(found["tahoe"], found["reno"], strict=True)
    return float(100 * np.mean([reno.mean() < tahoe.mean() for tahoe, reno in cells]))


def _distances(tables: Sequence[Table], found: Found) -> dict[str, float]:
    """Root mean square of the relative difference between ours and the paper's, by flow [%]."""
    far = {}
    for flow in FLOWS:
        paper = published("wireless", [one for table in tables for one in table.ids(flow)])
        ratios = np.array([cell.mean() for cell in found[flow]]) / np.array(paper)
        far[flow] = float(100 * np.sqrt(np.mean((ratios - 1) ** 2)))
    return far


def _grid(tables: Sequence[Table], found: Mapping[str, Found]) -> Grid:
    rows = {}
    for name, cells in found.items():
        far = _distances(tables, cells)
        rows[name] = [Interval(far[flow]) for flow in FLOWS] + [Interval(_below(cells))]
    return Grid(
        f"What the paper leaves open, over {len(next(iter(found.values()))['tahoe'])} cells",
        "%",
        "distance from the paper (rms), and cells in which Reno gets less than Tahoe",
        [*FLOWS, "Reno below"],
        rows,
    )


def _draw(tables: Sequence[Table], found: Mapping[str, Found]) -> Figure:
    far = [_distances(tables, cells) for cells in found.values()]
    groups = [(flow, [Interval(one[flow]) for one in far]) for flow in FLOWS]
    names = [fill(name, 13) for name in found]
    return bars("How far the simulation is from the paper's, by choice", names, groups, "distance (rms) [%]")
