"""Where the conclusions of [abr] about psi carry over to advice: its axis, its buffer, other controls and other links.

psi is the mean time at a rate over the time after which a sender acts on a change: the round trip, and the time from
one update to the next.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from varicap import traces
from varicap.papers.advice.ways import CONTROLS, WAYS
from varicap.papers.run import Grid, Outcome, Run, ratio, text
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report import style
from varicap.results.samples import samples
from varicap.statistics import Array, Interval
from varicap.traces import Cellular, Rates, Satellite

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUND_TRIP_S = 0.05
_UPDATE_S = {"SCONE": 25.0, "INSTCAP": 0.1, "EFFCAP": 0.1, "exact": 0.0}
_SMALL, _ONE, _LARGE = (0.3, 0.6, 1.0), 1.0, 30.0
"""What [abr] calls small (§V-B), comparable to the round trip, and slow (§VIII: above 20)."""
_BUFFERS = (10, 100)
"""That of [abr], which has 8 to 12 packets, and that of the other figures here."""
_LENGTH_S = 300.0
_TICKS = (0.3, 1, 3, 10, 30)
_FIRST_SEED = 2000
"""Far from those of the other figures."""

Gains = dict[tuple[int, str, str, float], Array]
"""Gains over TCP alone [%], by buffer, way, control and psi."""


def reproduce(run: Run) -> Outcome:
    """Gains over TCP alone along psi, and on LTE-like and LEO-like traces; what [abr] concludes, of each."""
    gains: Gains = {}
    for buffer in run.pick(_BUFFERS, _BUFFERS[:1]):
        for way in _UPDATE_S:
            for psi in _points(run, way, buffer):
                for control in CONTROLS:
                    alone = _markov(run, buffer, "none", _alone(control), psi * _age_s(way))
                    told = _markov(run, buffer, way, control, psi * _age_s(way))
                    gains[buffer, way, control, psi] = 100 * (ratio(told, alone) - 1)
    found, psis = _generated(run)
    large = {link: found[link] for link, psi in psis.items() if psi > 20}
    values: dict[str, Value] = {}
    for control in CONTROLS:
        of = partial(_of, gains, control)
        for way in ("SCONE", "INSTCAP", "exact"):
            name = f"{way.lower()}-{control}"
            values[f"psi-large-{name}"] = _value(of(way, _LARGE))
            values[f"psi-one-{name}"] = _value(of(way, _ONE))
        better = _better(gains, control)
        values[f"psi-small-effcap-{control}"] = Value(sim=least(better[psi] for psi in _SMALL if psi in better))
        values[f"psi-large-effcap-{control}"] = _value(better[_LARGE])
        values[f"psi-always-effcap-{control}"] = Value(
            sim=least(
                each
                for (buffer, way, other, _), each in gains.items()
                if (buffer, way, other) == (10, "EFFCAP", control)
            )
        )
    values["ABR-C1-advice"] = _value(_of(gains, "cubic", "INSTCAP", _LARGE))
    values["ABR-C2-advice"] = _value(_mean(_better(gains, "cubic"), _SMALL))
    values["ABR-C3-advice"] = _value(_better(gains, "cubic")[_LARGE])
    for link, measured in found.items():
        for control in CONTROLS:
            values[f"psi-always-{link.lower()}-{control}"] = _value(measured["EFFCAP", control])
            if link in large:
                for way in ("INSTCAP", "exact"):
                    values[f"psi-large-{link.lower()}-{way.lower()}-{control}"] = _value(measured[way, control])
                instcap, effcap = (100 + measured[way, control] for way in ("INSTCAP", "EFFCAP"))
                values[f"psi-large-{link.lower()}-effcap-{control}"] = _value(100 * (ratio(effcap, instcap) - 1))
    return Outcome(values, partial(_draw, gains, found, psis), _grids(gains, found, psis))


def _points(run: Run, way: str, buffer: int) -> tuple[float, ...]:
    """The psi at which a way is measured; advice of 25 s at psi = 30 takes hours, in a full run and at one buffer."""
    every = run.pick((*_SMALL, 5.0, _LARGE), (0.3, _ONE, _LARGE))
    if way != "SCONE":
        return every
    return run.pick((0.3, _ONE, _LARGE), (_ONE,)) if buffer == _BUFFERS[0] else ()


def _age_s(way: str) -> float:
    """How long after a change a sender acts on it, at most [s]."""
    return _ROUND_TRIP_S + _UPDATE_S[way]


def _alone(control: str) -> str:
    """Who has no advice: RATCP has to be told, and is compared with TCP."""
    return "cubic" if control == "ratcp" else control


def _changes(way: str, control: str, buffer: int, length_s: float) -> dict[str, str]:
    capped = str(way != "none" and control != "ratcp").lower()
    return {
        "duration": f'"{length_s:g} s"',
        "warmup": f'"{min(80.0, length_s / 3):g} s"',
        "topology.dumbbell.forward.queue": f'{{ drop-tail = {{ limit = "{buffer} packets" }} }}',
        "flows.a.tcp.congestion": f'"{control}"',
        "flows.a.feedback": f"{{ {WAYS[way] or WAYS['exact']}, cap = {capped} }}",
    }


def _markov(run: Run, buffer: int, way: str, control: str, scale_s: float) -> Array:
    """Goodput over the capacity, where each rate lasts `scale_s` on average."""
    changes = _changes(way, control, buffer, max(_LENGTH_S, 10 * scale_s))
    changes["topology.dumbbell.forward.capacity.markov.mean_holding"] = f'["{scale_s:g} s", "{scale_s:g} s"]'
    slow = scale_s > _LENGTH_S
    found = run.simulate("varying", changes, seeds=5 if slow else run.pick(10, 3))
    return samples(found.flows, "a", "goodput_of_capacity")


def _generated(run: Run) -> tuple[dict[str, dict[tuple[str, str], Array]], dict[str, float]]:
    """On a trace for each replication the gains over TCP alone [%]; and psi, by the correlation time of the rates."""
    makers: dict[str, Callable[[int], Rates]] = {
        "LTE": lambda seed: traces.generate_lte_rates(seed, _LENGTH_S, Cellular(median_bps=3e6, peak_bps=10e6)),
        "LEO": lambda seed: traces.generate_leo(seed, _LENGTH_S, Satellite(median_bps=3e6, peak_bps=10e6)),
    }
    gains: dict[str, dict[tuple[str, str], Array]] = {}
    psis: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        for link, make in makers.items():
            files = [Path(folder) / f"{link}-{number}.csv" for number in range(run.pick(10, 3))]
            lasts = []
            for number, file in enumerate(files):
                made = make(_FIRST_SEED + number)
                lasts.append(traces.info(made).correlation_s or _LENGTH_S)
                # The delay is that of the other links.
                traces.save(Rates(made.time_s, made.rate_bps, made.duration_s), file)
            psis[link] = float(np.mean(lasts)) / _age_s("INSTCAP")
            alone = {control: _on_traces(run, files, "none", control) for control in ("cubic", "bbr")}
            gains[link] = {
                (way, control): 100 * (ratio(_on_traces(run, files, way, control), alone[_alone(control)]) - 1)
                for way in ("INSTCAP", "EFFCAP", "exact")
                for control in CONTROLS
            }
    return gains, psis


def _on_traces(run: Run, files: Iterable[Path], way: str, control: str) -> Array:
    changes = _changes(way, control, _BUFFERS[0], _LENGTH_S)
    key = "topology.dumbbell.forward.capacity"
    done = [
        run.simulate("varying", {**changes, key: f"{{ trace = {{ file = {text(str(file))} }} }}"}, seeds=1)
        for file in files
    ]
    return np.concatenate([samples(one.flows, "a", "goodput_of_capacity") for one in done])


def _of(gains: Gains, control: str, way: str, psi: float) -> Array | None:
    return gains.get((_BUFFERS[0], way, control, psi))


def _better(gains: Gains, control: str) -> dict[float, Array]:
    """What EFFCAP gains over INSTCAP at each psi [%]."""
    effcap, instcap = (
        {
            psi: 100 + each
            for (buffer, way, other, psi), each in gains.items()
            if (buffer, way, other) == (10, one, control)
        }
        for one in ("EFFCAP", "INSTCAP")
    )
    return {psi: 100 * (ratio(effcap[psi], instcap[psi]) - 1) for psi in effcap}


def _mean(points: dict[float, Array], at: Iterable[float]) -> Array:
    return np.asarray(np.mean([points[psi] for psi in at if psi in points], axis=0))


def _value(gain: Array | None) -> Value:
    if gain is None:
        return Value(absent="advice of 25 s at this psi takes hours of simulated time: in a full run")
    return Value(sim=Interval.of(gain))


def _grids(gains: Gains, found: dict[str, dict[tuple[str, str], Array]], psis: dict[str, float]) -> list[Grid]:
    grids = []
    for buffer in dict.fromkeys(buffer for buffer, *_ in gains):
        for control in CONTROLS:
            mine = {
                (way, psi): each
                for (size, way, other, psi), each in gains.items()
                if (size, other) == (buffer, control)
            }
            points = sorted({psi for _, psi in mine})
            rows = {
                way: [Interval.of(mine[way, psi]) if (way, psi) in mine else Interval(float("nan")) for psi in points]
                for way in _UPDATE_S
                if any((way, psi) in mine for psi in points)
            }
            title = f"Gain in goodput over TCP alone, buffer of {buffer} packets: {control}"
            grids.append(Grid(title, "%", "psi", [f"{psi:g}" for psi in points], rows))
    columns = [f"{link}, psi {psis[link]:.0f}" for link in found]
    rows = {
        f"{way}, {control}": [Interval.of(found[link][way, control]) for link in found]
        for way in ("INSTCAP", "EFFCAP", "exact")
        for control in CONTROLS
    }
    return [*grids, Grid("Gain on generated links, buffer of 10 packets", "%", "link", columns, rows)]


def _mark(axes: "Axes", points: list[float], ours: list[Interval], fmt: str, colour: str, label: str) -> None:
    errors = np.array([[one.mean - (one.lo or 0.0), (one.hi or 0.0) - one.mean] for one in ours]).T
    means = [one.mean for one in ours]
    axes.errorbar(points, means, errors, fmt=fmt, markersize=3.5, capsize=2, linewidth=0.9, color=colour, label=label)


def _draw(gains: Gains, found: dict[str, dict[tuple[str, str], Array]], psis: dict[str, float]) -> Figure:
    """Gain over TCP alone against psi, for each buffer and control; traces as single marks."""
    buffers = list(dict.fromkeys(buffer for buffer, *_ in gains))
    figure = Figure(figsize=(11.0, 0.8 + 2.7 * len(buffers)), dpi=120, layout="constrained")
    panels = figure.subplots(len(buffers), len(CONTROLS), sharex=True, sharey=True, squeeze=False)
    for row, buffer in enumerate(buffers):
        for place, control in enumerate(CONTROLS):
            axes = panels[row, place]
            axes.axhline(0, color=style.QUEUE, linewidth=0.7)
            for number, way in enumerate(_UPDATE_S):
                colour = style.colour(number)
                points = sorted(psi for size, one, other, psi in gains if (size, one, other) == (buffer, way, control))
                ours = [Interval.of(gains[buffer, way, control, psi]) for psi in points]
                _mark(axes, points, ours, "o-", colour, way)
                for marker, link in zip("^s", found, strict=True):
                    if buffer == _BUFFERS[0] and (way, control) in found[link]:
                        ours = [Interval.of(found[link][way, control])]
                        _mark(axes, [psis[link]], ours, marker, colour, f"{way}, {link}-like")
            axes.set_xscale("log")
            axes.set_xlim(0.2, 80)
            axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
            axes.set_xticks([], minor=True)
            style.plain(axes)
            axes.set_title(f"{control}, {buffer} packets", fontsize=9)
        panels[row, 0].set_ylabel("gain over TCP alone [%]", fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("psi", fontsize=8)
    lines, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=5, fontsize=7, frameon=False)
    return figure
