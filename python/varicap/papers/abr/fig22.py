"""Fig. 22: two sessions over EFFCAP (case 2) and as TCP alone, with INSTCAP for comparison."""

from functools import partial

from varicap.papers.abr.fig19 import PSI, Pairs, between, draw, measured, ratios, unfairness
from varicap.papers.abr.sessions import gain, mean
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.statistics import Array


def reproduce(run: Run) -> Outcome:
    """Which choice of M and N is fairer, what it costs, and how fair INSTCAP is."""
    ours = {kind: measured(run, kind, PSI) for kind in ("case 2", "tcp", "instcap")}
    own = measured(run, "case 1", PSI)
    own_ratio, common, told = ratios(own), ratios(ours["case 2"]), ratios(ours["instcap"])
    cost = {psi: gain(_total(ours["case 2"], psi), _total(own, psi)) for psi in own}
    own_far, common_far, told_far = unfairness(own_ratio), unfairness(common), unfairness(told)
    over_instcap = [told_far[psi] - own_far[psi] for psi in own if psi < 20]
    values = {
        "ABR-C16-fairer": Value(sim=mean(between({psi: own_far[psi] - common_far[psi] for psi in own}))),
        "ABR-C16-least": Value(sim=least(between({psi: own_far[psi] - common_far[psi] for psi in own}))),
        "ABR-C16-cost": Value(sim=mean(between(cost))),
        "ABR-overall": Value(
            sim=mean([gain(_total(ours["case 2"], psi), _total(ours["tcp"], psi)) for psi in ours["tcp"]])
        ),
        "ABR-C17": Value(sim=least(over_instcap)),
    }
    return Outcome(values, partial(draw, "Fig. 22: case 2, TCP alone, and INSTCAP beside them", ours))


def _total(pairs: Pairs, psi: float) -> Array:
    short, long = pairs[psi]
    return short + long
