"""Suite ns3-tcp-cubic where the capacity doubles: a flow's window with and without the Reno-friendly region."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.ns3.series import Series
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_BEGINS_S = 0.1
"""When ns-3's flow begins."""
_FRIENDLY = {"with the Reno-friendly region": "true", "without": "false"}


def reproduce(run: Run) -> Outcome:
    """Least and greatest windows in the intervals that the suite checks."""
    seeds = run.pick(10, 6)
    series: dict[str, Series] = {}
    for name, friendly in _FRIENDLY.items():
        series[name] = _simulate(run, seeds, {"flows.flow.tcp.congestion.cubic.reno_friendly": friendly})
    with_it, without = series.values()
    checked = {
        "X-flat": _within(without, 11.0, 15.0),
        "X-steep": _within(without, 17.5, 18.5),
        "X-friendly": _within(with_it, 13.0, 15.0),
    }
    values: dict[str, Value] = {}
    for name, windows in checked.items():
        values[f"{name}-least"] = Value(sim=Interval.of(windows.min(axis=1)))
        values[f"{name}-most"] = Value(sim=Interval.of(windows.max(axis=1)))
    newer = _simulate(run, seeds, {"flows.flow.tcp.congestion.cubic": '{ arithmetic = "rfc9438", alpha = "rfc9438" }'})
    rows = {
        name: [Interval.of(_within(one, begin, end).mean(axis=1)) for begin, end in ((11, 15), (13, 15), (17.5, 18.5))]
        for name, one in {**series, "RFC 9438": newer}.items()
    }
    grid = Grid("Mean windows", "segments", "s", ["11 to 15", "13 to 15", "17.5 to 18.5"], rows)
    return Outcome(values, partial(_draw, series), [grid])


def _simulate(run: Run, seeds: int, changes: dict[str, str]) -> Series:
    return Series.of(run.simulate("doubling", changes, seeds=seeds), "cwnd_bytes")


def _within(series: Series, begin_s: float, end_s: float) -> Array:
    """Windows between two instants of ns-3's clock [segments], shape (replications, samples)."""
    windows = Series(series.time_s, {"cwnd": series.windows()})
    return windows.within("cwnd", begin_s - _BEGINS_S, end_s - _BEGINS_S)


def _draw(series: dict[str, Series]) -> Figure:
    lines = [
        Curve(name, list(one.time_s), list(one.windows()[0]), number, "model")
        for number, (name, one) in enumerate(series.items())
    ]
    return curves("CUBIC where the capacity doubles after 9.9 s", lines, Axis("time [s]"), Axis("cwnd [segments]"))
