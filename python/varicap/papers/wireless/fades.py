"""§IV: how long the states last, read off a plot, measured in a fading simulator, and exactly."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.analyse.fading import Rayleigh
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import JAKES
from varicap.report.paper import Axis, Curve, curves

_LEVELS_DB = tuple(np.arange(-30.0, 5.1, 1.0).tolist())


def reproduce(run: Run) -> Outcome:
    """The durations of Rayleigh fading at 10 dB below the mean power."""
    unit, ten = Rayleigh(doppler_hz=1.0), Rayleigh(doppler_hz=10.0)
    values = {
        "D-fade": Value(model=unit.mean_fade_s),
        "D-crossings": Value(model=unit.crossing_rate),
        "D-good": Value(model=1e3 * ten.mean_good_s),
        "D-bad": Value(model=1e3 * ten.mean_fade_s),
    }
    return Outcome(values, partial(_draw))


def _draw() -> Figure:
    signals = [Rayleigh(doppler_hz=10.0, level_db=level) for level in _LEVELS_DB]
    good, bad = JAKES[10]
    lines = [
        Curve("bad, exact", _LEVELS_DB, [1e3 * one.mean_fade_s for one in signals], 1, "model"),
        Curve("good, exact", _LEVELS_DB, [1e3 * one.mean_good_s for one in signals], 0, "model"),
        Curve("bad, the paper's", [-10.0, -10.0], [10.0, bad], 1, "paper"),
        Curve("good, the paper's", [-10.0, -10.0], [100.0, good], 0, "paper"),
    ]
    title = "Mean durations of Rayleigh fading, 10 Hz"
    return curves(title, lines, Axis("level over the mean power [dB]"), Axis("duration [ms]", scale="log"))
