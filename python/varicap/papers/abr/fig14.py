"""Fig. 14: EFFCAP's N at a round-trip time of 200 ms; both numbers that the paper has for N : 4 Delta."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.abr.sessions import DELAY_MS, EFFICIENCY, PSI, PSI_AXIS, curve, extreme, gain, grid, one
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import curves
from varicap.statistics import Array

LEAST = {7: "N : 2 Delta", 14: "N : 4 Delta as printed", 21: "N : 4 Delta", 49: "N : 8 Delta"}
"""Values of N in samples, by name."""


def reproduce(run: Run) -> Outcome:
    """Whether a longer memory helps where the capacity varies about once per round trip."""
    psi = grid(run, PSI)
    ours = {least: [one(run, "effcap", value * DELAY_MS, memory=(7, least)) for value in psi] for least in LEAST}
    about_one = [number for number, value in enumerate(psi) if 0.3 <= value <= 1]
    steps = [gain(ours[more][number], ours[less][number]) for number in about_one for less, more in ((7, 21), (21, 49))]
    whole = [gain(ours[49][number], ours[7][number]) for number in about_one]
    values = {"ABR-C10": Value(sim=extreme(whole, np.argmin)), "ABR-C10-steps": Value(sim=extreme(steps, np.argmin))}
    return Outcome(values, partial(_draw, psi, ours))


def _draw(psi: Sequence[float], ours: dict[int, list[Array]]) -> Figure:
    lines = [curve(f"{LEAST[least]} ({least})", psi, ours[least], number) for number, least in enumerate(LEAST)]
    return curves("Fig. 14: EFFCAP's memory at 200 ms", lines, PSI_AXIS, EFFICIENCY)
