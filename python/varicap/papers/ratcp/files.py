"""Files that arrive at random, as measured in Figs. 7 and 8 and in the text on random loss.

Every kind of TCP gets the same files at the same times.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.ratcp.kinds import CUBIC, RATCP, RATCP_4, SACK, TCP, Kind
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

KINDS = (RATCP, RATCP_4, TCP, SACK, CUBIC)
CAPACITY_BPS = 2e6
LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Files:
    """The results of the files of one kind of TCP at one load, with a value for each replication."""

    throughput: Array
    """Throughput of a file, size over completion time, as a mean over the files [kB/s]."""
    resent: Array
    """Retransmitted data per file [kB]."""


def measure(
    run: Run,
    load: float,
    *,
    size_kb: float = 200.0,
    loss: float = 0.0,
    seeds: int,
    kinds: Sequence[Kind] = KINDS,
    changes: Mapping[str, str] | None = None,
) -> dict[Kind, Files]:
    """Files of a mean size at a load, by the kind of TCP, with further `changes` of the scenario."""
    arrivals = load * CAPACITY_BPS / 8e3 / size_kb
    # The same number of files for each mean size.
    span = run.pick(2000, 500) * size_kb / 200.0
    found = {}
    for kind in kinds:
        of_kind = kind.changes("flows.files.tcp") | {
            "flows.files.app.arrivals.rate": f"{arrivals:g} /s",
            "flows.files.app.arrivals.size.exponential": f"{size_kb:g} kB",
            "topology.dumbbell.forward.loss": str(loss),
            "duration": f"{50 + span:g} s",
        }
        rows = run.simulate("files", of_kind | dict(changes or {}), seeds=seeds).flows
        found[kind] = Files(
            samples(rows, "files", "transfer_throughput_bps") / 8e3,
            samples(rows, "files", "retransmitted_packets") * 1.5 / samples(rows, "files", "transfers"),
        )
    return found


def by_load(run: Run) -> list[dict[Kind, Files]]:
    """`measure` at each of `LOADS` without loss, as Figs. 7 and 8 have it."""
    return [measure(run, load, seeds=run.pick(10, 4)) for load in LOADS]


def outcome(
    figure: str,
    cells: Sequence[Mapping[Kind, Files]],
    values: Mapping[str, Value],
    of: Callable[[Files], Array],
    axis: Axis,
    unit: str,
) -> Outcome:
    """One measure of the files against the load, a line for each kind of TCP, in numbers and drawn."""
    rows = {kind.name: [Interval.of(of(cell[kind])) for cell in cells] for kind in KINDS}
    grid = Grid(f"{figure} in numbers, and a TCP of today", unit, "load", [f"{load:g}" for load in LOADS], rows)
    return Outcome(values, partial(_draw, f"{figure}: files of 200 kB on average on 2 Mb/s", rows, axis), [grid])


def _draw(title: str, rows: Mapping[str, Sequence[Interval]], axis: Axis) -> Figure:
    lines = [Curve(name, LOADS, intervals, colour) for colour, (name, intervals) in enumerate(rows.items())]
    return curves(title, lines, Axis("load"), axis)
