"""What `varicap design packet` found, for the terminal."""

from typing import TYPE_CHECKING

from rich.table import Table

from varicap.questions.packet.solve import Design
from varicap.questions.radio.report import ANALYSIS_ALONE, mega, simulated
from varicap.report.table import significant, titled

if TYPE_CHECKING:
    pass


def tables(design: Design) -> list[Table]:
    """The lengths of frames, the best first."""
    headings = ["frame [B]", "header [B]", "frames per packet", "slot [ms]", "received [%]", "throughput [Mb/s]"]
    table = titled(
        f"Frames of a wireless link with ARQ, by analysis: a buffer of {design.buffer_packets} packets", headings
    )
    for number, frame in enumerate(design.frames):
        table.add_row(
            f"{frame.payload_bytes:g}",
            f"{frame.header_bytes:g}",
            str(frame.segments),
            significant(frame.slot_s * 1e3, 3),
            significant(100 * frame.received, 3),
            mega(frame.throughput_bps),
            style="bold" if number == 0 else "",
        )
    return [table]


def conclusion(design: Design) -> str:
    """The answer in words."""
    best, last = design.best, design.frames[-1]
    text = f"best: frames of {best.payload_bytes:g} B, {best.segments} to a packet, {mega(best.throughput_bps)} Mb/s"
    if last is not best:
        gain = 100 * (best.throughput_bps / last.throughput_bps - 1)
        text += f": {gain:.0f} % more than with {last.payload_bytes:g} B"
    lines = [text]
    for frame in design.frames:
        if frame.simulated:
            lines += [f"simulated with frames of {frame.payload_bytes:g} B:", *simulated(frame.simulated)]
    return "\n".join(lines if best.simulated else [*lines, ANALYSIS_ALONE])
