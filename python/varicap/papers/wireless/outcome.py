"""The outcome of a table: each cell by analysis and by simulation, and by other readings."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from matplotlib.figure import Figure

from varicap import papers
from varicap.analyse.fading import Rayleigh
from varicap.analyse.models.wireless import Parameters, estimate_all
from varicap.analyse.models.wireless_channel import Channel
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value, judge
from varicap.papers.wireless.cells import CELLS, CELLS_53, DOPPLERS, ERROR, Column, System, Table, percent, published
from varicap.papers.wireless.reno import CHOICES, by_choice, effort
from varicap.papers.wireless.simulated import FLOWS, Cells, simulate
from varicap.papers.wireless.tables import BY_ID
from varicap.report.paper import distances
from varicap.statistics import Interval

_MARKS = {"reproduced": "", "differs": " ✗", "unsettled": " ?"}

Statements = Callable[[Mapping[str, float], Mapping[str, Cells]], dict[str, Value]]
"""Makes values of statements from the cells of the analysis, and from those of each flow."""


def reproduce(run: Run, table: str) -> Outcome:
    """The cells of the table with this id."""
    return outcome(run, BY_ID[table])


def outcome(run: Run, table: Table, statements: Statements | None = None) -> Outcome:
    """Every cell of a table, and the statements of the text about them."""
    by_analysis = percent(estimate_all(table.links()))
    simulated = simulate(run, table)
    values = {one: Value(model=cell) for one, cell in zip(table.ids(), by_analysis, strict=True)}
    for flow in FLOWS:
        values |= {
            one: Value(sim=Interval.of(cell))
            for one, cell in zip(table.ids(flow), simulated[flow].values(), strict=True)
        }
    if statements is not None:
        values |= statements(dict(zip(table.cells(), by_analysis, strict=True)), simulated)
    return Outcome(values, partial(_draw, run.key, table, values), [_readings(table)], _by_choice(run, table))


def _by_choice(run: Run, table: Table) -> dict[str, dict[str, Value]]:
    """Each simulated cell by each choice of what the paper leaves open."""
    found: dict[str, dict[str, Value]] = {}
    for choice in CHOICES[1:] if table in by_choice(run) else ():
        for flow, cells in simulate(run, table, choice=choice, effort=effort(run)).items():
            for one, cell in zip(table.ids(flow), cells.values(), strict=True):
                found.setdefault(one, {})[choice.name] = Value(sim=Interval.of(cell))
    return found


def _readings(table: Table) -> Grid:
    """The table by readings other than ours."""
    rows = {
        "as the paper prints the criterion: 1 / W^2": table.links(_printed),
        "exact durations of Rayleigh fading": table.links(partial(_rayleigh, table.system, states=2)),
        "four levels of Rayleigh fading": table.links(partial(_rayleigh, table.system, states=4)),
    }
    if table.system is CELLS:
        rows["slots of 53 B, 0.424 ms"] = replace(table, system=CELLS_53).links()
    found = {name: [Interval(cell) for cell in percent(estimate_all(links))] for name, links in rows.items()}
    return Grid(
        f"Readings: {table.title}, the analysis",
        "%",
        "Doppler frequency [Hz] / column of the table",
        table.cells(),
        found,
    )


def _printed(_doppler: int, _column: Column, parameters: Parameters) -> Parameters:
    return replace(parameters, tolerated_loss=None)


def _rayleigh(system: System, doppler: int, _column: Column, parameters: Parameters, *, states: int) -> Parameters:
    channel = Channel.rayleigh(Rayleigh(doppler_hz=doppler), error=ERROR, states=states)
    return replace(parameters, slot=channel.slot(system.slot_s))


def _draw(key: str, table: Table, values: Mapping[str, Value]) -> Figure:
    rows, marks = [], []
    width = len(table.columns)
    claims = {claim.id: claim for claim in papers.paper(key).claims}
    for kind, name in (("model", "analysis"), ("tahoe", "Tahoe"), ("reno", "Reno")):
        ids = table.ids(kind)
        far = [_far(values[one], paper) for one, paper in zip(ids, published(key, ids), strict=True)]
        verdicts = [_MARKS[judge(claims[one], values[one]).verdict] for one in ids]
        for row, doppler in enumerate(DOPPLERS):
            shown = slice(width * row, width * (row + 1))
            rows.append((f"{name}, {doppler} Hz", far[shown]))
            marks.append(verdicts[shown])
    title = f"{table.title} (✗ differs, ? unsettled)"
    return distances(title, rows, [column.name for column in table.columns], table.column, marks)


def _far(value: Value, paper: float) -> Interval:
    """The relative distance from the paper's value."""
    if value.sim is None:
        return Interval((value.model or 0.0) / paper - 1)
    mean, lo, hi = value.sim.mean, value.sim.lo, value.sim.hi
    return Interval(mean / paper - 1, None if lo is None else lo / paper - 1, None if hi is None else hi / paper - 1)
