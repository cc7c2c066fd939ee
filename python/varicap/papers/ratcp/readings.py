"""Beyond the paper: its tables and figures under each reading of what it leaves open."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from varicap.analyse.models import ratcp as model
from varicap.papers.ratcp.files import Files, measure
from varicap.papers.ratcp.kinds import RATCP, TCP, Kind
from varicap.papers.ratcp.table1 import MODELLED, RATES, of_paper
from varicap.papers.run import Grid, Outcome, Run, goodput
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

ANALYSIS: dict[str, dict[str, Any]] = {
    "as reproduced": {},
    "W_rate bounds cwnd once per slot": {"clip": "slot"},
    "packet in service does not count": {"counts_in_service": False},
    "cwnd grows per ACK": {"growth": "per-ack"},
}
"""Parameters of the analysis that replace our reading, by name."""
_EVERY = {"tcp.ack": "every"}
_QUEUE = "topology.dumbbell.forward.queue.drop-tail.counts_in_service"
SESSIONS: dict[str, dict[str, str]] = {
    "as reproduced": {},
    "ACK for each packet": _EVERY,
    "minimum RTO 0.5 s": {"tcp.timer.rfc6298.minimum": "0.5 s"},
    "minimum RTO 1 s": {"tcp.timer.rfc6298.minimum": "1 s"},
    "packet in service counts": {_QUEUE: "true"},
    "rate acts on the packet in service": {"topology.dumbbell.forward.service": "fluid"},
    "Reno cuts once per window": {"flows.tcp-reno.tcp.repeat_fast_retransmit": "false"},
    "a loss halves cwnd, not the flight": {"tcp.halving": "window"},
    "no jitter": {f"flows.{flow}.jitter": "0 s" for flow in ("ratcp", "tcp", "tcp-reno")},
}
"""Changes of Table I's scenario that replace our reading, by name."""
LOSSY: dict[str, dict[str, str]] = {
    "as reproduced": {},
    "ACK for each packet": _EVERY,
    "cuts once per window": {
        f"flows.{flow}.tcp.repeat_fast_retransmit": "false" for flow in ("ratcp-reno", "tcp-reno")
    },
    "a loss halves cwnd, not the flight": {"tcp.halving": "window"},
    "NewReno instead of Reno": {f"flows.{flow}.tcp.recovery": "newreno" for flow in ("ratcp-reno", "tcp-reno")},
    "minimum RTO 1 s": {"tcp.timer.rfc6298.minimum": "1 s"},
}
"""Changes of Fig. 4's scenario that replace our reading, by name."""
FILES: dict[str, dict[str, str]] = {
    "as reproduced": {},
    "TCP remembers no ssthresh": {"tcp.initial_ssthresh": "1000000 packets"},
    "ACK for each packet": _EVERY,
}
"""Changes of Fig. 7's scenario that replace our reading, by name."""
_PERSISTENT = ("ratcp", "tcp", "tcp-reno")
_RATES = (0.0, 0.1, 2.0)
_LOADS = (0.1, 0.5, 0.7)


def reproduce(run: Run) -> Outcome:
    """A table for each part of the paper."""
    sessions = _sessions(run)
    grids = [_analysis(run.key), sessions, _lossy(run), _files(run), _lossy_files(run)]
    return Outcome({}, partial(_draw, sessions), grids)


def _analysis(key: str) -> Grid:
    """How far each reading of the analysis is from the paper's 45 cells."""
    rows = {name: [Interval(one) for one in _distances(key, changes)] for name, changes in ANALYSIS.items()}
    columns = [*MODELLED, "all"]
    return Grid("Readings: Table I, mean distance of our analysis from the paper's", "%", "row", columns, rows)


