"""Fig. 10: EFFCAP and INSTCAP at large psi, for buffers of 8 to 12 packets."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.abr.sessions import EFFICIENCY, LARGE, PSI_AXIS, curve, gain, grid, mean, over_psi
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import curves
from varicap.statistics import Array

BUFFERS = (8, 10, 12)


def reproduce(run: Run) -> Outcome:
    """What caution costs where the capacity varies slowly."""
    psi = grid(run, LARGE)
    ours = both(run, psi)
    slow = [number for number, value in enumerate(psi) if value >= 15]
    costs = [gain(ours["effcap", 10][number], ours["instcap", 10][number]) for number in slow]
    drawn = partial(draw, "Fig. 10: EFFCAP and INSTCAP, large psi", psi, ours)
    return Outcome({"ABR-C3": Value(sim=mean(costs))}, drawn)


def both(run: Run, psi: Sequence[float]) -> dict[tuple[str, int], list[Array]]:
    """EFFCAP and INSTCAP at each psi, by name and buffer."""
    return {(flow, buffer): over_psi(run, flow, psi, buffer) for flow in ("effcap", "instcap") for buffer in BUFFERS}


def draw(title: str, psi: Sequence[float], ours: dict[tuple[str, int], list[Array]]) -> Figure:
    """A line for each of them."""
    lines = [
        curve(f"{flow.upper()}, B = {buffer}", psi, arrays, number)
        for number, ((flow, buffer), arrays) in enumerate(ours.items())
    ]
    return curves(title, lines, PSI_AXIS, EFFICIENCY)
