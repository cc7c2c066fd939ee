"""Table I: the persistent session among ephemeral ones, by our analysis and by our simulator."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from varicap import papers
from varicap.analyse.models import ratcp as model
from varicap.papers.run import Grid, Outcome, Run, goodput, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import farthest, least, most
from varicap.report.paper import distances
from varicap.results.result import Result
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

RATES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.33, 0.5, 1.0, 2.0)
"""Arrivals of ephemeral sessions [1/s]."""
COLUMNS = tuple(f"{rate:g}" for rate in RATES)

# Row of the table, flow of the scenario, buffer [packets].
_SIMULATED = (
    ("ratcp-b1", "ratcp", 10),
    ("tcp", "tcp", 10),
    ("ratcp-b4", "ratcp-b4", 10),
    ("ratcp-b1-B8", "ratcp", 8),
    ("tcp-B8", "tcp", 8),
    ("ratcp-reno-b1", "ratcp-reno", 10),
    ("ratcp-reno-b4", "ratcp-reno-b4", 10),
    ("tcp-reno", "tcp-reno", 10),
)
# The receiver of the analysis is that of the simulation beside it: an ACK for every other packet.
_SAME_RECEIVER = model.Parameters(growth="delayed")
MODELLED = {
    "ratcp-b1": _SAME_RECEIVER,
    "tcp": replace(_SAME_RECEIVER, control="tcp"),
    "ratcp-b4": replace(_SAME_RECEIVER, backlog_packets=4),
    "ratcp-b1-B8": replace(_SAME_RECEIVER, buffer_packets=8),
    "tcp-B8": replace(_SAME_RECEIVER, control="tcp", buffer_packets=8),
}
"""Parameters of the analysis, by row."""
_BESIDE = ("newreno", "sack", "cubic", "ratcp-newreno", "ratcp-sack")
_FAST = slice(2, 7)  # 0.05 to 0.5 sessions/s, where the rate varies fast
_SMALL = ("ratcp", "tcp")  # what the table has for the smaller buffer


def simulated(run: Run, flow: str, buffer: int = 10) -> list[Array]:
    """Throughput of a flow at each arrival rate, with a value for each replication [kB/s]."""
    return [goodput(result, flow) for result in _results(run, buffer)]


def _results(run: Run, buffer: int = 10) -> list[Result]:
    path = "topology.dumbbell.forward"
    return [
        run.simulate(
            "persistent",
            {
                f"{path}.capacity.sessions.arrivals": f"{rate:g} /s",
                f"{path}.queue.drop-tail.limit": f"{buffer} packets",
                "duration": run.pick("2020 s", "420 s"),
            },
            seeds=run.pick(20, 8),
            flows=None if buffer == 10 else _SMALL,
        )
        for rate in RATES
    ]


def _fewer_losses(run: Run) -> Interval:
    """What RATCP (beta = 1) resends over what TCP does, where that is most, over all columns."""
    lost = [[samples(result.flows, flow, "retransmitted_packets") for flow in _SMALL] for result in _results(run)]
    return most(ratio(ours, other) for ours, other in lost if other.any())


def modelled(row: str, **changes: Any) -> list[float]:
    """Throughput by the analysis at each arrival rate, perhaps by another reading [kB/s]."""
    return [result.throughput_Bps / 1e3 for result in model.sweep(replace(MODELLED[row], **changes), RATES)]


def reproduce(run: Run) -> Outcome:
    """Measure every cell, and the statements of the text about them."""
    ours = {row: simulated(run, flow, buffer) for row, flow, buffer in _SIMULATED}
    theory = {row: modelled(row) for row in MODELLED}
    values = _statements(ours)
    for row, cells in ours.items():
        for number, column in enumerate(COLUMNS):
            by_model = theory[row][number] if row in theory else None
            both = Value(model=by_model, sim=Interval.of(cells[number]))
            values[f"T1.{row}-sim.{column}"] = both
            values[f"T1.{row}-model.{column}"] = both
    far = _distances(run.key, values)
    values["T1-analysis-error"] = Value(model=_mean_error(far, "-model"))
    values["T1-losses"] = Value(sim=_fewer_losses(run))
    per_ack = {row: modelled(row, growth="per-ack") for row in MODELLED}
    readings: dict[str, dict[str, Value]] = {
        f"T1.{row}-model.{column}": {"cwnd grows per ACK": Value(model=cell)}
        for row, cells in per_ack.items()
        for column, cell in zip(COLUMNS, cells, strict=True)
    }
    apart = [abs(cell / paper - 1) for row, cells in per_ack.items() for cell, paper in _beside(cells, run.key, row)]
    readings["T1-analysis-error"] = {"cwnd grows per ACK": Value(model=100 * sum(apart) / len(apart))}
    values["T1-simulation-error"] = Value(sim=_simulation_error(run.key, ours))
    beside = {flow: [Interval.of(cell) for cell in simulated(run, flow)] for flow in _BESIDE}
    title = "Beside Table I: what a TCP of today gets there"
    grid = Grid(title, "kB/s", "ephemeral sessions/s", COLUMNS, beside)
    return Outcome(values, partial(_draw, far), [grid], readings)


def _beside(cells: list[float], key: str, row: str) -> "zip[tuple[float, float]]":
    return zip(cells, of_paper(key, f"{row}-model"), strict=True)


def _distances(key: str, values: dict[str, Value]) -> dict[str, list[float]]:
    """Distance of each cell from the paper's, as a share of the paper's, by row."""
    far: dict[str, list[float]] = {}
    for claim in papers.paper(key).of("table1"):
        if claim.cell is None:
            continue
        value = values[claim.id]
        ours = value.model if claim.engine == "model" else value.sim.mean if value.sim else None
        row = claim.id.split(".")[1]
        far.setdefault(row, []).append((ours or 0.0) / float(claim.paper) - 1.0)
    return far


def _mean_error(far: dict[str, list[float]], kind: str) -> float:
    """Mean distance from the paper over the cells of rows of this kind [%]."""
    errors = [abs(cell) for row, cells in far.items() if row.endswith(kind) for cell in cells]
    return 100.0 * sum(errors) / len(errors)


def of_paper(key: str, row: str) -> list[float]:
    """The paper's values in a row of the table [kB/s]."""
    return [float(claim.paper) for claim in papers.paper(key).claims if claim.id.startswith(f"T1.{row}.")]


