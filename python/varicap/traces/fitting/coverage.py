"""Coverage that comes and goes: two states, one of them without capacity ([gilbert60], on outages).

A slot below a tenth of the mean rate belongs to an outage.  Both states end with a fixed probability per slot, whose
maximum-likelihood estimate is the number of ends over the number of slots.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from varicap.traces.fitting.goodness import OUTAGE_SHARE, runs_below
from varicap.traces.trace import Array


@dataclass(frozen=True)
class Coverage:
    """How long there is capacity, and how long there is none."""

    outages: int
    """How many outages the trace has, as a cycle."""
    rate_bps: float
    """Mean rate while there is coverage [b/s]."""
    covered_s: float
    """Mean time between outages [s]; infinite if there is none."""
    outage_s: float
    """Mean duration of an outage [s]; 0 if there is none."""
    outage_rate_bps: float
    """Mean rate during outages [b/s]: a slot may carry a little."""
    spread: float | None
    """Relative standard error of both times, 1 / sqrt(outages); None without outages."""

    @property
    def capacity(self) -> dict[str, Any] | None:
        """The capacity of a scenario, or None if there are no outages."""
        if self.outages == 0:
            return None
        return {
            "markov": {
                "rates": [f"{self.rate_bps:.0f} bit/s", f"{self.outage_rate_bps:.0f} bit/s"],
                "mean_holding": [f"{self.covered_s * 1e3:.3f} ms", f"{self.outage_s * 1e3:.3f} ms"],
            }
        }


def fit_coverage(rates_bps: Array, slot_s: float) -> Coverage:
    """Fit coverage and outages to the rates of slots, shape (T,)."""
    low = OUTAGE_SHARE * float(rates_bps.mean())
    silent = rates_bps < low
    count = len(runs_below(rates_bps, low))
    if count == 0:
        return Coverage(0, float(rates_bps.mean()), math.inf, 0.0, 0.0, None)
    return Coverage(
        outages=count,
        rate_bps=float(rates_bps[~silent].mean()) if (~silent).any() else 0.0,
        covered_s=float(np.count_nonzero(~silent)) * slot_s / count,
        outage_s=float(np.count_nonzero(silent)) * slot_s / count,
        outage_rate_bps=float(rates_bps[silent].mean()),
        spread=1 / math.sqrt(count),
    )
