"""Fig. 14: EFFCAP's N at a round-trip time of 200 ms; both numbers that the paper has for N : 4 Delta."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.abr.sessions import DELAY_MS, EFFICIENCY, PSI, PSI_AXIS, curve, gain, grid, one
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import curves
from varicap.statistics import Array, Interval

LEAST = {7: "N : 2 Delta", 14: "N : 4 Delta as printed", 21: "N : 4 Delta", 49: "N : 8 Delta"}
"""Values of N in samples, by name."""


def reproduce(run: Run) -> Outcome:
    """Whether a longer memory helps where the capacity varies about once per round trip."""
    psi = grid(run, PSI)
    ours = {least: [one(run, "effcap", value * DELAY_MS, memory=(7, least)) for value in psi] for least in LEAST}
    about_one = [number for number, value in enumerate(psi) if 0.3 <= value <= 1]
    steps = [gain(ours[more][number], ours[less][number]) for number in about_one for less, more in ((7, 21), (21, 49))]
    whole = [gain(ours[49][number], ours[7][number]) for number in about_one]
    values = {"ABR-C10": Value(sim=least(whole)), "ABR-C10-steps": Value(sim=least(steps))}
    rows = {f"{LEAST[size]}, {size}": [Interval.of(of_psi) for of_psi in ours[size]] for size in (14, 21)}
    readings = Grid("Readings: N : 4 Delta at 200 ms, efficiency", "1", "psi", [f"{one:g}" for one in psi], rows)
    return Outcome(values, partial(_draw, psi, ours), [readings])


def _draw(psi: Sequence[float], ours: dict[int, list[Array]]) -> Figure:
    lines = [curve(f"{LEAST[least]} ({least})", psi, ours[least], number) for number, least in enumerate(LEAST)]
    return curves("Fig. 14: EFFCAP's memory at 200 ms", lines, PSI_AXIS, EFFICIENCY)
