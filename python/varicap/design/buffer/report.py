"""What `varicap design buffer` found, for the terminal and as a figure."""

from math import expm1
from typing import TYPE_CHECKING

from rich.table import Table

from varicap.design.buffer.search import Trial, least, nearest
from varicap.design.buffer.solve import Design
from varicap.design.radio.confirm import FLOWS, Simulated
from varicap.design.radio.report import ANALYSIS_ALONE, CHANNELS, mega
from varicap.report import style
from varicap.report.table import significant, titled, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_SHORT = {"markov": "Markov", "fading": "fading"}


def tables(design: Design) -> list[Table]:
    """Buffers around the one in question, by analysis; those that were simulated, against what was asked."""
    headings = ["buffer [packets]", "throughput [Mb/s]", "of the capacity [%]"]
    if design.target_bps is not None:
        headings.append(f"overflow at {mega(design.target_bps)} Mb/s")
    table = titled("Wireless link with ARQ, by analysis: throughput of TCP against the buffer", headings)
    for point in design.curve:
        cells = [str(point.packets), mega(point.throughput_bps), _percent(design, point.throughput_bps)]
        if point.overflow is not None:
            cells.append(f"{point.overflow:.2e}")
        is_asked = point.packets in (design.need and design.need.packets, design.buffer_packets)
        table.add_row(*cells, style="bold" if is_asked else "")
    trials = list(design.trials)
    if design.given is not None and design.given.packets not in [trial.packets for trial in trials]:
        trials = sorted([*trials, design.given], key=lambda trial: trial.packets)
    return [table, _simulated(design, trials)] if trials else [table]


def _simulated(design: Design, trials: list[Trial]) -> Table:
    """A row for each buffer, a column for each TCP and channel."""
    cases = [f"{one.flow.capitalize()} ({_SHORT[one.channel]})" for one in trials[0].simulated]
    table = titled(
        f"The same by simulation: throughput [Mb/s] ± 95 % interval, against {mega(trials[0].bounds.low)} Mb/s",
        ["buffer [packets]", "runs", *cases, "verdict"],
        left=["verdict"],
    )
    for trial in trials:
        is_best = design.best is not None and trial.packets == design.best.packets
        rates = [_rate(one) for one in trial.simulated]
        runs = max(one.runs for one in trial.simulated)
        table.add_row(str(trial.packets), str(runs), *rates, trial.verdict(), style="bold" if is_best else "")
    return table


def _rate(one: Simulated) -> str:
    return with_interval(one.throughput_bps.mean, one.throughput_bps.lo, one.throughput_bps.hi, 1e-6)


def conclusion(design: Design) -> str:
    """The answer in words."""
    lines = [f"no buffer exceeds {mega(design.radio.most_bps)} Mb/s, 3/4 of what the channel lets through"]
    need = design.need
    if need is not None:
        of_frames = f" ({need.frames} frames)" if design.radio.segments > 1 else ""
        lines.append(
            f"by analysis {mega(design.target_bps or 0.0)} Mb/s takes a buffer of {need.packets} packets{of_frames}: "
            f"it overflows with {need.overflow:.2e}, TCP bears {need.tolerated:.2e} "
            f"(W = {need.pipe_packets:.3g} packets)"
        )
        if need.is_double_slow_start:
            lines.append("that is below W / 3: Tahoe's slow start after a loss overflows it again")
        less = -100 * expm1(-need.decay)
        lines.append(
            f"each frame more takes {less:.3g} % off the overflow: asymptotically (2 / beta) log W, here "
            f"{need.asymptotic_frames:.3g} frames"
        )
    if design.allowed_bps is not None:
        lines.append(f"by analysis a buffer of {design.buffer_packets} packets allows {mega(design.allowed_bps)} Mb/s")
    if design.trials:
        lines.append(f"verdict: {_found(design)}")
    if design.given is not None:
        lines.append(f"verdict: {_promise(design, design.given)}")
    elif design.is_enough is not None:
        answer = "can be admitted" if design.is_enough else "is to be refused"
        lines.append(f"by analysis a connection that asks for {mega(design.target_bps or 0.0)} Mb/s {answer}")
    if design.verdict is None:
        lines.append(ANALYSIS_ALONE)
    return "\n".join(lines)


