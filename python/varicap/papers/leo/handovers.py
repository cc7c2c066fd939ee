"""What each thing that a handover changes costs each control."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.leo.ways import CHANGES, CONTROLS, starlink
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import most
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_COLUMNS = {
    "goodput_of_capacity": ("flows", "Goodput over the capacity", "1"),
    "rtt_p95_ms": ("flows", "RTT p95", "ms"),
}

Measured = dict[tuple[str, str], dict[str, Array]]


def reproduce(run: Run) -> Outcome:
    """Goodput of the capacity and the delay of each control, by what changes."""
    measured: Measured = {}
    for way, changes in CHANGES.items():
        flows = starlink(run, changes, CONTROLS).flows
        for control in CONTROLS:
            measured[way, control] = {column: samples(flows, control, column) for column in _COLUMNS}

    share = {key: found["goodput_of_capacity"] for key, found in measured.items()}

    def kept(way: str, control: str) -> Array:
        """Of its share of the capacity where nothing changes, what it keeps."""
        return ratio(share[way, control], share["nothing", control])

    def beside(way: str, control: str, other: str) -> Array:
        """What one keeps over what another keeps: what the change takes from any control is in both."""
        return ratio(kept(way, control), kept(way, other))

    values = {
        "S25-loss": Value(sim=Interval.of(beside("loss", "cubic", "bbr"))),
        "S25-delay": Value(sim=Interval.of(kept("delay", "copa"))),
        "S25-model": Value(sim=most(beside("capacity", "bbr3", other) for other in ("cubic", "copa"))),
        "M25-abrupt": Value(sim=Interval.of(kept("delay", "bbr3"))),
        "A25-signals": Value(sim=Interval.of(beside("delay and loss", "vegas", "bbr"))),
    }
    grids = [
        Grid(
            title,
            unit,
            "what handovers change",
            list(CHANGES),
            {control: [Interval.of(measured[way, control][column]) for way in CHANGES] for control in CONTROLS},
        )
        for column, (_, title, unit) in _COLUMNS.items()
    ]
    return Outcome(values, partial(_draw, share), grids)


def _draw(share: dict[tuple[str, str], Array]) -> Figure:
    groups = [(control, [Interval.of(share[way, control]) for way in CHANGES]) for control in CONTROLS]
    return bars("What changes at a handover every 15 s", list(CHANGES), groups, "goodput over the capacity")
