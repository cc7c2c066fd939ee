"""Fig. 21: two sessions at small psi; half of the EFFCAP for the mean round trip is advertised to each (case 2)."""

from functools import partial

from varicap.papers.abr.fig19 import SMALL, draw, measured, ratios, unfairness
from varicap.papers.abr.sessions import mean
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value


def reproduce(run: Run) -> Outcome:
    """Whether the sessions are nearer to equal than in case 1."""
    ours = measured(run, "case 2", SMALL)
    own, common = unfairness(ratios(measured(run, "case 1", SMALL))), unfairness(ratios(ours))
    values = {"ABR-C16-small": Value(sim=mean([own[psi] - common[psi] for psi in own]))}
    return Outcome(values, partial(draw, "Fig. 21: case 2", {"case 2": ours}))
