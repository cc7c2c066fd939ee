"""Section IV: the constant rate that suits TCP best, and the decay delta whose effective capacity it is."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.analyse.effective import SlottedChain
from varicap.analyse.models import abr as model
from varicap.papers.abr.sessions import DELAY_MS, EFFICIENCY, curve, one, over_psi
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

PSI = (3.0, 5.0, 7.0, 10.0, 15.0, 20.0)
SIMULATED = (5.0, 10.0, 20.0)
_QUICK = (3.0, *SIMULATED)
RATES = (0.5, 0.505, 0.51, 0.52, 0.53, 0.55, 0.575, 0.6, 0.65, 0.7, 0.75)
"""Constant rates of the source, as shares of the high capacity."""
HIGH_KBPS = 800.0


def reproduce(run: Run) -> Outcome:
    """The best rate by the analysis and by the simulator, and the delta that follows from it."""
    parameters = {psi: model.Parameters(capacity=SlottedChain.symmetric(psi)) for psi in run.pick(PSI, _QUICK)}
    best = [model.best_constant_rate(of_psi) for of_psi in parameters.values()]
    decays = np.array([one.decay for one in best])
    # The unit of data is what the high capacity carries in Delta, since gamma and C_i are per Delta [abr, §IV].
    normalised = float(np.mean(decays)) * parameters[PSI[0]].slot_packets
    ours = {psi: [_constant(run, psi, rate) for rate in RATES] for psi in SIMULATED}
    values = {
        "ABR-C18-rate": Value(model=max(one.rate for one in best) / 0.5, sim=_best(ours)),
        "ABR-C18-consistent": Value(model=float(decays.max() / decays.min())),
        "ABR-C18-decay": Value(model=normalised),
    }
    return Outcome(values, partial(_draw, ours, {psi: parameters[psi] for psi in SIMULATED}), [_finite(run)])


def _finite(run: Run) -> Grid:
    """The efficiency of EFFCAP(7, 49) with a finite delta, eqs. (25) and (26), instead of the least average."""
    shown = run.pick((0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0), (0.5, 1.0, 5.0, 20.0))
    setting = "flows.effcap.feedback.estimator.effective.delta"
    rows = {
        f"delta = {delta:g} per packet": [
            Interval.of(one(run, "effcap", psi * DELAY_MS, changes={setting: f"{delta!r}"})) for psi in shown
        ]
        for delta in run.pick((0.01, 0.1, 0.3, 1.0, 3.0), (0.1, 1.0))
    }
    rows["the least average"] = [Interval.of(points) for points in over_psi(run, "effcap", shown)]
    columns = [f"{psi:g}" for psi in shown]
    return Grid("Beside the paper: efficiency over EFFCAP with a finite delta", "1", "psi", columns, rows)


def _constant(run: Run, psi: float, rate: float) -> Array:
    return one(run, "constant", psi * DELAY_MS, changes={"flows.constant.abr.rate": f"{HIGH_KBPS * rate:g} kbit/s"})


def _best(ours: Mapping[float, list[Array]]) -> Interval:
    """The largest ratio, over all psi, of the best rate to the least capacity, in each replication."""
    largest = np.max([np.array(RATES)[np.argmax(points, axis=0)] for points in ours.values()], axis=0)
    return Interval.of(largest / 0.5)


def _draw(ours: Mapping[float, list[Array]], parameters: Mapping[float, model.Parameters]) -> Figure:
    lines = []
    for number, (psi, points) in enumerate(ours.items()):
        lines.append(curve(f"psi = {psi:g}: simulation", RATES, points, number))
        theory = [model.efficiency(model.constant(parameters[psi], rate)).optimistic for rate in RATES]
        lines.append(Curve(f"psi = {psi:g}: analysis, optimistic", RATES, theory, number, "model"))
    return curves("§IV: a source that sends at a constant rate", lines, Axis("rate / high capacity"), EFFICIENCY)
