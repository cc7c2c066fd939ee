"""Cases cubic-50ms-no-ecn and cubic-50ms-ecn: the maxima of a flow's window and how far it falls at first."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.ns3.series import Series, peak
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Interval

_CODEL = '{{ codel = {{ limit = "1000 packets", ecn = {ecn} }} }}'
_DEVICE = f'{{{{ device = {{{{ ring = "3 packets", hold = "1 ms", queue = {_CODEL} }}}}}}}}'
_SLOW_STARTS = ("none", "linux", "plus-plus")
_FALLING_S = (0.5, 1.5)
"""When the first reductions are over, which leave the window at its least until the next maximum."""
_MAXIMA_S = ((5.0, 11.0), (11.0, 15.0))


def reproduce(run: Run, *, ecn: bool) -> Outcome:
    """The four points of the case, and what other ends of slow start and a queue without a device make of them."""
    seeds = run.pick(10, 6)
    queue = _DEVICE.format(ecn=str(ecn).lower())
    first = _simulate(run, seeds, {"topology.dumbbell.forward.queue": queue})
    points = _points(first)
    case = "ecn" if ecn else "no-ecn"
    values = {
        f"C-{name}.{case}.{number}": Value(sim=interval)
        for name, row in points.items()
        for number, interval in enumerate(row, 1)
    }
    ends = {}
    for hystart in _SLOW_STARTS:
        changes = {
            "topology.dumbbell.forward.queue": queue,
            "tcp.initial_ssthresh": '"unlimited"',
            "flows.flow.tcp.congestion.cubic.hystart": f'"{hystart}"',
        }
        series = _simulate(run, seeds, changes)
        ends[hystart] = Interval.of(peak(series.time_s, series.windows(), 0.0, _FALLING_S[0])[0])
    bare = _points(_simulate(run, seeds, {"topology.dumbbell.forward.queue": _CODEL.format(ecn=str(ecn).lower())}))
    columns = ["least after the first", "second maximum", "third maximum"]
    grids = [
        Grid("Windows", "segments", "", columns, {"with a device": points["window"], "CoDel alone": bare["window"]}),
        Grid(
            "First maximum by the end of slow start", "segments", "HyStart", list(ends), {"ours": list(ends.values())}
        ),
    ]
    return Outcome(values, partial(_draw, first, case), grids)


def _simulate(run: Run, seeds: int, changes: dict[str, str]) -> Series:
    return Series.of(run.simulate("cubic", changes, seeds=seeds), "cwnd_bytes")


def _points(series: Series) -> dict[str, list[Interval]]:
    """The window after the first reductions and at the two maxima that follow [segments], and when [s]."""
    windows = series.windows()
    least, fallen_s = peak(series.time_s, -windows, *_FALLING_S)
    found = [(-least, fallen_s), *(peak(series.time_s, windows, *within) for within in _MAXIMA_S)]
    return {"window": [Interval.of(one) for one, _ in found], "time": [Interval.of(at) for _, at in found]}


def _draw(series: Series, case: str) -> Figure:
    line = Curve("cwnd", list(series.time_s), list(series.windows()[0]), 0, "model")
    return curves(f"CUBIC, 50 ms, CoDel, {case}", [line], Axis("time [s]"), Axis("cwnd [segments]"))
