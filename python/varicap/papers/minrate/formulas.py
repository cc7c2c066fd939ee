"""The paper's equations (admission with ERED, depth and timer of a token bucket), checked by simulation."""

from functools import partial

import numpy as np

from varicap.analyse.models.minrate import admissible_peak_bps, least_depth_bytes, lossless_interval_s
from varicap.papers.minrate.fig02 import base
from varicap.papers.minrate.fig06 import timed
from varicap.papers.minrate.network import RATES, Measured
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_PACKET = 1000.0  # [B]
_TIMER_S, _BUCKET_S = 0.020, 0.050
_MEAN_DEPTHS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)  # [s]


def reproduce(run: Run) -> Outcome:
    """The equations, and the shares of marked packets and of tokens that are lost."""
    values = {
        "EQ1-loses": Value.of(_marked_over_unmarked(base(run))),
        "EQ2-zero": Value.of(timed(run).lost_tokens("r4", 4.0)),
    }
    bounds = Grid(
        "The equations, evaluated: they are formulas, and no claims",
        "as named",
        "quantity",
        ["(1) peak rates [Mb/s]", "(2) timer for 4 Mb/s [ms]", "(3) bucket for 20 ms [B]"],
        {"bound": [Interval(one) for one in _evaluated()]},
    )
    milli = [1e3 * depth for depth in _MEAN_DEPTHS]
    lines = [
        Curve(f"{rate:g} Mb/s", milli, [1e3 * lossless_interval_s(rate * 1e6 * depth / 8, rate * 1e6, _PACKET)
                                        for depth in _MEAN_DEPTHS], colour, "model")
        for colour, rate in enumerate(RATES.values())
    ]  # fmt: skip
    title = "The longest timer that loses no token"
    x, y = Axis("depth of the token bucket [ms]", "log"), Axis("interval [ms]", "log")
    return Outcome(values, partial(curves, title, lines, x, y), [bounds])


def _evaluated() -> tuple[float, float, float]:
    """(1) on 10 Mb/s with a threshold of 80 kB in 100 kB, (2) for 4 Mb/s and 50 ms, (3) for 20 ms at 4 Mb/s."""
    interval_s = lossless_interval_s(4e6 * _BUCKET_S / 8, 4e6, _PACKET)
    return admissible_peak_bps(10e6, 100e3, 80e3) / 1e6, 1e3 * interval_s, least_depth_bytes(_TIMER_S, 4e6, _PACKET)


def _marked_over_unmarked(found: Measured) -> Array:
    """The share of marked packets that queues drop, over that of unmarked ones."""
    way = ("n0-n1", "n1-n2", "n3-n4")
    marked = sum((found.link(link, "dropped_reserved_packets") for link in way), np.zeros(()))
    unmarked = sum((found.link(link, "dropped_packets") for link in way), np.zeros(())) - marked
    packets = 1e6 * float(found.result.summary["measured_s"]) / (8 * _PACKET)
    came = packets * sum((found.compliant(flow) for flow in RATES), np.zeros(()))
    others = packets * sum((found.excess(flow) for flow in RATES), 3 * found.throughput("be"))
    return np.asarray(marked / (marked + came) / (unmarked / (unmarked + others)))
