"""Fig. 11: EFFCAP and INSTCAP at small psi, for buffers of 8 to 12 packets."""

from functools import partial

from varicap.papers.abr.fig10 import both, draw
from varicap.papers.abr.sessions import SMALL, gain, grid, mean
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value


def reproduce(run: Run) -> Outcome:
    """What caution gains where the capacity varies about once a round trip, or faster."""
    psi = grid(run, SMALL)
    ours = both(run, psi)
    about_one = [number for number, value in enumerate(psi) if 0.3 <= value <= 1]
    gains = [gain(ours["effcap", 10][number], ours["instcap", 10][number]) for number in about_one]
    drawn = partial(draw, "Fig. 11: EFFCAP and INSTCAP, small psi", psi, ours)
    return Outcome({"ABR-C2": Value(sim=mean(gains))}, drawn)
