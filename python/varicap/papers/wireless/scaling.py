"""§V-B: the buffer that hides the channel's losses grows with the logarithm of the bandwidth-delay product."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.analyse.models.wireless_channel import Channel
from varicap.analyse.models.wireless_limits import decay, least_buffer
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import DOPPLERS, ERROR, MARKOV, PACKETS
from varicap.report.paper import Axis, Curve, curves

_LOADS = (0.5, 0.7)
"""Loads, as shares of the output rate."""
_PIPES = tuple(np.logspace(1, 5, 33).tolist())
"""Bandwidth-delay products [packets]."""
_FROM = 1e3  # where the logarithm dominates


def reproduce(run: Run) -> Outcome:
    """The slope of the least buffer over log W, compared with 2 / beta."""
    sizes = {}
    ratios = []
    for doppler in DOPPLERS:
        good, bad = MARKOV[doppler]
        slot = Channel.good_bad(good_s=good / 1e3, bad_s=bad / 1e3, error=ERROR).slot(PACKETS.slot_s)
        for load in _LOADS:
            arrivals = load * slot.success
            found = [least_buffer(slot, arrivals, 1, 1 / pipe**2) for pipe in _PIPES]
            sizes[doppler, load] = found
            large = [index for index, pipe in enumerate(_PIPES) if pipe >= _FROM]
            slope = np.polyfit(np.log([_PIPES[index] for index in large]), [found[index] for index in large], 1)[0]
            ratios.append(float(slope) * decay(slot, arrivals, 1) / 2)
    values = {"S-slope": Value(model=max(ratios, key=lambda ratio: abs(ratio - 1)))}
    return Outcome(values, partial(_draw, sizes))


def _draw(sizes: dict[tuple[int, float], list[int]]) -> Figure:
    lines = [
        Curve(f"{doppler} Hz, {load:.0%} of the output rate", _PIPES, found, colour, "model")
        for colour, ((doppler, load), found) in enumerate(sizes.items())
    ]
    title = "Least buffer for a loss probability of 1 / W^2, System 1"
    return curves(title, lines, Axis("bandwidth-delay product W [packets]", scale="log"), Axis("buffer [packets]"))
