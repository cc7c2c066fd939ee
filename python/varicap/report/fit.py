"""A trace and the chain that was fitted to it, side by side."""

import math
from typing import TYPE_CHECKING

from varicap.report.table import significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from varicap.traces import Fit

_TRACE, _FIT = 0, 1
_TO_COMPARE_S = 10.0
"""Length of the shortest trace whose effective capacities are compared [s]."""


def figure(fit: "Fit", name: str) -> "Figure":
    """Four panels: rates, autocorrelation, effective capacity, outages; the trace in one colour, the fit in another.

    The effective capacity of the chain that may change at any time is drawn thin.
    """
    from matplotlib.figure import Figure

    from varicap.report import style

    good = fit.goodness
    drawn = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    grid = drawn.subplots(2, 2)
    for axes in grid.ravel():
        style.plain(axes)
    colours = style.colour(_TRACE), style.colour(_FIT)
    labels = style.literal(name), f"chain of {fit.states} states"

    axes = grid[0, 0]
    axes.plot(good.marginal.x / 1e6, good.marginal.trace, color=colours[0], linewidth=1.0, label=labels[0])
    axes.plot(good.marginal.x / 1e6, good.marginal.fit, color=colours[1], linewidth=1.0, label=labels[1])
    _named(axes, f"rate in a slot of {fit.slot_s:g} s [Mb/s]", "share of slots below")
    axes.legend(fontsize=7, frameon=False, loc="lower right")

    axes = grid[0, 1]
    axes.plot(good.autocorrelation.x, good.autocorrelation.trace, color=colours[0], linewidth=1.0)
    axes.plot(good.autocorrelation.x, good.autocorrelation.fit, color=colours[1], linewidth=1.0)
    axes.axhline(0.0, color="black", linewidth=0.5)
    _named(axes, "lag [s]", "autocorrelation of the rate")

    axes = grid[1, 0]
    for number, (block, curve) in enumerate(good.effective.items()):
        line = style.line(number * len(style.COLOURS))
        axes.semilogx(curve.x * 1e6, curve.trace / 1e6, color=colours[0], linestyle=line, linewidth=1.0)
        axes.semilogx(curve.x * 1e6, curve.fit / 1e6, color=colours[1], linestyle=line, linewidth=1.0)
        at_any_time = good.continuous[block]
        axes.semilogx(curve.x * 1e6, at_any_time / 1e6, color=colours[1], linestyle=line, linewidth=0.6, alpha=0.5)
        axes.plot([], [], color="black", linestyle=line, linewidth=1.0, label=f"blocks of {block:g} s")
    axes.set_ylim(bottom=0)
    _named(axes, "delta [1/Mb]", "effective capacity [Mb/s]")
    if good.effective:
        axes.legend(fontsize=7, frameon=False, loc="lower left")

    axes = grid[1, 1]
    axes.step(good.outages.x, good.outages.trace, color=colours[0], linewidth=1.0, where="post")
    axes.step(good.outages.x, good.outages.fit, color=colours[1], linewidth=1.0, where="post")
    _named(axes, "duration of an outage [s]", "share of outages that last longer")
    axes.set_ylim(0, 1.02)
    return drawn


def _named(axes: "Axes", across: str, up: str) -> None:
    axes.set_xlabel(across, fontsize=8)
    axes.set_ylabel(up, fontsize=8)


def table(fit: "Fit") -> tuple[list[str], list[list[str]]]:
    """Headings and rows: a state in each row."""
    rows = []
    for state in range(fit.states):
        rate = _mega(float(fit.rates_bps[state]))
        holding = _seconds(float(fit.mean_holding_s[state]))
        if fit.rate_intervals_bps is not None and fit.holding_intervals_s is not None:
            low, high = fit.rate_intervals_bps[state].tolist()
            rate += f" ({_mega(low)} – {_mega(high)})"
            low, high = fit.holding_intervals_s[state].tolist()
            holding += f" ({_seconds(low)} – {_seconds(high)})"
        rows.append([str(state), rate, holding, f"{float(fit.hidden.share[state]):.1%}"])
    return ["state", "rate [Mb/s]", "held for [s]", "share"], rows


def sentences(fit: "Fit") -> list[str]:
    """What one should know of a fit before using it."""
    good, said = fit.goodness, []
    rates, finest = fit.rates_bps.tolist(), fit.resolution_bps
    # With a number that was asked for, the BIC has chosen a law alone.
    chosen = ", chosen by the BIC" if len({each.states for each in fit.tried}) > 1 else ""
    said.append(f"{fit.states} states{chosen}; {fit.hidden.slots} slots of {fit.slot_s:g} s")
    if fit.asked_states is not None and fit.states < fit.asked_states:
        said.append(f"{fit.asked_states} states were asked for: the trace does not tell so many apart")
    said += [
        f"states {state} and {state + 1} are {_mega(rates[state + 1] - rates[state])} Mb/s apart: slots of this trace "
        f"tell {_mega(finest)} Mb/s apart, so these may be one"
        for state in fit.hidden.alike
    ]
    if good.error is None and fit.hidden.slots * fit.slot_s >= _TO_COMPARE_S:
        said.append("the trace does not vary over blocks of 1 s and more: there are no effective capacities to compare")
    elif good.error is None:
        said.append("too short to compare effective capacities: at least 10 blocks of 1 s are needed")
    else:
        blocks = ", ".join(f"{block:g}" for block in good.effective)
        verdict = "adequate" if fit.is_adequate else "not adequate"
        said.append(
            f"effective capacity over blocks of {blocks} s: at most {good.error:.1%} from the trace's ({verdict}); "
            f"as a continuous chain at most {good.continuous_error:.1%}"
        )
    said.append(f"distribution of the rate: at most {good.distance:.1%} of the slots apart")
    said.append(
        f"autocorrelation: at most {good.memory_error:.2f} apart, of which {good.memory_noise:.2f} may be chance"
    )
    if fit.failed:
        said.append(f"not adequate by {' and '.join(fit.failed)}: try another slot, or the trace itself")
    if fit.row_s is not None and fit.slot_s < fit.row_s * (1 - 1e-9):
        said.append(
            f"slots of {fit.slot_s:g} s are shorter than the rows of the log, {fit.row_s:g} s: what holds within a row "
            "looks like memory of the link"
        )
    if fit.held_out is not None:
        gain = fit.held_out.chain - fit.held_out.independent
        said.append(
            f"held out: the chain predicts {fit.held_out.slots} slots with {gain:+.2f} nats each "
            "against independent ones" + ("" if gain > 0 else ", so its memory is of no use there")
        )
    cover = fit.coverage
    if cover.outages:
        said.append(
            f"coverage: {cover.outages} outages of {_seconds(cover.outage_s)} s, every {_seconds(cover.covered_s)} s "
            f"(relative standard error {cover.spread or 0:.0%})"
        )
        if not good.outages.fit.any():
            said.append("the chain has no state for outages: none carries less than a tenth of the mean")
    return said


def _mega(value: float) -> str:
    return significant(value / 1e6, 3)


def _seconds(value: float) -> str:
    return "∞" if math.isinf(value) else significant(value, 3)
