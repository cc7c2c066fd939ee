"""The paper's equations (admission with ERED, depth and timer of a token bucket), checked by simulation."""

from functools import partial

import numpy as np

from varicap.analyse.models.minrate import admissible_peak_bps, least_depth_bytes, lossless_interval_s
from varicap.papers.minrate.fig06 import timed
from varicap.papers.minrate.fig07 import windowed
from varicap.papers.minrate.network import RATES, interval
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves

_PACKET = 1000.0  # [B]
_TIMER_S, _BUCKET_S = 0.020, 0.050
_MEAN_DEPTHS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)  # [s]


def reproduce(run: Run) -> Outcome:
    """The equations, and the shares of marked packets and of tokens that are lost."""
    bounds = {rate: lossless_interval_s(rate * 1e6 * _BUCKET_S / 8, rate * 1e6, _PACKET) for rate in RATES.values()}
    found, before = windowed(run), timed(run)
    lost = sum((found.link(link, "dropped_reserved_packets") for link in ("n0-n1", "n1-n2", "n3-n4")), np.zeros(()))
    seconds = float(found.result.summary["measured_s"])
    came = sum((found.compliant(flow) for flow in RATES), np.zeros(())) * 1e6 * seconds / (8 * _PACKET)
    values = {
        "EQ1": Value(model=admissible_peak_bps(10e6, 100e3, 80e3) / 1e6),
        "EQ1-loses": Value(sim=interval(lost / (lost + came))),
        "EQ2": Value(model=1e3 * bounds[4.0]),
        "EQ2-20ms": Value(model=max(_TIMER_S / bound for bound in bounds.values())),
        "EQ2-zero": Value(sim=interval(before.lost_tokens("r4", 4.0))),
        "EQ3": Value(model=least_depth_bytes(_TIMER_S, 4e6, _PACKET)),
    }
    milli = [1e3 * depth for depth in _MEAN_DEPTHS]
    lines = [
        Curve(f"{rate:g} Mb/s", milli, [1e3 * lossless_interval_s(rate * 1e6 * depth / 8, rate * 1e6, _PACKET)
                                        for depth in _MEAN_DEPTHS], colour, "model")
        for colour, rate in enumerate(RATES.values())
    ]  # fmt: skip
    title = "The longest timer that loses no token"
    x, y = Axis("depth of the token bucket [ms]", "log"), Axis("interval [ms]", "log")
    return Outcome(values, partial(curves, title, lines, x, y))
