"""§IV: how well the analysis agrees with simulated Tahoe, cell by cell: the paper's validation, ours against ours."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.analyse.models.wireless import estimate_all
from varicap.papers.run import Grid, Outcome, Run, paired
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import DOPPLERS, JAKES, Durations, Table, link, percent, published
from varicap.papers.wireless.fades import durations_of_signal
from varicap.papers.wireless.simulated import simulate
from varicap.papers.wireless.tables import TABLES
from varicap.papers.worst import most
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_GROUPS = {
    "markov": [table for table in TABLES if table.durations is not JAKES],
    "fading": [table for table in TABLES if table.durations is JAKES],
}
_NAMES = {"markov": "Markov channel", "fading": "fading"}

Ours = Mapping[str, tuple[Sequence[float], Sequence[Array]]]
"""The cells of each group by analysis, and Tahoe's in each replication [%]."""


def reproduce(run: Run) -> Outcome:
    """How far the analysis is from Tahoe, at most and as root mean square over the cells."""
    # As in the paper, the analysis has the durations that the fading signal has.
    signal = durations_of_signal(run)
    tahoe = {name: [cell for table in tables for cell in _tahoe(run, table)] for name, tables in _GROUPS.items()}
    model = {name: [cell for table in tables for cell in _model(table, signal)] for name, tables in _GROUPS.items()}
    values = {}
    for name, cells in tahoe.items():
        far = _distance(model[name], cells)
        values[f"A-{name}-most"] = Value(sim=most(either for cell in far for either in (cell, -cell)))
        values[f"A-{name}-rms"] = Value(sim=Interval.of(_rms(far)))
    ours = {name: (model[name], tahoe[name]) for name in _GROUPS}
    return Outcome(values, partial(_draw, run.key, ours), [_grid(run.key, name, *ours[name]) for name in _GROUPS])


def _tahoe(run: Run, table: Table) -> Sequence[Array]:
    return list(simulate(run, table)["tahoe"].values())


def _model(table: Table, signal: Durations) -> list[float]:
    durations = signal if table.durations is JAKES else table.durations
    links = [link(table.system, durations[doppler], column) for doppler in DOPPLERS for column in table.columns]
    return percent(estimate_all(links))


def _distance(model: Sequence[float], tahoe: Sequence[Array]) -> Array:
    """By how much the analysis exceeds Tahoe, shape (cells, replications) [%]."""
    return np.asarray(100 * (np.array(model)[:, np.newaxis] / paired(*tahoe) - 1))


def _rms(far: Array) -> Array:
    """Root mean square over the cells of the mean distances: a value for each run, whose mean is that.

    They scatter as its linearised error does.  The root mean square of a single run would grow with its scatter.
    """
    means = far.mean(axis=1)
    rms = np.sqrt((means**2).mean())
    return np.asarray((means[:, np.newaxis] * far).mean(axis=0) / rms)


def _paper(key: str, name: str, kind: str) -> list[float]:
    return published(key, [one for table in _GROUPS[name] for one in table.ids(kind)])


def _grid(key: str, name: str, model: Sequence[float], tahoe: Sequence[Array]) -> Grid:
    """By how much the analysis exceeds Tahoe: ours, with the paper's durations, and the paper's."""
    theirs = zip(_paper(key, name, "model"), _paper(key, name, "tahoe"), strict=True)
    same = [cell for table in _GROUPS[name] for cell in percent(estimate_all(table.links()))]
    rows = {"ours": [Interval.of(cell) for cell in _distance(model, tahoe)]}
    if name == "fading":
        rows["ours, with the paper's durations"] = [Interval.of(cell) for cell in _distance(same, tahoe)]
    rows["the paper"] = [Interval(100 * (analysis / simulation - 1)) for analysis, simulation in theirs]
    columns = [f"{table.id[1:]}:{cell}" for table in _GROUPS[name] for cell in table.cells()]
    title = f"By how much the analysis exceeds simulated Tahoe, {_NAMES[name]}"
    return Grid(title, "%", "table: Doppler frequency [Hz] / column", columns, rows)


def _draw(key: str, ours: Ours) -> Figure:
    lines = []
    for colour, (name, (model, tahoe)) in enumerate(ours.items()):
        lines += [
            Curve(f"{_NAMES[name]}: ours", model, [Interval.of(cell) for cell in tahoe], colour, "points"),
            Curve(
                f"{_NAMES[name]}: the paper's", _paper(key, name, "model"), _paper(key, name, "tahoe"), colour, "paper"
            ),
        ]
    lines.append(Curve("equal", [10.0, 70.0], [10.0, 70.0], 6, "model"))
    title = "Tahoe, simulated, against the analysis: the 36 cells of Tables I to VI"
    return curves(title, lines, Axis("analysis: link utilisation [%]"), Axis("simulation: link utilisation [%]"))
