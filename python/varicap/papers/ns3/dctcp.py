"""Cases dctcp-10ms and dctcp-80ms: throughput and alpha of one flow."""

from functools import partial
from math import inf

from matplotlib.figure import Figure

from varicap.papers.ns3.series import Series
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Interval

_CODEL = '{ codel = { limit = "1000 packets", ecn = true, ce_threshold = "1 ms" } }'
_QUEUES = {
    "CoDel above a device with byte queue limits": None,
    "CoDel above a ring of three packets": f'{{ device = {{ ring = "3 packets", hold = "0 s", queue = {_CODEL} }} }}',
    "CoDel alone": _CODEL,
}
_REDUCTIONS = {"over a round trip (PRR)": None, "at once": '"sack"'}
_STEP_S = 0.2
"""Over which ns-3 counts what arrives."""


def reproduce(run: Run, *, rtt_ms: int) -> Outcome:
    """What the case checks, with our queue and reduction as close to ns-3's as they come, and with others."""
    seeds = run.pick(10, 6)
    first = _simulate(run, rtt_ms, seeds, None, None)
    rates = first.means("goodput_bps", _STEP_S)

    def alpha(begin_s: float, end_s: float = inf) -> tuple[Value, Value]:
        return _extremes(first, "dctcp_alpha", 1.0, begin_s, end_s)

    def throughput(begin_s: float, end_s: float = inf) -> tuple[Value, Value]:
        return _extremes(rates, "goodput_bps", 1e6, begin_s, end_s)

    values: dict[str, Value] = {}
    if rtt_ms == 10:
        values["D10-throughput-least"], values["D10-throughput-most"] = throughput(0.6)
        values["D10-alpha-falls"] = alpha(0.4)[1]
        values["D10-alpha-least"], values["D10-alpha-most"] = alpha(2.0)
        steady_s = 2.0
    else:
        values["D80-slow"] = throughput(0.0, 9.0)[1]
        values["D80-rising"] = throughput(0.0, 25.0)[1]
        values["D80-throughput-least"], values["D80-throughput-most"] = throughput(27.0)
        values["D80-alpha-begins"] = alpha(0.0, 2.5)[0]
        values["D80-alpha-unmarked"] = alpha(6.0, 25.0)[1]
        values["D80-alpha-least"], values["D80-alpha-most"] = alpha(29.0)
        steady_s = 29.0
    rows = {}
    for queue, changed in _QUEUES.items():
        of = [_simulate(run, rtt_ms, seeds, changed, reduction) for reduction in _REDUCTIONS.values()]
        rows[queue] = [Interval.of(each.within("dctcp_alpha", steady_s, inf).mean(axis=1)) for each in of]
    grid = Grid(f"Mean alpha after {steady_s:g} s", "1", "how the window falls", list(_REDUCTIONS), rows)
    return Outcome(values, partial(_draw, first, rtt_ms), [grid])


def _simulate(run: Run, rtt_ms: int, seeds: int, queue: str | None, recovery: str | None) -> Series:
    changes = {f"topology.dumbbell.{way}.delay": f'"{rtt_ms / 2:g} ms"' for way in ("forward", "reverse")}
    changes["duration"] = '"10 s"' if rtt_ms == 10 else '"35 s"'
    if queue is not None:
        changes["topology.dumbbell.forward.queue"] = queue
    if recovery is not None:
        changes["tcp.recovery"] = recovery
    return Series.of(run.simulate("dctcp", changes, seeds=seeds), "goodput_bps", "dctcp_alpha")


def _extremes(series: Series, name: str, unit: float, begin_s: float, end_s: float) -> tuple[Value, Value]:
    """Least and greatest value between two instants, in units of that many."""
    values = series.within(name, begin_s, end_s) / unit
    return Value(sim=Interval.of(values.min(axis=1))), Value(sim=Interval.of(values.max(axis=1)))


def _draw(series: Series, rtt_ms: int) -> Figure:
    line = Curve("alpha", list(series.time_s), list(series.columns["dctcp_alpha"][0]), 0, "model")
    title = f"DCTCP, {rtt_ms} ms: the share of marked data"
    return curves(title, [line], Axis("time [s]"), Axis("alpha"))
