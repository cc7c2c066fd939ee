"""Files that arrive at random: what Figs. 7 and 8 and the text on random loss measure.

Every kind of TCP gets the same files at the same times.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from varicap.papers.ratcp.kinds import CUBIC, RATCP, RATCP_4, SACK, TCP, Kind
from varicap.papers.run import Run
from varicap.results.samples import samples
from varicap.statistics import Array

KINDS = (RATCP, RATCP_4, TCP, SACK, CUBIC)
CAPACITY_BPS = 2e6


@dataclass(frozen=True)
class Files:
    """What the files of one kind of TCP got at one load, a value for each replication."""

    throughput: Array
    """Mean over the files of size over completion time [kB/s]."""
    resent: Array
    """Retransmitted data per file [kB]."""


def measure(run: Run, load: float, *, size_kb: float = 200.0, loss: float = 0.0, seeds: int) -> dict[Kind, Files]:
    """Files of a mean size at a load, by the kind of TCP."""
    arrivals = load * CAPACITY_BPS / 8e3 / size_kb
    # As many files for each mean size.
    span = run.pick(2000, 500) * size_kb / 200.0
    found = {}
    for kind in KINDS:
        changes = kind.changes("flows.files.tcp") | {
            "flows.files.app.arrivals.rate": f"{arrivals:g} /s",
            "flows.files.app.arrivals.size.exponential": f"{size_kb:g} kB",
            "topology.dumbbell.forward.loss": str(loss),
            "duration": f"{50 + span:g} s",
        }
        rows = run.simulate("files", changes, seeds=seeds).flows
        found[kind] = Files(
            samples(rows, "files", "transfer_throughput_bps") / 8e3,
            samples(rows, "files", "retransmitted_packets") * 1.5 / samples(rows, "files", "transfers"),
        )
    return found


def by_load(run: Run, loads: Sequence[float]) -> list[dict[Kind, Files]]:
    """`measure` at these loads without loss, as Figs. 7 and 8 have it."""
    return [measure(run, load, seeds=run.pick(10, 4)) for load in loads]
