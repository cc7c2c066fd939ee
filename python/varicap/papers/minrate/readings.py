"""Readings: what the 4 Mb/s flow gets where the paper leaves a choice of the stack, of queues or of links open."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.minrate.fig07 import AVERAGE
from varicap.papers.minrate.network import (
    ONE_WAY,
    OTHERS,
    TWO_WAY,
    Changes,
    capacities,
    interval,
    measure,
    queues,
    senders,
)
from varicap.papers.run import Grid, Outcome, Run
from varicap.report import style
from varicap.statistics import Interval

_CASES: dict[str, tuple[Sequence[str], Changes]] = {
    "Fig. 2": (ONE_WAY, senders("plain")),
    "Fig. 4(b), 400 ms": (TWO_WAY, senders("plain", bucket="400 ms")),
    "Fig. 7": (ONE_WAY, senders("windowed")),
    "Fig. 4(a), 400 ms": (ONE_WAY, senders("plain", bucket="400 ms")),
    "Fig. 6": (ONE_WAY, senders("timed")),
    "Fig. 7, average RTT": (ONE_WAY, senders("windowed", window=AVERAGE)),
}
_QUICK_CASES = 3


def _each(key: str, value: str) -> Changes:
    """A key of each flow, which may have its own value from `senders`."""
    return {f"flows.{flow}.{key}": value for flow in TWO_WAY}


_READINGS: dict[str, Changes] = {
    "ours": {},
    "a loss halves the window, used or not": {"tcp.halving": "offered-window"},
    "several fast retransmits in a window": {"tcp.repeat_fast_retransmit": "true"},
    "growth by a segment per window": {"tcp.congestion": '{ reno = { increase = "per-window" } }'},
    "RTO of RFC 6298": {"tcp.timer": "rfc6298"},
    "an ACK for every other packet": {"tcp.ack": "delayed"},
    "a receiver's window of 64 packets": {"tcp.receive_window": "64 packets"},
    "Reno with partial ACKs (NewReno)": _each("tcp.recovery", "newreno"),
    "SACK": _each("tcp.recovery", "sack"),
    "RED's drops spaced from 1 to 1/p": queues('{ ered = { spacing = "uniform" } }'),
    "RED's drops not spaced": queues('{ ered = { spacing = "geometric" } }'),
    "queues in bytes": queues('{ ered = { limit = "100 kB", min_threshold = "20 kB", max_threshold = "80 kB" } }'),
    "access links of 10 Mb/s": capacities("10 Mbit/s", OTHERS),
    "jitter of a packet's time at senders": _each("jitter", "0.8 ms"),
}
"""Changes of the scenario, each alone."""


def reproduce(run: Run) -> Outcome:
    """Compliant throughput of the 4 Mb/s flow in each reading, as a share of its reservation."""
    cases = list(_CASES)[: run.pick(len(_CASES), _QUICK_CASES)]
    rows = {name: [_share(run, case, changes) for case in cases] for name, changes in _READINGS.items()}
    title = "Readings: compliant throughput of the 4 Mb/s flow, of its reservation"
    return Outcome({}, partial(_draw, cases, rows), [Grid(title, "1", "figure", cases, rows)])


def _share(run: Run, case: str, changes: Changes) -> Interval:
    flows, of_case = _CASES[case]
    return interval(measure(run, {**of_case, **changes}, flows, seeds=run.pick(4, 2)).compliant("r4") / 4)


def _draw(cases: Sequence[str], rows: dict[str, list[Interval]]) -> Figure:
    figure = Figure(figsize=(8.0, 1.2 + 0.34 * len(rows)), dpi=120, layout="constrained")
    axes = figure.subplots()
    style.plain(axes)
    for number, case in enumerate(cases):
        shares = [row[number] for row in rows.values()]
        at = [place + 0.1 * (number - (len(cases) - 1) / 2) for place in range(len(rows))]
        for y, one in zip(at, shares, strict=True):
            ends = [end for end in (one.lo, one.hi) if end is not None]
            axes.plot(ends, [y] * len(ends), color=style.colour(number), linewidth=1.0)
        axes.plot([one.mean for one in shares], at, ".", color=style.colour(number), markersize=6, label=case)
    axes.set_yticks(range(len(rows)), list(rows), fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.1)
    axes.set_xlabel("compliant throughput / reservation", fontsize=9)
    axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    return figure
