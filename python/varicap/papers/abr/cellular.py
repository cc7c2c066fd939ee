"""Beyond the paper: explicit rates on a link of five rates, and on LTE-like traces, compared with today's TCPs."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure

from varicap import traces
from varicap.papers.run import Grid, Outcome, Run, text
from varicap.report.paper import tradeoffs
from varicap.results.result import Result
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

FLOWS = {
    "sack": "SACK alone",
    "cubic": "CUBIC alone",
    "instcap": "SACK over ABR, INSTCAP",
    "effcap": "SACK over ABR, EFFCAP",
    "ratcp": "RATCP",
    "abc": "ABC",
}
_MARKED = "abc"
_MARKS = {"topology.dumbbell.forward.queue": '{ accel-brake = { limit = "100 packets" } }'}
_CAPACITY = "topology.dumbbell.forward.capacity"
_TRACE_S = 120


def reproduce(run: Run) -> Outcome:
    """How much of the link each flow uses, and how long its packets wait."""
    links = {"five states": [_simulated(run, {}, run.pick(12, 5))], "LTE-like traces": _on_traces(run)}
    used = {name: [_efficiency(runs, flow) for runs in links.values()] for flow, name in FLOWS.items()}
    waits = {name: [_wait(runs, flow) for runs in links.values()] for flow, name in FLOWS.items()}
    title = "Beyond the paper, a cellular link"
    grids = [
        Grid(f"{title}: goodput / mean capacity", "1", "capacity", list(links), used),
        Grid(f"{title}: waiting at the link, 95th percentile", "ms", "capacity", list(links), waits),
    ]
    return Outcome({}, partial(_draw, list(links), used, waits), grids)


ByFlow = Mapping[str, Result]
"""Results by flow: ABC's link has its own queue."""


def _simulated(run: Run, overrides: Mapping[str, str], seeds: int) -> ByFlow:
    changes = {"duration": run.pick("605 s", "125 s")} | dict(overrides)
    others = [flow for flow in FLOWS if flow != _MARKED]
    plain = run.simulate("cellular", changes, seeds=seeds, flows=others)
    marked = run.simulate("cellular", changes | _MARKS, seeds=seeds, flows=[_MARKED])
    return {flow: marked if flow == _MARKED else plain for flow in FLOWS}


def _on_traces(run: Run) -> list[ByFlow]:
    """A replication on each of several traces."""
    done = []
    with TemporaryDirectory() as folder:
        for seed in range(run.pick(12, 5)):
            file = Path(folder) / f"{seed}.down"
            traces.save(traces.generate_lte(seed=seed, duration_s=_TRACE_S), file)
            done.append(_simulated(run, {_CAPACITY: f"{{ opportunities = {{ file = {text(str(file))} }} }}"}, 1))
    return done


def _efficiency(runs: Sequence[ByFlow], flow: str) -> Interval:
    goodput = np.concatenate([samples(one[flow].flows, flow, "goodput_bps") for one in runs])
    return Interval.of(goodput / _of_link(runs, flow, "capacity_bps"))


def _wait(runs: Sequence[ByFlow], flow: str) -> Interval:
    """Waiting in the network only: what waits in a source's own buffer delays no other flow."""
    return Interval.of(_of_link(runs, flow, "sojourn_p95_ms"))


def _of_link(runs: Sequence[ByFlow], flow: str, column: str) -> Array:
    """A column of the link that this flow had to itself, with a value for each replication."""
    links = [one[flow].links for one in runs]
    if flow != _MARKED:  # isolated flows have their own row for each link
        links = [link.filter(pc.equal(link["flow"], flow)) for link in links]
    return np.concatenate([samples(link, "forward", column) for link in links])


def _draw(links: Sequence[str], used: Mapping[str, list[Interval]], waits: Mapping[str, list[Interval]]) -> Figure:
    panels = [(link, [(name, waits[name][at], used[name][at]) for name in used]) for at, link in enumerate(links)]
    waiting = "waiting at the link, 95th percentile [ms]"
    return tradeoffs("Explicit rates on a cellular link", panels, waiting, "goodput / mean capacity")
