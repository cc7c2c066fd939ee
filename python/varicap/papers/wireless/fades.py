"""§IV: how long the states last: read from a plot, measured in a fading simulator, and computed exactly."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.analyse.fading import Rayleigh
from varicap.analyse.models.wireless import estimate_all
from varicap.channel import mean_durations
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import DOPPLERS, JAKES, Durations, link, percent, published
from varicap.papers.wireless.tables import TABLE_2, TABLE_5
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Interval

_LEVELS_DB = tuple(np.arange(-30.0, 5.1, 1.0).tolist())
_MEASURED_DB = (-20.0, -15.0, -10.0, -5.0, 0.0)


def reproduce(run: Run) -> Outcome:
    """Durations of Rayleigh fading at 10 dB below the mean power, and the tables with those of our fading signal."""
    unit, ten = Rayleigh(doppler_hz=1.0), Rayleigh(doppler_hz=10.0)
    bad, good = _measured(run, -10.0)
    values = {
        "D-fade": Value(model=unit.mean_fade_s),
        "D-crossings": Value(model=unit.crossing_rate),
        "D-good": Value(model=1e3 * ten.mean_good_s, sim=good),
        "D-bad": Value(model=1e3 * ten.mean_fade_s, sim=bad),
    }
    durations = durations_of_signal(run)
    grids = []
    for table in (TABLE_2, TABLE_5):
        links = [link(table.system, durations[doppler], column) for doppler in DOPPLERS for column in table.columns]
        rows = {
            "with the durations of our fading signal": percent(estimate_all(links)),
            "with the paper's durations": percent(estimate_all(table.links())),
            "the paper": published(run.key, table.ids()),
        }
        grids.append(
            Grid(
                f"Readings: {table.title}, the analysis by measured durations",
                "%",
                "Doppler frequency [Hz] / column of the table",
                table.cells(),
                {name: [Interval(cell) for cell in row] for name, row in rows.items()},
            )
        )
    return Outcome(values, partial(_draw, run), grids)


def durations_of_signal(run: Run) -> Durations:
    """Mean durations of the good and the bad state in our fading signal, by Doppler frequency [ms].

    They are the same number of periods of the Doppler frequency at any frequency.
    """
    bad, good = _measured(run, -10.0)
    return {doppler: (10 * good.mean / doppler, 10 * bad.mean / doppler) for doppler in DOPPLERS}


def _measured(run: Run, level_db: float) -> tuple[Interval, Interval]:
    """Mean durations of bad and good times of the simulator's fading signal, 10 Hz [ms]."""
    loss = {"rayleigh": {"doppler": "10 Hz", "threshold_db": level_db}}
    seconds, seeds = run.pick((500.0, 20), (50.0, 10))
    found = np.array([mean_durations(loss, seconds, seed=seed + (run.seed or 0)) for seed in range(seeds)])
    bad, good = (Interval.of(1e3 * column) for column in found.T)
    return bad, good


def _draw(run: Run) -> Figure:
    signals = [Rayleigh(doppler_hz=10.0, level_db=level) for level in _LEVELS_DB]
    measured = [_measured(run, level) for level in _MEASURED_DB]
    good, bad = JAKES[10]
    lines = [
        Curve("bad, exact", _LEVELS_DB, [1e3 * one.mean_fade_s for one in signals], 1, "model"),
        Curve("good, exact", _LEVELS_DB, [1e3 * one.mean_good_s for one in signals], 0, "model"),
        Curve("bad, our fading signal", _MEASURED_DB, [one for one, _ in measured], 1),
        Curve("good, our fading signal", _MEASURED_DB, [one for _, one in measured], 0),
        Curve("bad, the paper's", [-10.0, -10.0], [10.0, bad], 1, "paper"),
        Curve("good, the paper's", [-10.0, -10.0], [100.0, good], 0, "paper"),
    ]
    title = "Mean durations of Rayleigh fading, 10 Hz"
    return curves(title, lines, Axis("level over the mean power [dB]"), Axis("duration [ms]", scale="log"))
