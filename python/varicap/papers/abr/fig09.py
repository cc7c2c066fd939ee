"""Fig. 9: TCP alone by our analysis and by our simulator, for buffers of 8, 10 and 12 packets."""

from functools import partial

from varicap.papers.abr.fig08 import BUFFERS, analysed, draw, simulated
from varicap.papers.abr.sessions import gain, mean
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least


def reproduce(run: Run) -> Outcome:
    """How far the simulation is below the analysis, and how much the buffer matters, compared with INSTCAP."""
    ours, told = simulated(run, "tcp"), simulated(run, "instcap")
    theory = {buffer: analysed("tcp", buffer) for buffer in BUFFERS}
    slow = [psi for psi in ours[10] if psi >= 10]
    below = [gain(ours[10][psi], one.optimistic) for psi, one in theory[10].items() if psi in ours[10]]
    every = [gain(ours[12][psi], ours[10][psi]) for psi in ours[10]]
    worse = [gain(ours[12][psi], ours[10][psi]) - 2 * gain(told[12][psi], told[10][psi]) for psi in slow]
    values = {
        "ABR-C7": Value(sim=least(below)),
        "ABR-C8-tcp": Value(sim=mean(worse)),
        "ABR-C8-range": Value(sim=least(every)),
    }
    return Outcome(values, partial(draw, "Fig. 9: TCP without ABR", ours, theory))
