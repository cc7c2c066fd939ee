"""Figs. 10 and 11: what EFFCAP's memory costs or gains against INSTCAP, for buffers of 8 to 12 packets."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from varicap.analyse.models.abr import ATM_SHARE
from varicap.papers.abr.sessions import (
    BUFFERS as OTHERS,
)
from varicap.papers.abr.sessions import (
    EFFICIENCY,
    LARGE,
    PSI_AXIS,
    SMALL,
    curve,
    gain,
    grid,
    mean,
    over_psi,
    with_buffers,
)
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import curves
from varicap.statistics import Array, Interval

BUFFERS = (8, 10, 12)
RANGES = {"large": LARGE, "small": SMALL}
TITLES = {"large": "Fig. 10: EFFCAP and INSTCAP, large psi", "small": "Fig. 11: EFFCAP and INSTCAP, small psi"}


def reproduce(run: Run, psi: str, claim: str, judged: Sequence[float]) -> Outcome:
    """Throughput over `large` or `small` psi; the claim is about those within the bounds `judged`."""
    values = grid(run, RANGES[psi])
    ours = _both(run, values)
    least_psi, most_psi = judged

    def gains(buffer: int) -> dict[str, Interval]:
        pairs = zip(values, ours["effcap", buffer], ours["instcap", buffer], strict=True)
        return {claim: mean([gain(effcap, told) for at, effcap, told in pairs if least_psi <= at <= most_psi])}

    found = {claim: Value(sim=gains(10)[claim])}
    if psi == "small":
        fastest = [ours[flow, 10][0] / ATM_SHARE for flow in ("effcap", "instcap")]
        found["ABR-fast"] = Value(sim=least(fastest))
    return Outcome(found, partial(_draw, TITLES[psi], values, ours), readings=with_buffers(gains, OTHERS))


def _both(run: Run, psi: Sequence[float]) -> dict[tuple[str, int], list[Array]]:
    """EFFCAP and INSTCAP at each psi, by name and buffer."""
    return {(flow, buffer): over_psi(run, flow, psi, buffer) for flow in ("effcap", "instcap") for buffer in BUFFERS}


def _draw(title: str, psi: Sequence[float], ours: dict[tuple[str, int], list[Array]]) -> Figure:
    """A line for each of them."""
    lines = [
        curve(f"{flow.upper()}, B = {buffer}", psi, arrays, number)
        for number, ((flow, buffer), arrays) in enumerate(ours.items())
    ]
    return curves(title, lines, PSI_AXIS, EFFICIENCY)
