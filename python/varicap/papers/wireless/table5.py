"""Table V: System 2 over fading, 400 ms."""

from collections.abc import Mapping
from functools import partial

from varicap.analyse.models.wireless import estimate_all
from varicap.papers.run import Outcome, Run, paired
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import percent
from varicap.papers.wireless.outcome import outcome
from varicap.papers.wireless.simulated import Cells, simulate
from varicap.papers.wireless.tables import TABLE_2, TABLE_5
from varicap.papers.worst import least


def reproduce(run: Run) -> Outcome:
    """The cells of Table V, and System 2 compared with System 1 in fast fading."""
    return outcome(run, TABLE_5, partial(_statements, simulate(run, TABLE_2)))


def _statements(
    packets: Mapping[str, Cells], model: Mapping[str, float], simulated: Mapping[str, Cells]
) -> dict[str, Value]:
    in_fast_fading = list(zip(TABLE_5.cells()[-3:], TABLE_2.cells()[-3:], strict=True))
    whole = dict(zip(TABLE_2.cells(), percent(estimate_all(TABLE_2.links())), strict=True))
    values = {"T5-cells": Value(model=min(model[cells] / whole[packet] for cells, packet in in_fast_fading))}
    for flow, ours in simulated.items():
        both = (paired(ours[cells], packets[flow][packet]) for cells, packet in in_fast_fading)
        values[f"T5-cells-{flow}"] = Value(sim=least(of_cells / of_packets for of_cells, of_packets in both))
    return values
