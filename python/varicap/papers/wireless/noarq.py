"""What TCP gets on each cell's link without link-level recovery, where TCP itself sees the channel's losses."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.analyse import markov
from varicap.analyse.models import pftk
from varicap.analyse.models.wireless import Parameters
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import DOPPLERS, ERROR, Table
from varicap.papers.wireless.simulated import channel_of, utilisation
from varicap.papers.wireless.tables import TABLES
from varicap.papers.worst import most
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_TIMEOUT_S = 1.0  # two ticks of 500 ms
_EFFORT = 0.25  # of a cell of the tables


def reproduce(run: Run) -> Outcome:
    """The throughput by [pftk] at the same loss probability, and the simulator's, by table and Doppler frequency."""
    ours = {table: [_percent(one) for one in table.links()[:: len(table.columns)]] for table in TABLES}
    simulated = {table: [_simulated(run, table, doppler) for doppler in DOPPLERS] for table in TABLES}
    values = {}
    for name, is_long in (("N-long", True), ("N-short", False)):
        tables = [table for table in TABLES if is_long == (table.columns[0].round_trip_s > 0.1)]
        values[name] = Value(
            model=max(cell for table in tables for cell in ours[table]),
            sim=most(flow for table in tables for flows in simulated[table] for flow in flows),
        )
    return Outcome(values, partial(_draw, ours, simulated))


def _simulated(run: Run, table: Table, doppler: int) -> Sequence[Array]:
    """Link utilisation by Tahoe, and by Reno [%]."""
    channel = channel_of(table.durations, doppler, (1 - ERROR) ** table.system.segments)
    found = utilisation(run, table.system, channel, table.columns[0], effort=_EFFORT, scenario="no-arq")
    return list(found.values())


def _percent(link: Parameters) -> float:
    """Link utilisation without ARQ [%]: a packet is lost if one of its frames is."""
    share = markov.stationary(link.slot.received + link.slot.lost)
    received = float((share @ np.linalg.matrix_power(link.slot.received, link.segments)).sum())
    packet_s = link.slot_s * link.segments
    flow = pftk.Parameters(loss=1 - received, round_trip_s=link.round_trip_s + packet_s, timeout_s=_TIMEOUT_S)
    return 100 * pftk.throughput(flow).throughput_pps * packet_s


def _draw(ours: Mapping[Table, Sequence[float]], simulated: Mapping[Table, Sequence[Sequence[Array]]]) -> Figure:
    names = [f"{table.title.removeprefix('Table ')}\n{doppler}" for table in ours for doppler in DOPPLERS]
    groups = [
        ("by the analysis of random loss", [Interval(cell) for row in ours.values() for cell in row]),
        *(
            (f"simulated, {name}", [Interval.of(flows[number]) for row in simulated.values() for flows in row])
            for number, name in enumerate(("Tahoe", "Reno"))
        ),
    ]
    return bars("Without ARQ, by table and Doppler frequency [Hz]", names, groups, "link utilisation [%]")
