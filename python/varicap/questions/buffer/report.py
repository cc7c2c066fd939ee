"""What `varicap design buffer` found, for the terminal and as a figure."""

from math import expm1
from typing import TYPE_CHECKING

from rich.table import Table

from varicap.questions.buffer.solve import Design
from varicap.questions.radio.report import ANALYSIS_ALONE, mega, simulated
from varicap.report import style
from varicap.report.table import significant, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def tables(design: Design) -> list[Table]:
    """Buffers around the one in question, with what they allow and how often they overflow."""
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
    return [table]


def conclusion(design: Design) -> str:
    """The answer in words."""
    lines = [f"no buffer exceeds {mega(design.radio.most_bps)} Mb/s, 3/4 of what the channel lets through"]
    need = design.need
    if need is not None:
        of_frames = f" ({need.frames} frames)" if design.radio.segments > 1 else ""
        lines.append(
            f"{mega(design.target_bps or 0.0)} Mb/s takes a buffer of {need.packets} packets{of_frames}: it overflows "
            f"with {need.overflow:.2e}, TCP bears {need.tolerated:.2e} (W = {need.pipe_packets:.3g} packets)"
        )
        if need.is_double_slow_start:
            lines.append("that is below W / 3: Tahoe's slow start after a loss overflows it again")
        less = -100 * expm1(-need.decay)
        lines.append(
            f"each frame more takes {less:.3g} % off the overflow: asymptotically (2 / beta) log W, here "
            f"{need.asymptotic_frames:.3g} frames"
        )
    if design.allowed_bps is not None:
        lines.append(f"a buffer of {design.buffer_packets} packets allows {mega(design.allowed_bps)} Mb/s")
    if design.admitted is not None:
        verdict = "can be admitted" if design.admitted else "is to be refused"
        lines.append(f"a connection that asks for {mega(design.target_bps or 0.0)} Mb/s {verdict}")
    if design.simulated:
        lines += [f"simulated with {design.asked_packets} packets:", *simulated(design.simulated)]
    else:
        lines.append(ANALYSIS_ALONE)
    return "\n".join(lines)


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
            one.axvline(design.need.packets, color=style.CAPACITY, linewidth=1.5, zorder=0, label="least buffer")
        one.legend(fontsize=7, frameon=False)
    drawn.suptitle("Wireless link with ARQ", fontsize=10)
    return drawn


def _percent(design: Design, rate_bps: float) -> str:
    return significant(100 * rate_bps / design.radio.capacity_bps, 3)