def _found(design: Design) -> str:
    """What the simulations say of the target."""
    target, trials = f"{mega(design.target_bps or 0.0)} Mb/s", design.trials
    if design.best is None:
        near = nearest(trials)
        slowest = min(near.simulated, key=lambda one: one.throughput_bps.mean)
        return (
            f"no buffer up to {trials[-1].packets} packets reaches {target} in simulations of Tahoe and Reno; nearest: "
            f"{near.packets} packets, with which {slowest.flow.capitalize()} gets {_rate(slowest)} Mb/s on "
            f"{CHANNELS[slowest.channel]}"
        )
    text = f"take {design.best.packets} packets: {target} or more in simulations of Tahoe and of Reno"
    sizes = {flow: least(trials, flow) for flow in FLOWS}
    if len({one.packets for one in sizes.values() if one}) > 1:
        each = [f"{flow.capitalize()} alone reaches it with {one.packets}" for flow, one in sizes.items() if one]
        text += f" ({', '.join(each)})"
    if design.need is not None and design.need.packets < design.best.packets:
        text += f"; the analysis's {design.need.packets} are too few"
    return text


def _promise(design: Design, given: Trial) -> str:
    """What the simulations say of the buffer that is there."""
    words = {"meets": "reaches", "misses": "does not reach", "undecided": "may or may not reach"}
    each = [f"{flow.capitalize()} {words[given.verdict(flow)]} it" for flow in FLOWS]
    text = f"with {given.packets} packets {', '.join(each)}"
    if design.target_bps is None:
        return f"{text}, {mega(given.bounds.low)} Mb/s, in simulations"
    answer = {True: "can be admitted", False: "is to be refused", None: "can be neither promised nor refused"}
    return f"a connection that asks for {mega(design.target_bps)} Mb/s {answer[design.admitted]}: {text} in simulations"


def figure(design: Design) -> "Figure":
    """Throughput against the buffer, and the overflow at the target's load."""
    from matplotlib.figure import Figure

    panels = 1 if design.target_bps is None else 2
    drawn = Figure(figsize=(4.6 * panels + 0.6, 3.8), dpi=120, layout="constrained")
    axes = drawn.subplots(1, panels, squeeze=False)[0]
    sizes = [point.packets for point in design.curve]
    colour = style.engine("model")
    axes[0].plot(sizes, [point.throughput_bps / 1e6 for point in design.curve], ".-", color=colour, label="by analysis")
    axes[0].axhline(
        design.radio.most_bps / 1e6, color=style.QUEUE, linewidth=0.8, linestyle=":", label="no buffer exceeds"
    )
    if design.target_bps is not None:
        axes[0].axhline(design.target_bps / 1e6, color=style.colour(1), linewidth=0.8, linestyle="--", label="target")
    _draw_simulated(axes[0], design)
    axes[0].set_ylabel("throughput of TCP [Mb/s]", fontsize=9)
    axes[0].set_ylim(bottom=0)
    if design.need is not None:
        axes[1].semilogy(sizes, [point.overflow or 0.0 for point in design.curve], ".-", color=colour, label="overflow")
        axes[1].axhline(design.need.tolerated, color=style.colour(1), linewidth=0.8, linestyle="--", label="TCP bears")
        axes[1].set_ylabel("probability that a packet finds no room", fontsize=9)
    for one in axes:
        style.plain(one)
        one.set_xlabel("buffer [packets]", fontsize=9)
        if design.need is not None:
            one.axvline(design.need.packets, color=style.CAPACITY, linewidth=1.5, zorder=0, label="least by analysis")
        if design.best is not None:
            least_packets = design.best.packets
            one.axvline(least_packets, color=style.colour(3), linewidth=0.8, zorder=0, label="least by simulation")
        one.legend(fontsize=7, frameon=False)
    drawn.suptitle("Wireless link with ARQ", fontsize=10)
    return drawn


def _draw_simulated(axes: "Axes", design: Design) -> None:
    """What each TCP got on the last of the channels, the one closest to the signal, with intervals."""
    trials = [*design.trials, *([design.given] if design.given else [])]
    for number, flow in enumerate(FLOWS):
        for trial in trials:
            one = [each for each in trial.simulated if each.flow == flow][-1]
            rate = one.throughput_bps
            half = (rate.hi - rate.mean) / 1e6 if rate.hi is not None else 0.0
            axes.errorbar(
                trial.packets + 0.15 * number,
                rate.mean / 1e6,
                half,
                fmt="os"[number],
                markersize=3,
                capsize=2,
                linewidth=0.8,
                color=style.colour((0, 3)[number]),
                label=f"{flow.capitalize()}, simulated ({_SHORT[one.channel]})" if trial is trials[0] else None,
            )


def _percent(design: Design, rate_bps: float) -> str:
    return significant(100 * rate_bps / design.radio.capacity_bps, 3)