def _distances(key: str, changes: dict[str, Any]) -> list[float]:
    """Mean distance from the paper's cells, for each row of the analysis and for all of them [%]."""
    found = []
    for row, parameters in MODELLED.items():
        ours = model.sweep(replace(parameters, **changes), RATES)
        apart = [
            abs(one.throughput_Bps / 1e3 / paper - 1.0)
            for one, paper in zip(ours, of_paper(key, f"{row}-model"), strict=True)
        ]
        found.append(100.0 * sum(apart) / len(apart))
    return [*found, sum(found) / len(found)]


def _sessions(run: Run) -> Grid:
    """Rows of Table I's simulation."""
    rows: dict[str, list[Interval]] = {
        "the paper": [
            Interval(of_paper(run.key, f"{row}-sim")[RATES.index(rate)])
            for row in ("ratcp-b1", "tcp", "tcp-reno")
            for rate in _RATES
        ]
    }
    for name, changes in SESSIONS.items():
        results = [
            run.simulate(
                "persistent",
                {
                    "topology.dumbbell.forward.capacity.sessions.arrivals": f"{rate:g} /s",
                    "duration": run.pick("1020 s", "420 s"),
                    **changes,
                },
                seeds=run.pick(20, 4),
                flows=_PERSISTENT,
            )
            for rate in _RATES
        ]
        rows[name] = [Interval.of(goodput(result, flow)) for flow in _PERSISTENT for result in results]
    columns = [f"{name}, {rate:g}/s" for name in ("RATCP", "TCP", "TCP-Reno") for rate in _RATES]
    return Grid("Readings: Table I, simulation", "kB/s", "row, ephemeral sessions/s", columns, rows)


def _lossy(run: Run) -> Grid:
    """Fig. 4 at a loss probability of 1 %."""
    rows = {}
    for name, changes in LOSSY.items():
        always = {"topology.dumbbell.forward.loss": "0.01", "duration": run.pick("1020 s", "320 s")}
        result = run.simulate("random-loss", always | changes, seeds=run.pick(10, 4), flows=("ratcp-reno", "tcp-reno"))
        ratcp, tcp = goodput(result, "ratcp-reno"), goodput(result, "tcp-reno")
        rows[name] = [Interval.of(value) for value in (ratcp, tcp, ratcp / tcp)]
    columns = ["RATCP-Reno [kB/s]", "TCP-Reno [kB/s]", "their ratio"]
    return Grid("Readings: Fig. 4 at 1 % loss", "kB/s, or 1", "what is shown", columns, rows)


def _files(run: Run) -> Grid:
    """What RATCP gains for files without random loss."""
    rows = {name: [_gain(run, load, 0.0, changes) for load in _LOADS] for name, changes in FILES.items()}
    columns = [f"load {load:g}" for load in _LOADS]
    return Grid("Readings: Fig. 7, what RATCP gains over TCP for files of 200 kB", "%", "load", columns, rows)


def _lossy_files(run: Run) -> Grid:
    """What RATCP gains for files with random loss, whose probability the paper does not say."""
    rows = {
        f"{loss:.1%} loss".replace("%", " %"): [_gain(run, load, loss, {}) for load in _LOADS]
        for loss in (0.002, 0.005, 0.01, 0.02)
    }
    columns = [f"load {load:g}" for load in _LOADS]
    return Grid("Readings: §V-D, what RATCP gains over TCP for files of 200 kB with loss", "%", "load", columns, rows)


def _gain(run: Run, load: float, loss: float, changes: Mapping[str, str]) -> Interval:
    cell: dict[Kind, Files] = measure(run, load, loss=loss, seeds=run.pick(10, 4), kinds=(RATCP, TCP), changes=changes)
    gain: Array = 100.0 * (cell[RATCP].throughput / cell[TCP].throughput - 1.0)
    return Interval.of(gain)


def _draw(sessions: Grid) -> Figure:
    columns: Sequence[str] = sessions.columns
    groups = [
        (column, [row[number] for row in sessions.rows.values()]) for number, column in enumerate(columns[3:6], 3)
    ]
    return bars("Table I: TCP under each reading", list(sessions.rows), groups, "throughput [kB/s]")
