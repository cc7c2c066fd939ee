"""Fig. 14: ERED inside the classes of CBQ: agencies A and B with 20 and 80 % of a link."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.minrate.network import Measured, interval, measure
from varicap.papers.minrate.panels import line, over_time
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array

_FLOWS = ("A1", "A2", "B1", "B2")
_SETTLING_S, _PHASE_S = 20, 100


def reproduce(run: Run) -> Outcome:
    """Throughput in each phase, without its first 20 s."""
    found = measure(run, {}, _FLOWS, scenario="agencies", seeds=run.pick(10, 2))
    a1, a2, b1, b2 = ([_phase(found, flow, number) for number in range(4)] for flow in _FLOWS)
    values = {
        "F14a": a1[0],
        "F14b": a2[1] - a1[1],
        "F14b-sum": a1[1] + a2[1],
        "F14c": b1[2],
        "F14c-sum": a1[2] + a2[2],
        "F14c-A": a2[2] - a1[2],
        "F14d": b2[3] - b1[3],
        "F14d-sum": b1[3] + b2[3],
    }
    rows = {flow: [interval(one) for one in phases] for flow, phases in zip(_FLOWS, (a1, a2, b1, b2), strict=True)}
    columns = [f"{number * _PHASE_S} to {(number + 1) * _PHASE_S} s" for number in range(4)]
    grid = Grid("Fig. 14 in numbers: throughput", "Mb/s", "phase", columns, rows)
    of_claims = {key: Value(sim=interval(value)) for key, value in values.items()}
    return Outcome(of_claims, partial(_draw, found), [grid])


def _phase(found: Measured, flow: str, number: int) -> Array:
    """Mean throughput in the phase with this number [Mb/s]."""
    times, rates = found.series(flow)
    inside = (times > number * _PHASE_S + _SETTLING_S + 1e-9) & (times < (number + 1) * _PHASE_S + 1e-9)
    return np.asarray(rates[:, inside].mean(axis=1))


def _draw(found: Measured) -> Figure:
    lines = [line(found, flow, colour, seconds=4.0) for colour, flow in enumerate(_FLOWS)]
    return over_time("Fig. 14: two agencies with 20 and 80 % of a link", [("throughput, 4 s", lines)])
