"""Fig. 6: throughput against the initial capacity, with thresholds in packets."""

from functools import partial

from varicap.papers.lrl.curves import C0, LOWS, OTHER_LOWS, by_c0
from varicap.papers.lrl.fig05 import draw, measured_throughput
from varicap.papers.lrl.link import Values, interval, judged, under
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.worst import farthest, least, most
from varicap.statistics import Array, Interval

_HIGH = [c0 for c0 in C0 if c0 > 50]
_LOW = [c0 for c0 in C0 if 2 <= c0 <= 50]  # the paper's "relatively low" ones [kb/s]


def reproduce(run: Run) -> Outcome:
    """A curve for each low threshold, and one for its return link."""
    measured = {low: by_c0(run, "packets", low) for low in LOWS}
    in_bytes = {low: by_c0(run, "bytes", low) for low in LOWS}
    packets = {low: measured_throughput(curve) for low, curve in measured.items()}
    back = {low: {c0: at.link("reverse", "throughput_bps") / 1e3 for c0, at in measured[low].items()} for low in LOWS}
    ratio = {low: {c0: packets[low][c0] / in_bytes[low][c0].throughput for c0 in C0[1:]} for low in LOWS}
    full = [curves[low][100].link("reverse", "utilisation") for curves in (measured, in_bytes) for low in LOWS]
    opened = [measured[low][c0].link("reverse", "capacity_max_bps") / 1e3 for low in LOWS for c0 in C0 if c0 <= 20]
    values: Values = {
        "F6a": farthest([ratio[low][c0] for low in LOWS for c0 in _HIGH]),
        "F6b": least([ratio[low][c0] for low in LOWS for c0 in _LOW]),
        "F6b-2": ratio[1][2.0],
        "F6b-20": ratio[1][20.0],
        "F6c-alike": farthest([one for low in LOWS for one in _scaled(packets[low], back[low])]),
        "F6c-lower": most([back[low][c0] / packets[low][c0] for low in LOWS for c0 in C0[1:]]),
        "F6d": most(opened),
        "F6f": most(full),
    }
    rows = {f"low {low}, high {low + 4} packets": [interval(at) for at in packets[low].values()] for low in LOWS}
    returns = {f"return link, low {low}": [interval(at) for at in back[low].values()] for low in LOWS}
    grid = Grid("Fig. 6 in numbers: throughput", "kb/s", "c0 [kb/s]", [f"{c0:g}" for c0 in C0], rows | returns)
    readings: dict[str, Values] = {f"low {low}, high {low + 4}": {"F6b": _better(run, low)} for low in OTHER_LOWS}
    draws = partial(draw, "Fig. 6: thresholds in packets", rows | returns)
    return Outcome(judged(values), draws, [grid], under(readings))


def _better(run: Run, low: int) -> Interval:
    """What thresholds in packets give over those in bytes at the paper's low c0, where that is least."""
    packets, in_bytes = (by_c0(run, unit, low, points=_LOW) for unit in ("packets", "bytes"))
    return least([packets[c0].throughput / in_bytes[c0].throughput for c0 in _LOW])


def _scaled(curve: dict[float, Array], other: dict[float, Array]) -> list[Array]:
    """The ratio of two curves at each c0 but zero, scaled so that their means over c0 are the same."""
    scale = sum(float(curve[c0].mean()) for c0 in C0[1:]) / sum(float(other[c0].mean()) for c0 in C0[1:])
    return [scale * other[c0] / curve[c0] for c0 in C0[1:]]
