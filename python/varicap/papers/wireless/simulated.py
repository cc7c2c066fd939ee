"""The links of Tables I to VI in the simulator: Tahoe and Reno over a link with ARQ, each alone on the same channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from varicap.papers.run import Run, goodput
from varicap.papers.wireless.cells import CELLS_53, DOPPLERS, ERROR, JAKES, PACKETS, Column, Durations, System, Table
from varicap.results.result import Result
from varicap.results.samples import samples
from varicap.statistics import Array

FLOWS = ("tahoe", "reno")
"""The flows that the paper simulates."""

LINK = "topology.dumbbell.forward"
Cells = Mapping[str, Array]
"""Link utilisation by cell, such as ``10/8``, in each replication [%]."""

_FRAMES = {PACKETS.segments: {}, CELLS_53.segments: {f"{LINK}.framing.cells": '{ payload = "48 B", size = "53 B" }'}}
_WIRE_SHARE = 576 / 536  # of a packet over its payload
_KBPS = 125.0  # of the raw capacity, 1 Mb/s [kB/s]
_SETTLE_S = 20
_PRECISION = 0.02  # of the cells of the tables: half the width of an interval over its mean


@dataclass(frozen=True)
class Choice:
    """A choice for something that the paper leaves open."""

    name: str
    changes: Mapping[str, str] = field(default_factory=dict)


OURS = Choice("as read")


def utilisation(
    run: Run,
    system: System,
    channel: str,
    column: Column,
    *,
    choice: Choice = OURS,
    flows: Sequence[str] = FLOWS,
    effort: float = 1.0,
    scenario: str = "arq",
) -> dict[str, Array]:
    """Link utilisation by TCP/IP packets of each flow in each replication [%].

    `effort` is the simulated time over that of a cell of the tables.
    """
    result = _result(run, system, channel, column, choice=choice, flows=flows, effort=effort, scenario=scenario)
    return {flow: 100 * _WIRE_SHARE * goodput(result, flow) / _KBPS for flow in flows}


def _result(
    run: Run,
    system: System,
    channel: str,
    column: Column,
    *,
    choice: Choice,
    flows: Sequence[str],
    effort: float = 1.0,
    scenario: str = "arq",
) -> Result:
    seconds, seeds = run.pick((1000, 10), (120, 4))
    changes = {
        f"{LINK}.loss": channel,
        f"{LINK}.delay": f"{1e3 * column.round_trip_s:g} ms",
        f"{LINK}.queue.drop-tail.limit": f"{column.packets} packets",
        "duration": f"{_SETTLE_S + round(seconds * effort)} s",
        "warmup": f"{_SETTLE_S} s",
    }
    return run.simulate(
        scenario,
        changes | _FRAMES[system.segments] | dict(choice.changes),
        seeds=seeds,
        flows=flows,
        precision=run.pick(_PRECISION, None) if effort == 1.0 else None,
    )


def channel_of(durations: Durations, doppler: int, delivered: float = 1 - ERROR) -> str:
    """The channel of the paper's simulation, for a scenario: fading if the durations are those of its simulator."""
    if durations is JAKES:
        return f'{{ rayleigh = {{ doppler = "{doppler} Hz", delivered = {delivered} }} }}'
    good, bad = durations[doppler]
    return f'{{ markov = {{ good = "{good:g} ms", bad = "{bad:g} ms", delivered = {delivered} }} }}'


def simulate(
    run: Run, table: Table, *, choice: Choice = OURS, flows: Sequence[str] = FLOWS, effort: float = 1.0
) -> dict[str, Cells]:
    """Simulate every cell of a table for each flow."""
    found: dict[str, dict[str, Array]] = {flow: {} for flow in flows}
    for doppler in DOPPLERS:
        channel = channel_of(table.durations, doppler)
        for column in table.columns:
            ours = utilisation(run, table.system, channel, column, choice=choice, flows=flows, effort=effort)
            for flow in flows:
                found[flow][f"{doppler}/{column.name}"] = ours[flow]
    return dict(found)


def timeouts(run: Run, table: Table) -> dict[str, Cells]:
    """Timeouts a minute of each flow in every cell of a table, in the runs of its cells."""
    found: dict[str, dict[str, Array]] = {flow: {} for flow in FLOWS}
    for doppler in DOPPLERS:
        channel = channel_of(table.durations, doppler)
        for column in table.columns:
            result = _result(run, table.system, channel, column, choice=OURS, flows=FLOWS)
            minutes = float(result.summary["measured_s"]) / 60
            for flow in FLOWS:
                found[flow][f"{doppler}/{column.name}"] = samples(result.flows, flow, "timeouts") / minutes
    return dict(found)
