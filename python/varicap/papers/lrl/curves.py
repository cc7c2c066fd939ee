"""Throughput against c0 in bytes and in packets: what Figs. 5 and 6 plot."""

from collections.abc import Sequence

from varicap.papers.lrl.link import Measured, Setting, Unit, measure
from varicap.papers.run import Run

C0 = (0.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0)
"""[kb/s]"""
LOWS = (1, 2, 4)
"""Low thresholds [kB or packets]; the high thresholds are 4 above them."""
OTHER_LOWS = (0, 8, 12, 16)
"""Low thresholds that the paper's §4 has as well, and no figure names."""


def by_c0(
    run: Run, unit: Unit, low: int, high: int | None = None, points: Sequence[float] = C0
) -> dict[float, Measured]:
    """One curve of throughput against c0."""
    return {c0: measure(run, Setting(low, low + 4 if high is None else high, c0, unit)) for c0 in points}
