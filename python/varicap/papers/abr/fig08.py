"""Fig. 8: INSTCAP by our analysis and by our simulator, for buffers of 8, 10 and 12 packets."""

from functools import partial
from itertools import permutations
from typing import Literal

from matplotlib.figure import Figure

from varicap.analyse.models import abr as model
from varicap.papers.abr.sessions import DELAY_MS, EFFICIENCY, PSI, PSI_AXIS, curve, gain, grid, mean, one, over_psi
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import most
from varicap.report.paper import Curve, curves
from varicap.statistics import Array, Interval

SLOW = tuple(psi for psi in PSI if psi >= 1)
"""Values of psi for which the analysis applies."""

BUFFERS = (8, 10, 12)
"""Those of the captions of Figs. 10 and 11 [packets]."""

_SLOWEST = 1000.0
"""The psi that stands for a capacity that hardly varies."""

_CONVERGED = 10.0
"""The psi from which on the control loop has converged for most of the time that a state lasts: ten round trips."""

Simulated = dict[int, dict[float, Array]]
Analysed = dict[int, dict[float, model.Result]]


def simulated(run: Run, flow: str) -> Simulated:
    """Efficiency by buffer and psi."""
    psi = grid(run, PSI)
    return {buffer: dict(zip(psi, over_psi(run, flow, psi, buffer), strict=True)) for buffer in BUFFERS}


def analysed(control: Literal["instcap", "tcp"], buffer: int) -> dict[float, model.Result]:
    """The analysis, for psi of 1 and more."""
    return dict(zip(SLOW, model.sweep(model.Parameters(control=control, buffer_packets=buffer), SLOW), strict=True))


def reproduce(run: Run) -> Outcome:
    """How far analysis and simulation differ, what difference the buffer makes, and where the curve ends."""
    ours = simulated(run, "instcap")
    theory = {buffer: analysed("instcap", buffer) for buffer in BUFFERS}
    small = [gain(theory[10][psi].optimistic, sim) for psi, sim in ours[10].items() if 1 <= psi <= 2]
    both = [gain(theory[10][psi].conservative, sim) for psi, sim in ours[10].items() if 1 <= psi <= 2]
    large = [apart for psi, sim in ours[10].items() if psi > 2 for apart in _nearer(theory[10][psi], sim)]
    changes = {psi: _changes([ours[buffer][psi] for buffer in BUFFERS]) for psi in ours[10]}
    converged = [change for psi, of_psi in changes.items() if psi >= _CONVERGED for change in of_psi]
    values = {
        "ABR-C6-small": Value(sim=mean(small)),
        "ABR-C6-both": Value(sim=mean(both)),
        "ABR-C6-large": Value(sim=most(large)),
        "ABR-C8-abr": Value(sim=most(change for of_psi in changes.values() for change in of_psi)),
        "ABR-C8-slow": Value(sim=most(converged)),
        "ABR-C9": Value(sim=Interval.of(one(run, "instcap", _SLOWEST * DELAY_MS))),
    }
    return Outcome(values, partial(draw, "Fig. 8: TCP over ABR with INSTCAP", ours, theory))


def _changes(buffers: list[Array]) -> list[Array]:
    """What each buffer gains over each other [%]."""
    return [gain(one, other) for one, other in permutations(buffers, 2)]


def _nearer(analysis: model.Result, sim: Array) -> tuple[Array, Array]:
    """How far that account of the analysis which is nearer to the simulation lies above it, and below it [%]."""
    above = min((gain(account, sim) for account in (analysis.optimistic, analysis.conservative)), key=_size)
    return above, -above


def _size(distance: Array) -> float:
    return abs(float(distance.mean()))


def draw(title: str, ours: Simulated, theory: Analysed) -> Figure:
    """Simulated lines with intervals, and both accounts of the analysis."""
    lines = []
    for number, buffer in enumerate(ours):
        name = f"B = {buffer}"
        lines.append(curve(f"{name}: simulation", list(ours[buffer]), list(ours[buffer].values()), number))
        for account in ("optimistic", "conservative"):
            values = [getattr(one, account) for one in theory[buffer].values()]
            colour = number if account == "optimistic" else number + 2
            lines.append(Curve(f"{name}: analysis, {account}", SLOW, values, colour, "model"))
    return curves(title, lines, PSI_AXIS, EFFICIENCY)
