"""Panels of all runs together: throughput against delay, and how long transfers took."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from varicap import units
from varicap.errors import NothingDrawnError
from varicap.report import cdf, style
from varicap.report.look import Look, halves, pick
from varicap.report.measures import measure_of
from varicap.report.transfers import completion_ms
from varicap.results.summary import range_of
from varicap.statistics import Interval
from varicap.statistics.region import Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from varicap.results.tables import Recorded

Array = NDArray[np.float64]

DELAYS = ("rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms", "fct_mean_ms", "fct_p50_ms", "fct_p95_ms")
"""What a scatter can have as its delay."""

ACROSS = 2
"""Panels side by side."""
_FEW = 5
"""Runs below which the region of two means is so wide that it would hide everything."""


def draw(
    place: "FigureBase", result: "Recorded", kinds: list[str], flows: list[str], measure: str | None, look: Look
) -> None:
    """These panels, two side by side."""
    across = min(len(kinds), ACROSS)
    grid = place.subplots(-(-len(kinds) // across), across, squeeze=False)
    for axes, kind in zip(grid.flat, kinds, strict=False):
        CLOUDS[kind](axes, result, flows, measure, look)
    for axes in grid.flat[len(kinds) :]:
        axes.set_visible(False)


def _scatter(axes: "Axes", result: "Recorded", flows: list[str], measure: str | None, look: Look) -> None:
    """A dot for each run; a cross of the intervals of both means; the region that holds both at once."""
    column = pick("delay", measure or "rtt_mean_ms", DELAYS)
    delay, rate = measure_of(column, "ms"), measure_of("goodput_bps", "b/s")
    rows = result.flows
    names = [str(flow["name"]) for flow in result.summary["flows"]]
    for name in flows:
        own = rows.filter(pc.equal(rows["name"], name))
        pairs = np.stack([_scaled(own, each.column, each.scale) for each in (delay, rate)], axis=1)
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        if len(pairs) == 0:
            continue
        colour = style.colour(names.index(name))
        x, y = (
            Interval.of(values, within=range_of(each.column))
            for values, each in zip(pairs.T, (delay, rate), strict=True)
        )
        dots: dict[str, Any] = {"markersize": 2.5 * look.line, "alpha": 0.45, "markeredgewidth": 0}
        axes.plot(*pairs.T, "o", color=colour, **dots)
        region = Region.of(pairs)
        if region is not None and len(pairs) >= _FEW:
            axes.fill(*region.outline().T, facecolor=colour, edgecolor="none", alpha=0.18)
        axes.errorbar(
            [x.mean], [y.mean], xerr=_halves(x), yerr=_halves(y), fmt="o", color=colour, label=style.literal(name)
        )
    if not axes.lines:
        raise NothingDrawnError(f"no dots: `{column}` was not measured of these flows")
    look.plain(axes, zero=False)
    axes.margins(x=0.08, y=0.12)
    if "y" not in look.log:
        axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))
    axes.set_xlabel(delay.label)
    axes.set_ylabel(rate.label)
    axes.legend(frameon=False, loc="best")


def _fct(axes: "Axes", result: "Recorded", flows: list[str], _measure: str | None, look: Look) -> None:
    """The share of transfers that took at most so long."""
    scenario = result.summary["scenario"]
    warmup = units.seconds(str((scenario.get("warmup") if isinstance(scenario, dict) else None) or "0 s"))
    groups = {str(flow["group"]): str(flow["name"]) for flow in reversed(result.summary["flows"])}
    found = completion_ms(result.packets, result.flows, warmup)
    names = [str(flow["name"]) for flow in result.summary["flows"]]
    shown = {group: times for group, times in found.items() if groups[group] in flows}
    if not shown:
        raise ValueError(
            "no completion times: the panel `fct` needs transfers and packets (packets=True, --packets)"
            if result.packets.num_rows == 0
            else "no completion times: no transfer of these flows has ended"
        )
    for group, times in shown.items():
        number = names.index(groups[group])
        shares = np.arange(1, len(times) + 1) / len(times)
        label = style.literal(f"{group} ({len(times)} transfers)")
        axes.step(times, shares, where="post", color=style.colour(number), linestyle=style.line(number), label=label)
    look.plain(axes)
    axes.set_ylim(top=1.0)
    if "x" not in look.log:
        axes.set_xlim(left=0.0)
    axes.set_xlabel("flow completion time [ms]")
    axes.set_ylabel("share of transfers")
    axes.legend(frameon=False, loc="lower right")


def _scaled(rows: pa.Table, column: str, scale: float) -> Array:
    values: Array = np.asarray(rows[column].to_numpy(), np.float64)
    return values * scale


def _halves(interval: Interval) -> list[list[float]]:
    return halves([(interval.mean, interval.lo, interval.hi)])


CLOUDS: "dict[str, Callable[[Axes, Recorded, list[str], str | None, Look], None]]" = {
    "scatter": _scatter,
    "fct": _fct,
    "cdf-time": cdf.over_time,
    "cdf-packets": cdf.of_packets,
    "cdf-transfers": _fct,
    "cdf-runs": cdf.of_runs,
}
"""Panels of all runs together."""
