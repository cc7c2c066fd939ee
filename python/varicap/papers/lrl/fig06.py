"""Fig. 6: throughput against the initial capacity, with thresholds in packets."""

from functools import partial

import numpy as np

from varicap.papers.lrl.curves import C0, LOWS, by_c0
from varicap.papers.lrl.fig05 import draw, least, measured_throughput, most
from varicap.papers.lrl.link import interval
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array


def reproduce(run: Run) -> Outcome:
    """A curve for each low threshold, and one for its return link."""
    measured = {low: by_c0(run, "packets", low) for low in LOWS}
    packets = {low: measured_throughput(curve) for low, curve in measured.items()}
    in_bytes = {low: measured_throughput(by_c0(run, "bytes", low)) for low in LOWS}
    back = {low: {c0: at.link("reverse", "throughput_bps") / 1e3 for c0, at in measured[low].items()} for low in LOWS}
    ratio = {low: {c0: packets[low][c0] / in_bytes[low][c0].mean() for c0 in C0[1:]} for low in LOWS}
    opened = [measured[low][c0].link("reverse", "capacity_max_bps") / 1e3 for low in LOWS for c0 in C0 if c0 <= 20]
    alike = [np.corrcoef(_means(packets[low]), _means(back[low]))[0, 1] for low in LOWS]
    values = {
        "F6a": most([np.abs(ratio[low][c0].mean(keepdims=True) - 1.0) for low in LOWS for c0 in (60.0, 80.0, 100.0)]),
        "F6b": least([ratio[low][c0] for low in LOWS for c0 in C0[1:8]]),
        "F6b-2": ratio[1][2.0],
        "F6b-20": ratio[1][20.0],
        "F6c-alike": np.array([min(alike)]),
        "F6c-lower": most([back[low][c0] / packets[low][c0].mean() for low in LOWS for c0 in C0[1:]]),
        "F6d": most(opened),
    }
    rows = {f"low {low}, high {low + 4} packets": [interval(at) for at in packets[low].values()] for low in LOWS}
    returns = {f"return link, low {low}": [interval(at) for at in back[low].values()] for low in LOWS}
    grid = Grid("Fig. 6 in numbers: throughput", "kb/s", "c0 [kb/s]", [f"{c0:g}" for c0 in C0], rows | returns)
    of_claims = {key: Value(sim=interval(value)) for key, value in values.items()}
    return Outcome(of_claims, partial(draw, "Fig. 6: thresholds in packets", rows | returns), [grid])


def _means(curve: dict[float, Array]) -> list[float]:
    return [float(at.mean()) for at in curve.values()]
