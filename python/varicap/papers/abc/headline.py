"""The abstract of [goyal20]: ABC's throughput over CUBIC's with CoDel, on Mahimahi's traces and on LTE-like ones."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

from varicap import traces
from varicap.papers.abc.schemes import SCHEMES, Measured, folder, measure, missing
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import bars
from varicap.statistics import Array, Interval

_TRACES = (
    "Verizon-LTE-short.up",
    "Verizon-LTE-short.down",
    "ATT-LTE-driving-2016.up",
    "ATT-LTE-driving-2016.down",
    "TMobile-LTE-short.down",
)
_PAIR = ("abc", "cubiccodel")
_TRACE_S = 140

OnLinks = dict[tuple[str, str], Measured]
"""By scheme and link."""


def reproduce(run: Run) -> Outcome:
    """Each of both alone, queues of 250 packets, acknowledgements at 12 Mb/s."""
    like = _on_like(run)
    values = {"N-like": Value(sim=Interval.of(_gain(like)))}
    real: OnLinks = {}
    if why := missing(_TRACES):
        values["N-real"] = Value(absent=why)
    else:
        seeds, place = run.pick(20, 4), folder()
        real = {(scheme, name): _measure(run, scheme, place / name, seeds) for scheme in _PAIR for name in _TRACES}
        values["N-real"] = Value(sim=Interval.of(_gain(real)))
    rows = {
        f"{SCHEMES[scheme].name}: {link}": [
            Interval.of(array) for array in (one.throughput, one.utilisation, one.delay)
        ]
        for (scheme, link), one in {**real, **like}.items()
    }
    columns = ["throughput [Mb/s]", "utilisation", "95th percentile of the delay [ms]"]
    return Outcome(values, partial(_draw, {**real, **like}), [Grid("Links", "", "", columns, rows)])


def _on_like(run: Run) -> OnLinks:
    """All schemes on LTE-like traces, a replication on each."""
    parts: dict[str, list[Measured]] = {scheme: [] for scheme in SCHEMES}
    with TemporaryDirectory() as place:
        for seed in range(run.pick(20, 4)):
            file = Path(place) / f"{seed}.down"
            traces.save(traces.generate_lte(seed=seed, duration_s=_TRACE_S), file)
            for scheme in SCHEMES:
                parts[scheme].append(_measure(run, scheme, file, 1))
    joined = {
        scheme: Measured(*(np.concatenate(each) for each in zip(*map(_arrays, of), strict=True)))
        for scheme, of in parts.items()
    }
    return {(scheme, "LTE-like"): one for scheme, one in joined.items()}


def _arrays(one: Measured) -> tuple[Array, Array, Array]:
    return one.throughput, one.utilisation, one.delay


def _measure(run: Run, scheme: str, trace: Path, seeds: int) -> Measured:
    return measure(run, scheme, trace, limit=250, back="12 Mbit/s", seeds=seeds)


def _gain(on_links: OnLinks) -> Array:
    """ABC's throughput over the other's in each replication, the mean over links."""
    above, below = ({link: one.throughput for (of, link), one in on_links.items() if of == scheme} for scheme in _PAIR)
    return np.asarray(np.mean([above[link] / below[link] for link in above], axis=0))


def _draw(on_links: OnLinks) -> Figure:
    links = list(dict.fromkeys(link for _, link in on_links))
    groups = [
        (SCHEMES[scheme].name, [Interval.of(on_links[scheme, link].utilisation) for link in links]) for scheme in _PAIR
    ]
    names = [link.replace("-LTE", "\nLTE") for link in links]
    return bars("Cellular links, 100 ms, 250 packets", names, groups, "utilisation")
