"""The study on other links than Markov's, and with other seeds: LTE-like, LEO-like and 3G-like traces."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

from varicap import traces
from varicap.papers.advice.ways import CONTROLS, WAYS
from varicap.papers.run import Grid, Outcome, Run, jain, ratio, text
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval
from varicap.traces import Cellular, Rates, Satellite

_TOLD = ("none", "SCONE", "SCONE, finer and faster", "exact")
_LENGTH_S = 300.0
_FIRST_SEED = 1000
"""Far from those of the other figures."""
_SLOW = Cellular(median_bps=3e6, peak_bps=8e6, slow_sigma=0.8, slow_time_s=4.0, fast_sigma=0.7, fast_time_s=0.1)
_LINKS: Mapping[str, Callable[[int], Rates]] = {
    "LTE": lambda seed: traces.generate_lte_rates(seed, _LENGTH_S, Cellular(median_bps=3e6, peak_bps=10e6)),
    "LEO": lambda seed: traces.generate_leo(seed, _LENGTH_S, Satellite(median_bps=3e6, peak_bps=10e6)),
    "3G": lambda seed: traces.generate_lte_rates(seed, _LENGTH_S, _SLOW),
}

Measured = dict[tuple[str, str, str], dict[str, Array]]


def reproduce(run: Run) -> Outcome:
    """What the scales figure measures, on a trace for each replication; and fairness beside one who does not follow."""
    links = run.pick(tuple(_LINKS), ("LTE",))
    measured: Measured = {}
    fair: dict[tuple[str, str], Array] = {}
    with TemporaryDirectory() as folder:
        for link in links:
            files = [Path(folder) / f"{link}-{number}.csv" for number in range(run.pick(10, 3))]
            for number, file in enumerate(files):
                traces.save(_rates(link, _FIRST_SEED + number), file)
            for way in _TOLD:
                for control in CONTROLS:
                    if control == "ratcp" and way in ("none", "SCONE, finer and faster"):
                        continue
                    measured[link, control, way] = _alone(run, files, way, control)
                fair[link, way] = _together(run, files, way)
    values = {
        "S3.1-substitute-other-links": _least(
            measured[link, "cubic", "none"]["goodput"] - measured[link, "ratcp", "SCONE"]["goodput"] for link in links
        ),
        "S3.1-quicker-other-links": _least(
            measured[link, "ratcp", "exact"]["goodput"] - measured[link, "ratcp", "SCONE"]["goodput"] for link in links
        ),
        "S3.1-complementary-other-links": _least(
            ratio(measured[link, "cubic", "none"]["delay"], measured[link, "cubic", "SCONE"]["delay"]) for link in links
        ),
    }
    grids = [
        Grid(
            f"{title} on generated links: {control}",
            unit,
            "link",
            links,
            {
                way: [Interval.of(measured[link, control, way][column]) for link in links]
                for way in _TOLD
                if (links[0], control, way) in measured
            },
        )
        for control in CONTROLS
        for column, title, unit in (
            ("goodput", "Goodput over the capacity", "1"),
            ("delay", "95th percentile of the time at the link", "ms"),
        )
    ]
    title = "Jain's index of two CUBIC flows, of which one follows"
    grids.append(
        Grid(title, "1", "link", links, {way: [Interval.of(fair[link, way]) for link in links] for way in _TOLD})
    )
    return Outcome(values, partial(_draw, measured, links), grids)


def _least(points: Iterable[Array]) -> Value:
    return Value(sim=least(points))


def _rates(link: str, seed: int) -> Rates:
    """A trace whose capacity alone varies: a link's delay is that of the other figures."""
    rates = _LINKS[link](seed)
    return Rates(rates.time_s, rates.rate_bps, rates.duration_s)


def _changes(file: Path, way: str, capped: bool) -> Mapping[str, str]:
    told = WAYS[way] or WAYS["exact"]
    return {
        "duration": f'"{_LENGTH_S:g} s"',
        "warmup": '"80 s"',
        "topology.dumbbell.forward.capacity": f"{{ trace = {{ file = {text(str(file))} }} }}",
        "flows.a.feedback": f"{{ {told}, cap = {str(capped).lower()} }}",
    }


def _alone(run: Run, files: list[Path], way: str, control: str) -> dict[str, Array]:
    """One flow on each trace."""
    capped = way != "none" and control != "ratcp"
    done = [
        run.simulate("varying", {**_changes(file, way, capped), "flows.a.tcp.congestion": f'"{control}"'}, seeds=1)
        for file in files
    ]
    return {
        "goodput": np.concatenate([samples(one.flows, "a", "goodput_of_capacity") for one in done]),
        "delay": np.concatenate([samples(one.links, "forward", "sojourn_p95_ms") for one in done]),
    }


def _together(run: Run, files: list[Path], way: str) -> Array:
    """Jain's index of a flow that follows and one that does not, on each trace."""
    done = [run.simulate("shared", _changes(file, way, way != "none"), seeds=1).flows for file in files]
    a, b = (np.concatenate([samples(flows, name, "goodput_bps") for flows in done]) for name in ("a", "b"))
    return jain(a, b)


def _draw(measured: Measured, links: tuple[str, ...]) -> Figure:
    names = [f"{link}\n{control}" for link in links for control in ("cubic", "bbr")]
    groups = [
        (way, [Interval.of(measured[link, control, way]["goodput"]) for link in links for control in ("cubic", "bbr")])
        for way in _TOLD
    ]
    return bars("Advice on generated links", names, groups, "goodput over the capacity")
