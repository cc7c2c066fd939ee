"""Fig. 21: two sessions at small psi; half of the EFFCAP for the mean round trip is advertised to each (case 2)."""

from functools import partial

import numpy as np

from varicap.papers.abr.fig19 import SMALL, draw, measured, ratios
from varicap.papers.abr.sessions import extreme
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value


def reproduce(run: Run) -> Outcome:
    """The pair of efficiencies that is farthest from equal."""
    ours = measured(run, "case 2", SMALL)
    values = {"ABR-C16-small": Value(sim=extreme(list(ratios(ours).values()), np.argmin))}
    return Outcome(values, partial(draw, "Fig. 21: case 2", {"case 2": ours}))
