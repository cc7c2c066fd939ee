"""Beyond the paper: four sessions of 120 to 480 ms; a quarter of EFFCAP, or of INSTCAP, is advertised to each."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.abr.sessions import INTERVAL_MS, seeds, variation
from varicap.papers.run import Grid, Outcome, Run
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

DELAYS_MS = (120, 240, 360, 480)
PSI = (0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Values of psi: mean time in a state over the mean round trip, 300 ms."""
_MEAN_MS = 300.0
_MEMORY = (10, 110)  # M and N of the mean round trip, N : 12 Delta
KINDS = {
    "own": "EFFCAP of each round trip",
    "common": "EFFCAP of the mean round trip",
    "instcap": "INSTCAP",
    "tcp": "TCP alone",
}


def reproduce(run: Run) -> Outcome:
    """Jain's index of the four sessions, by kind and psi.  Source: [jain84]."""
    shown = run.pick(PSI, (1.0, 5.0, 20.0))
    goodputs = {kind: {psi: _goodputs(run, kind, psi) for psi in shown} for kind in KINDS}
    rows = {KINDS[kind]: [_jain(points) for points in by_psi.values()] for kind, by_psi in goodputs.items()}
    columns = [f"{psi:g}" for psi in shown]
    jain = Grid("Beyond the paper: Jain's index of four sessions of 120 to 480 ms", "1", "psi", columns, rows)
    at_one = {kind: by_psi[1.0] for kind, by_psi in goodputs.items()}
    return Outcome({}, partial(_draw, at_one), [jain])


def _goodputs(run: Run, kind: str, psi: float) -> Array:
    """Goodput of each session in each replication [b/s], shape (sessions, replications)."""
    flows = [f"tcp-{delay}" if kind == "tcp" else f"s{delay}" for delay in DELAYS_MS]
    overrides = variation(run, psi * _MEAN_MS, times=run.pick(3.0, 1.0))
    for flow in flows:
        estimator = f"flows.{flow}.feedback.estimator"
        if kind == "instcap":
            overrides[estimator] = f'{{ instantaneous = {{ interval = "{INTERVAL_MS:g} ms" }} }}'
        elif kind == "common":
            overrides[f"{estimator}.effective.average"] = f"{_MEMORY[0]} samples"
            overrides[f"{estimator}.effective.least"] = f"{_MEMORY[1]} samples"
    done = run.simulate("four-sessions", overrides, seeds=seeds(run), flows=flows)
    return np.array([samples(done.flows, flow, "goodput_bps") for flow in flows])


def _jain(goodputs: Array) -> Interval:
    return Interval.of(goodputs.sum(axis=0) ** 2 / (len(goodputs) * (goodputs**2).sum(axis=0)))


def _draw(at_one: dict[str, Array]) -> Figure:
    groups = [f"{delay} ms" for delay in DELAYS_MS]
    values = [(KINDS[kind], [Interval.of(one / 1e3) for one in goodputs]) for kind, goodputs in at_one.items()]
    return bars("Four sessions at psi = 1", groups, values, "goodput [kb/s]")
