"""Fig. 10: several flows over one link, and why they stop gaining: the path of the acknowledgements."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.lrl.link import FAST_RETURN, FORWARD, REVERSE, Setting, Values, interval, judged, measure
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.worst import least, most
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_FLOWS = (1, 2, 4, 8, 16)
_BEYOND = (*_FLOWS, 32, 64)
_C0 = (20, 50, 100)
_DROP_TAIL = {f"{link}.queue": '{ drop-tail = { limit = "50 packets" } }' for link in (FORWARD, REVERSE)}


def reproduce(run: Run) -> Outcome:
    """1 to 16 flows, also with other return links and queues, which the paper does not have."""
    ours = {c0: {n: _throughput(run, c0, n) for n in _FLOWS} for c0 in _C0}
    free = {n: _throughput(run, 50, n, FAST_RETURN) for n in _BEYOND}
    tail = {n: _throughput(run, 50, n, _DROP_TAIL) for n in _FLOWS}
    values: Values = {
        "F10a": least([ours[c0][more] / ours[c0][n] for c0 in _C0 for n, more in ((1, 2), (2, 4))]),
        "F10b-4": most([ours[c0][16] / ours[c0][4] for c0 in _C0]),
        "F10-cause": free[16] / ours[50][16],
        "F10b-8": most([ours[c0][more] / ours[c0][n] for c0 in _C0 for n, more in ((4, 8), (8, 16))]),
    }
    rows = {f"c0 = {c0} kb/s": [interval(at) for at in ours[c0].values()] for c0 in _C0}
    beside = {
        "c0 = 50, drop-tail": [interval(at) for at in tail.values()],
        "c0 = 50, return link of 2 Mb/s": [interval(free[n]) for n in _FLOWS],
    }
    grid = Grid("Fig. 10 in numbers: throughput together", "kb/s", "flows", [str(n) for n in _FLOWS], rows | beside)
    more = Grid(
        "1 to 64 flows with a return link of 2 Mb/s",
        "kb/s",
        "flows",
        [str(n) for n in _BEYOND],
        {"throughput together": [interval(at) for at in free.values()]},
    )
    return Outcome(judged(values), partial(_draw, rows | beside), [grid, more])


def _throughput(run: Run, c0: float, flows: int, changes: dict[str, str] | None = None) -> Array:
    plain = {"record.series": "false"}
    return measure(run, Setting(4, 8, c0, flows=flows), plain | (changes or {})).throughput


def _draw(rows: dict[str, list[Interval]]) -> Figure:
    lines = [Curve(name, _FLOWS, row, colour) for colour, (name, row) in enumerate(rows.items())]
    return curves("Fig. 10: flows on one link, thresholds 4 and 8 kB", lines, Axis("flows"), Axis("throughput [kb/s]"))
