"""Fig. 20: two sessions over EFFCAP (case 1) and as TCP alone, over the whole range of psi."""

from functools import partial

from varicap.papers.abr.fig19 import PSI, between, draw, fairness, measured, ratios
from varicap.papers.abr.sessions import mean
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import farthest, least, most


def reproduce(run: Run) -> Outcome:
    """How unfair EFFCAP is to the longer round trip at intermediate psi, and how unfair TCP alone is."""
    ours = {kind: measured(run, kind, PSI) for kind in ("case 1", "tcp")}
    effcap, tcp = ratios(ours["case 1"]), ratios(ours["tcp"])
    values = {
        "ABR-C15-between": Value(sim=least(between(effcap))),
        "ABR-C15-range": Value(sim=most(between(effcap))),
        "ABR-C15-tcp": Value(sim=mean(list(tcp.values()))),
        "ABR-fair-slow": Value(sim=farthest([ratio for psi, ratio in effcap.items() if psi > 20])),
        "ABR-C15-fairer": Value(sim=least([effcap[psi] - tcp[psi] for psi in tcp])),
    }
    return Outcome(values, partial(draw, "Fig. 20: case 1 and TCP alone", ours), [fairness(run)])
