"""Fig. 13: EFFCAP, INSTCAP and TCP alone at small psi."""

from functools import partial

from varicap.papers.abr.fig12 import KINDS, draw, today
from varicap.papers.abr.sessions import PSI, SMALL, gain, grid, over_psi
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.statistics import Interval


def reproduce(run: Run) -> Outcome:
    """Where TCP alone is better than INSTCAP, and whether EFFCAP is ever worse than TCP alone."""
    psi, every = grid(run, SMALL), grid(run, PSI)
    ours = {flow: over_psi(run, flow, psi) for flow in KINDS}
    at_one = psi.index(1.0)
    everywhere = zip(over_psi(run, "effcap", every), over_psi(run, "tcp", every), strict=True)
    values = {
        "ABR-C4": Value(sim=Interval.of(gain(ours["instcap"][at_one], ours["tcp"][at_one]))),
        "ABR-C5": Value(sim=least([gain(effcap, tcp) for effcap, tcp in everywhere])),
    }
    return Outcome(values, partial(draw, "Fig. 13: with and without ABR, small psi", psi, ours), [today(run, psi)])
