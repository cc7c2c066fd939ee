"""Fig. 12: EFFCAP, INSTCAP and TCP alone at large psi."""

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.abr.sessions import (
    DELAY_MS,
    EFFICIENCY,
    LARGE,
    PSI_AXIS,
    curve,
    gain,
    grid,
    mean,
    one,
    over_psi,
)
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least, most
from varicap.report.paper import curves
from varicap.statistics import Array, Interval

KINDS = {"effcap": "TCP over ABR, EFFCAP", "instcap": "TCP over ABR, INSTCAP", "tcp": "TCP alone"}
_TODAY = {
    "reno": "Reno alone",
    "newreno": "NewReno alone",
    "sack": "SACK alone",
    "cubic": "CUBIC (SACK) alone",
    "sack-instcap": "SACK over ABR, INSTCAP",
    "sack-effcap": "SACK over ABR, EFFCAP",
}


_LINK = "topology.dumbbell.forward"
_TIMER = "tcp.timer.multiple"
CHOICES: Mapping[str, Mapping[str, str]] = {
    "as read": {},
    "no ACK jitter": {"flows.FLOW.jitter": "0 s"},
    "5 ms of ACK jitter": {"flows.FLOW.jitter": "5 ms"},
    "a timer of twice the least RTT": {f"{_TIMER}.of": '"base"'},
    "a timer that does not double": {f"{_TIMER}.backoff": "false"},
    "one RTT sample per window": {"tcp.rtt_samples": '"one-per-window"'},
    "a loss halves the window": {"tcp.halving": '"window"'},
    "growth for each ACK": {"tcp.congestion": '{ reno = { increase = "per-ack" } }'},
    "the packet in service does not count": {f"{_LINK}.queue.drop-tail.counts_in_service": "false"},
    "a change of rate acts at once": {f"{_LINK}.service": '"fluid"'},
}


def reproduce(run: Run) -> Outcome:
    """What rate control gains where the capacity varies slowly."""
    psi = grid(run, LARGE)
    ours = {flow: over_psi(run, flow, psi) for flow in KINDS}
    slow = [number for number, value in enumerate(psi) if value > 20]
    gains = [gain(ours["instcap"][number], ours["tcp"][number]) for number in slow]
    several = {flow: [over_psi(run, flow, [psi[number]])[0] for number in slow] for flow in ("sack", "sack-instcap")}
    over_old = [gain(one, ours["instcap"][number]) for number, one in zip(slow, several["sack-instcap"], strict=True)]
    values = {
        "ABR-slow": Value(sim=least(gains)),
        "ABR-C1": Value(sim=mean(gains)),
        "ABR-C1-least": Value(sim=least(gains)),
        "ABR-dynamics": Value(sim=most(either for one in over_old for either in (one, -one))),
    }
    modern = [gain(told, alone) for told, alone in zip(several["sack-instcap"], several["sack"], strict=True)]
    title = "Fig. 12: with and without ABR, large psi"
    other = slow_readings(run)
    return Outcome(
        values,
        partial(draw, title, psi, ours),
        [today(run, psi), *readings(run)],
        {"ABR-slow": other, "ABR-C1-least": other},
        {"ABR-slow": {"SACK": Value(sim=least(modern))}, "ABR-C1": {"SACK": Value(sim=mean(modern))}},
        dict.fromkeys(values, f"psi of {', '.join(f'{psi[number]:g}' for number in slow)}"),
    )


def slow_readings(run: Run) -> dict[str, Value]:
    """INSTCAP's least gain over TCP alone where the capacity varies slowly, under each other choice."""
    psi = run.pick((30.0, 50.0), (50.0,))  # where it is least
    return {
        name: Value(sim=least([gains_at(run, value, changes) for value in psi]))
        for name, changes in CHOICES.items()
        if changes
    }


def gains_at(run: Run, psi: float, changes: Mapping[str, str], buffer: int = 10) -> Array:
    """INSTCAP's gain over TCP alone at one psi under other choices [%]."""
    told, alone = (
        one(run, flow, psi * DELAY_MS, buffer=buffer, changes=_of(flow, changes)) for flow in ("instcap", "tcp")
    )
    return gain(told, alone)


def readings(run: Run) -> list[Grid]:
    """What else the paper leaves open, and what it does to each of the three and to INSTCAP's gain."""
    shown = run.pick((1.0, 5.0, 20.0, 50.0), (1.0, 5.0, 50.0))
    efficiencies, gains = {}, {}
    for name, changes in CHOICES.items():
        ours = {flow: [one(run, flow, psi * DELAY_MS, changes=_of(flow, changes)) for psi in shown] for flow in KINDS}
        efficiencies[name] = [Interval.of(points) for flow in KINDS for points in ours[flow]]
        gains[name] = [Interval.of(gain(told, alone)) for told, alone in zip(ours["instcap"], ours["tcp"], strict=True)]
    columns = [f"{psi:g}" for psi in shown]
    by_flow = [f"{flow} {psi}" for flow in KINDS for psi in columns]
    return [
        Grid("Readings: the simulation, efficiency", "1", "flow and psi", by_flow, efficiencies),
        Grid("Readings: the simulation, INSTCAP's gain over TCP alone", "%", "psi", columns, gains),
    ]


def _of(flow: str, changes: Mapping[str, str]) -> dict[str, str]:
    return {key.replace("FLOW", flow): value for key, value in changes.items()}


def draw(title: str, psi: Sequence[float], ours: dict[str, list[Array]]) -> Figure:
    """A line for each of the three."""
    lines = [curve(KINDS[flow], psi, arrays, number) for number, (flow, arrays) in enumerate(ours.items())]
    return curves(title, lines, PSI_AXIS, EFFICIENCY)


def today(run: Run, psi: Sequence[float]) -> Grid:
    """What a modern TCP gets on the same link, alone and over the same rate control."""
    several = run.pick((0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0), (0.2, 1.0, 5.0, 20.0))
    shown = [value for value in psi if value in several]
    rows = {name: [Interval.of(points) for points in over_psi(run, flow, shown)] for flow, name in _TODAY.items()}
    columns = [f"{value:g}" for value in shown]
    return Grid("Beside the paper: efficiency with fast retransmit, SACK and CUBIC", "1", "psi", columns, rows)
