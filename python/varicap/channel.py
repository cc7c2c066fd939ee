"""A channel by itself: what transmissions meet that last a while, without a link.

Settings are those of a scenario's ``loss``; state 0 of a good-or-bad or fading channel is the bad one.  Times are
seconds, and never run back.

>>> channel = Channel({"markov": {"good": "100 ms", "bad": "10 ms"}}, seed=1)
>>> states = channel.states(100.0)
>>> sorted({state for state, _ in states})
[0, 1]
>>> isinstance(channel.receives(100.0, 100.004608), bool)
True
>>> bad, good = mean_durations({"rayleigh": {"doppler": "10 Hz"}}, 1000.0)
>>> 0.012 < bad < 0.014, 0.12 < good < 0.14
(True, True)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from varicap._core import Channel

__all__ = ["Channel", "mean_durations"]


def mean_durations(loss: str | Mapping[str, Any], seconds: float, *, seed: int = 0) -> list[float]:
    """Mean duration of each state over this time, the first and the last left out [s]."""
    states, lasts = zip(*Channel(loss, seed=seed).states(seconds)[1:-1], strict=True)
    numbers, times = np.asarray(states), np.asarray(lasts)
    return [float(times[numbers == state].mean()) for state in range(numbers.max() + 1)]
