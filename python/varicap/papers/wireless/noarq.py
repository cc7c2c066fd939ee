"""What TCP gets without link-level recovery, at each cell's link: the channel's losses are TCP's."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.analyse import markov
from varicap.analyse.models import pftk
from varicap.analyse.models.wireless import Parameters
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Interval, Value
from varicap.papers.wireless.cells import DOPPLERS
from varicap.papers.wireless.tables import TABLES
from varicap.report.paper import bars

_TIMEOUT_S = 1.0  # two ticks of 500 ms


def reproduce(run: Run) -> Outcome:
    """The throughput of [pftk] under as many losses, by table and Doppler frequency."""
    ours = {table: [_percent(one) for one in table.links()[:: len(table.columns)]] for table in TABLES}
    long, short = (
        max(cell for table, row in ours.items() for cell in row if is_long == (table.columns[0].round_trip_s > 0.1))
        for is_long in (True, False)
    )
    return Outcome(
        {"N-long": Value(model=long), "N-short": Value(model=short)},
        partial(_draw, {table.title: row for table, row in ours.items()}),
    )


def _percent(link: Parameters) -> float:
    """Link utilisation without ARQ [%]: a packet is lost if one of its frames is."""
    share = markov.stationary(link.slot.received + link.slot.lost)
    received = float((share @ np.linalg.matrix_power(link.slot.received, link.segments)).sum())
    packet_s = link.slot_s * link.segments
    flow = pftk.Parameters(loss=1 - received, round_trip_s=link.round_trip_s + packet_s, timeout_s=_TIMEOUT_S)
    return 100 * pftk.throughput(flow).throughput_pps * packet_s


def _draw(ours: dict[str, list[float]]) -> Figure:
    groups = [
        (f"{doppler} Hz", [Interval(row[number]) for row in ours.values()]) for number, doppler in enumerate(DOPPLERS)
    ]
    return bars("Without ARQ, by the analysis of random loss", list(ours), groups, "link utilisation [%]")
