"""Beyond the paper: the excess that a reserved flow can expect, by analysis and by simulation."""

from functools import partial

from matplotlib.figure import Figure

from varicap.analyse.models.minrate import Bottleneck, Window, shares
from varicap.papers.minrate.fig06 import timed
from varicap.papers.minrate.fig07 import windowed
from varicap.papers.minrate.network import RATES, Measured, interval, measure, senders
from varicap.papers.run import Grid, Outcome, Run
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_CASES: dict[str, tuple[Window, str]] = {
    "halving cwnd": ("whole", "timed transmissions, Fig. 6"),
    "halving cwnd - RWND": ("best-rtt", "rate adaptive window, Fig. 7"),
}
_FLOWS = {"be": 0.0} | RATES


def reproduce(run: Run) -> Outcome:
    """Excess over reservation, and the ratios to best effort that the analysis predicts."""
    found = dict(zip(_CASES, (timed(run), windowed(run)), strict=True))
    found["halving cwnd, SACK"] = timed_with_sack(run)
    found["halving cwnd - RWND, SACK"] = windowed_with_sack(run)
    models = {name: _model(_CASES[name.removesuffix(", SACK")][0]) for name in found}
    measured = {name: [interval(_excess(one, flow)) for flow in _FLOWS] for name, one in found.items()}
    rows: dict[str, list[Interval]] = {}
    for name, row in measured.items():
        rows[f"{name}: simulated"] = row
        rows[f"{name}: by analysis"] = [Interval(one) for one in models[name]]
    columns = [f"{rate:g} Mb/s reserved" if rate else "best effort" for rate in _FLOWS.values()]
    grid = Grid("Excess of each flow", "Mb/s", "flow", columns, rows)
    return Outcome({}, partial(_draw, measured, models), [grid])


def timed_with_sack(run: Run) -> Measured:
    """Fig. 6 with SACK: there are hardly any timeouts, which the analysis ignores."""
    return measure(run, senders("timed", recovery="sack") | {"tcp.recovery": "sack"})


def windowed_with_sack(run: Run) -> Measured:
    """Fig. 7 with SACK, where there are hardly any timeouts."""
    return measure(run, senders("windowed", recovery="sack") | {"tcp.recovery": "sack"})


def _excess(found: Measured, flow: str) -> Array:
    return found.throughput(flow) if flow == "be" else found.excess(flow)


def _model(window: Window) -> list[float]:
    """The excess of best effort and of 1, 2 and 4 Mb/s reserved [Mb/s]."""
    reserved = [1e6 * rate for rate in RATES.values()]
    excess = shares([*reserved, 0.0, 0.0, 0.0], window, Bottleneck()).excess_bps
    return [one / 1e6 for one in (excess[3], *excess[:3])]


def _draw(measured: dict[str, list[Interval]], models: dict[str, list[float]]) -> Figure:
    x = list(_FLOWS.values())
    lines = []
    for colour, (name, row) in enumerate(measured.items()):
        lines.append(Curve(name, x, row, colour))
        if not name.endswith("SACK"):
            lines.append(Curve(f"{name}: analysis", x, models[name], colour, "model"))
    title = "Excess of a flow against its reservation"
    return curves(title, lines, Axis("reservation [Mb/s]"), Axis("excess [Mb/s]"))
