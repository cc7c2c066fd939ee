"""What `varicap design buffer` and `packet` found, for the terminal and as a figure."""

from collections.abc import Sequence
from math import expm1
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from varicap.design import buffer, packet
from varicap.design.confirm import Simulated
from varicap.report import style
from varicap.report.table import significant, with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHANNELS = {"markov": "the channel of the analysis", "fading": "the fading signal itself"}
_ANALYSIS_ALONE = "evidence: the analysis alone"


def buffer_table(design: buffer.Design) -> Table:
    """Buffers around the one in question, with what they allow and how often they overflow."""
    headings = ["buffer [packets]", "throughput [Mb/s]", "of the capacity [%]"]
    if design.target_bps is not None:
        headings.append(f"overflow at {_mega(design.target_bps)} Mb/s")
    table = _table("Wireless link with ARQ, by analysis: throughput of TCP against the buffer", headings)
    for point in design.curve:
        cells = [str(point.packets), _mega(point.throughput_bps), _percent(design, point.throughput_bps)]
        if point.overflow is not None:
            cells.append(f"{point.overflow:.2e}")
        is_asked = point.packets in (design.need and design.need.packets, design.buffer_packets)
        table.add_row(*cells, style="bold" if is_asked else "")
    return table


def buffer_conclusion(design: buffer.Design) -> str:
    """The answer in words."""
    lines = [f"no buffer exceeds {_mega(design.radio.most_bps)} Mb/s, 3/4 of what the channel lets through"]
    need = design.need
    if need is not None:
        of_frames = f" ({need.frames} frames)" if design.radio.segments > 1 else ""
        lines.append(
            f"{_mega(design.target_bps or 0.0)} Mb/s takes a buffer of {need.packets} packets{of_frames}: it overflows "
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
        lines.append(f"a buffer of {design.buffer_packets} packets allows {_mega(design.allowed_bps)} Mb/s")
    if design.admitted is not None:
        verdict = "can be admitted" if design.admitted else "is to be refused"
        lines.append(f"a connection that asks for {_mega(design.target_bps or 0.0)} Mb/s {verdict}")
    if design.simulated:
        lines += [f"simulated with {design.asked_packets} packets:", *_simulated(design.simulated)]
    else:
        lines.append(_ANALYSIS_ALONE)
    return "\n".join(lines)


def buffer_figure(design: buffer.Design) -> "Figure":
    """Throughput against the buffer, and the overflow at the target's load."""
    from matplotlib.figure import Figure

    panels = 1 if design.target_bps is None else 2
    figure = Figure(figsize=(4.6 * panels + 0.6, 3.8), dpi=120, layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
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
    figure.suptitle("Wireless link with ARQ", fontsize=10)
    return figure


def packet_table(design: packet.Design) -> Table:
    """The lengths of frames, the best first."""
    headings = ["frame [B]", "header [B]", "frames per packet", "slot [ms]", "received [%]", "throughput [Mb/s]"]
    table = _table(
        f"Frames of a wireless link with ARQ, by analysis: a buffer of {design.buffer_packets} packets", headings
    )
    for number, frame in enumerate(design.frames):
        table.add_row(
            f"{frame.payload_bytes:g}",
            f"{frame.header_bytes:g}",
            str(frame.segments),
            significant(frame.slot_s * 1e3, 3),
            significant(100 * frame.received, 3),
            _mega(frame.throughput_bps),
            style="bold" if number == 0 else "",
        )
    return table


def packet_conclusion(design: packet.Design) -> str:
    """The answer in words."""
    best, last = design.best, design.frames[-1]
    text = f"best: frames of {best.payload_bytes:g} B, {best.segments} to a packet, {_mega(best.throughput_bps)} Mb/s"
    if last is not best:
        gain = 100 * (best.throughput_bps / last.throughput_bps - 1)
        text += f": {gain:.0f} % more than with {last.payload_bytes:g} B"
    lines = [text]
    for frame in design.frames:
        if frame.simulated:
            lines += [f"simulated with frames of {frame.payload_bytes:g} B:", *_simulated(frame.simulated)]
    return "\n".join(lines if best.simulated else [*lines, _ANALYSIS_ALONE])


def _simulated(found: Sequence[Simulated]) -> list[str]:
    """A line for each channel."""
    lines = []
    for channel in dict.fromkeys(one.channel for one in found):
        rates = [
            f"{one.flow.capitalize()} "
            + with_interval(one.throughput_bps.mean, one.throughput_bps.lo, one.throughput_bps.hi, 1e-6)
            + " Mb/s"
            for one in found
            if one.channel == channel
        ]
        lines.append(f"  {_CHANNELS[channel]}: {', '.join(rates)}")
    return lines


def _table(title: str, headings: list[str]) -> Table:
    table = Table(title=Text(title), title_justify="left", title_style="bold", padding=(0, 0, 0, 1))
    for heading in headings:
        table.add_column(Text(heading), justify="right")
    return table


def _mega(rate_bps: float) -> str:
    return significant(rate_bps / 1e6, 3)


def _percent(design: buffer.Design, rate_bps: float) -> str:
    return significant(100 * rate_bps / design.radio.capacity_bps, 3)
