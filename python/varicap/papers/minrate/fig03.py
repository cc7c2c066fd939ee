"""Fig. 3: a trace of the flow with 4 Mb/s reserved: its packets, its window, and the tokens that it loses."""

from functools import partial

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure

from varicap.papers.minrate.fig02 import base
from varicap.papers.minrate.network import ONE_WAY, WARMUP_S, Measured, interval, means, senders
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.report import style
from varicap.statistics import Array

_PACKET = 1000.0  # [B]
_MSS = 960.0  # [B]
_PER_SECOND = 10  # intervals of the series
_CUT = 0.75  # of cwnd an interval before: what is less is an answer to a loss
_SETTLING = 2  # intervals between a loss and the window's last step down in fast recovery
_FROM_S, _TO_S = 40.0, 45.0  # what is drawn


def reproduce(run: Run) -> Outcome:
    """How steadily tokens are lost, what happens to that at a loss, and while the window opens again."""
    found = base(run)
    times, lost = found.series("r4", "lost_tokens_bytes", _PER_SECOND / _PACKET)
    _, cwnd = found.series("r4", "cwnd_bytes", 1 / _MSS)
    late = times > WARMUP_S + 1e-9
    lost, cwnd = lost[:, late], cwnd[:, late]
    low = cwnd < np.median(cwnd, axis=1, keepdims=True)
    below = np.where(low, lost, 0.0).sum(axis=1) / low.sum(axis=1)
    above = np.where(low, 0.0, lost).sum(axis=1) / (~low).sum(axis=1)
    before, after = (np.array(one) for one in zip(*map(_around_cuts, lost, cwnd), strict=True))
    values = {
        "F3-always": (means(lost, _PER_SECOND) > 0).mean(axis=1),
        "F3-cut": ratio(after, before),
        "F3-opens": ratio(below, above),
    }
    rows = {"4 Mb/s reserved": [interval(one) for one in (lost.mean(axis=1), before, after, below, above)]}
    columns = ["all", "1 s before a loss", "1 s after it", "cwnd below its median", "above"]
    grid = Grid("Fig. 3 in numbers: tokens lost", "packets/s", "while", columns, rows)
    return Outcome({key: Value(sim=interval(one)) for key, one in values.items()}, partial(_draw, run, found), [grid])


def _around_cuts(lost: Array, cwnd: Array) -> tuple[float, float]:
    """Tokens lost in the second before a cut of the window, and in that after it: means over the cuts of a run."""
    before, after = [], []
    cuts = np.flatnonzero(cwnd[1:] < _CUT * cwnd[:-1]) + 1
    first = _PER_SECOND + _SETTLING
    for cut in cuts[(cuts >= first) & (cuts <= lost.size - _PER_SECOND)]:
        before.append(lost[cut - first : cut - _SETTLING].mean())
        after.append(lost[cut : cut + _PER_SECOND].mean())
    return float(np.mean(before)), float(np.mean(after))


def _draw(run: Run, found: Measured) -> Figure:
    changes = senders("plain") | {"duration": f"{_TO_S:g} s", "warmup": "0 s", "record.packets": "true"}
    packets = run.simulate("chain", changes, seeds=1, flows=ONE_WAY).packets
    sent = pc.and_(pc.equal(packets["event"], "arrival"), pc.equal(packets["link"], "n0-n1"))
    of_flow = packets.filter(pc.and_(sent, pc.equal(packets["group"], "r4")))
    when = np.asarray(of_flow["time_ns"].to_numpy(), dtype=np.float64) / 1e9
    number = np.asarray(of_flow["seq_bytes"].to_numpy(), dtype=np.float64) // _MSS
    times, lost = found.series("r4", "lost_tokens_bytes", 1 / _PACKET)
    _, cwnd = found.series("r4", "cwnd_bytes", 1 / _MSS)
    figure = Figure(figsize=(7.0, 4.6), dpi=120, layout="constrained")
    axes = figure.subplots()
    style.plain(axes)
    shown = (when >= _FROM_S) & (when < _TO_S)
    axes.plot(
        when[shown], number[shown] % 200, ".", color=style.colour(0), markersize=1.5, label="packets sent, mod 200"
    )
    of = (times >= _FROM_S) & (times <= _TO_S)
    axes.plot(
        times[of], np.cumsum(lost[0])[of] % 200, ".", color=style.colour(1), markersize=4, label="lost tokens, mod 200"
    )
    axes.plot(times[of], cwnd[0][of], color=style.colour(2), linewidth=1.2, label="cwnd")
    axes.set_xlabel("time [s]", fontsize=9)
    axes.set_ylabel("[packets]", fontsize=9)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, markerscale=3)
    figure.suptitle("Fig. 3: trace of the flow with 4 Mb/s reserved", fontsize=10)
    return figure
