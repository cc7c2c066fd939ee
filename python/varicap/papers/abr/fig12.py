"""Fig. 12: EFFCAP, INSTCAP and TCP alone at large psi."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.abr.sessions import EFFICIENCY, LARGE, PSI_AXIS, curve, extreme, gain, grid, mean, over_psi
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import curves
from varicap.statistics import Array, Interval

KINDS = {"effcap": "TCP over ABR, EFFCAP", "instcap": "TCP over ABR, INSTCAP", "tcp": "TCP alone"}
_TODAY = {
    "reno": "Reno alone",
    "newreno": "NewReno alone",
    "sack": "SACK alone",
    "cubic": "CUBIC (SACK) alone",
    "sack-instcap": "SACK over ABR, INSTCAP",
    "sack-effcap": "SACK over ABR, EFFCAP",
}


def reproduce(run: Run) -> Outcome:
    """What rate control gains where the capacity varies slowly."""
    psi = grid(run, LARGE)
    ours = {flow: over_psi(run, flow, psi) for flow in KINDS}
    slow = [number for number, value in enumerate(psi) if value > 20]
    gains = [gain(ours["instcap"][number], ours["tcp"][number]) for number in slow]
    values = {"ABR-C1": Value(sim=mean(gains)), "ABR-C1-least": Value(sim=extreme(gains, np.argmin))}
    return Outcome(values, partial(draw, "Fig. 12: with and without ABR, large psi", psi, ours), [today(run, psi)])


def draw(title: str, psi: Sequence[float], ours: dict[str, list[Array]]) -> Figure:
    """A line for each of the three."""
    lines = [curve(KINDS[flow], psi, arrays, number) for number, (flow, arrays) in enumerate(ours.items())]
    return curves(title, lines, PSI_AXIS, EFFICIENCY)


def today(run: Run, psi: Sequence[float]) -> Grid:
    """What a modern TCP gets on the same link, alone and over the same rate control."""
    several = run.pick((0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0), (0.2, 1.0, 5.0, 20.0))
    shown = [value for value in psi if value in several]
    rows = {name: [Interval.of(one) for one in over_psi(run, flow, shown)] for flow, name in _TODAY.items()}
    columns = [f"{value:g}" for value in shown]
    return Grid("Beside the paper: efficiency with fast retransmit, SACK and CUBIC", "1", "psi", columns, rows)