def _simulation_error(key: str, ours: dict[str, list[Array]]) -> Interval:
    """Mean distance of our simulated cells from the paper's, and how that scatters over the runs [%].

    A cell counts in each run as it does on average: a run above the paper's value makes the distance greater if the
    mean is above it, else less.  Without that sign the distance would grow with the scatter of single runs.
    """
    apart = [
        cell / value - 1.0
        for row, cells in ours.items()
        for cell, value in zip(cells, of_paper(key, f"{row}-sim"), strict=True)
    ]
    return Interval.of(100.0 * np.mean([np.sign(cell.mean()) * cell for cell in apart], axis=0))


def _draw(far: dict[str, list[float]]) -> Figure:
    return distances("Table I: our cells against the paper's", list(far.items()), COLUMNS, "ephemeral sessions/s")


def _statements(ours: dict[str, list[Array]]) -> dict[str, Value]:
    """The statements of the text about the table."""
    beta = _ratios(ours, "ratcp-b4", "ratcp-b1")
    kept = zip(_ratios(ours, "ratcp-b1-B8", "ratcp-b1"), _ratios(ours, "tcp-B8", "tcp"), strict=True)
    high = _ratios(ours, "tcp-reno", "ratcp-b1")[7:]
    return {
        "T1-beta": Value(sim=least(beta[_FAST.start :])),
        "T1-buffer": Value(sim=least([ratcp / tcp for ratcp, tcp in kept])),
        "T1-reno-fast": Value(sim=least(_ratios(ours, "ratcp-reno-b4", "tcp-reno")[_FAST])),
        "T1-reno-fast-b1": Value(sim=least(_ratios(ours, "ratcp-reno-b1", "tcp-reno")[_FAST])),
        "T1-reno-slow": Value(sim=least(_ratios(ours, "tcp-reno", "tcp")[:2])),
        "T1-reno-high": Value(sim=farthest(high)),
    }


def _ratios(ours: dict[str, list[Array]], row: str, other: str) -> list[Array]:
    return [one / two for one, two in zip(ours[row], ours[other], strict=True)]
