"""Figs. 10 and 11: what EFFCAP's memory costs or gains against INSTCAP, for buffers of 8 to 12 packets."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.abr.sessions import EFFICIENCY, LARGE, PSI_AXIS, SMALL, curve, gain, grid, mean, over_psi
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import curves
from varicap.statistics import Array

BUFFERS = (8, 10, 12)
RANGES = {"large": LARGE, "small": SMALL}
TITLES = {"large": "Fig. 10: EFFCAP and INSTCAP, large psi", "small": "Fig. 11: EFFCAP and INSTCAP, small psi"}


def reproduce(run: Run, psi: str, claim: str, judged: Sequence[float]) -> Outcome:
    """Throughput over `large` or `small` psi; the claim is about those within the bounds `judged`."""
    values = grid(run, RANGES[psi])
    ours = _both(run, values)
    least, most = judged
    gains = [
        gain(ours["effcap", 10][number], ours["instcap", 10][number])
        for number, value in enumerate(values)
        if least <= value <= most
    ]
    return Outcome({claim: Value(sim=mean(gains))}, partial(_draw, TITLES[psi], values, ours))


def _both(run: Run, psi: Sequence[float]) -> dict[tuple[str, int], list[Array]]:
    """EFFCAP and INSTCAP at each psi, by name and buffer."""
    return {(flow, buffer): over_psi(run, flow, psi, buffer) for flow in ("effcap", "instcap") for buffer in BUFFERS}


def _draw(title: str, psi: Sequence[float], ours: dict[tuple[str, int], list[Array]]) -> Figure:
    """A line for each of them."""
    lines = [
        curve(f"{flow.upper()}, B = {buffer}", psi, arrays, number)
        for number, ((flow, buffer), arrays) in enumerate(ours.items())
    ]
    return curves(title, lines, PSI_AXIS, EFFICIENCY)
