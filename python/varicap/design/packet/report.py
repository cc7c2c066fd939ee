"""What `varicap design packet` found, for the terminal."""

from rich.table import Table

from varicap.design.packet.solve import Design
from varicap.design.radio.report import ANALYSIS_ALONE, mega, simulated
from varicap.report.table import significant, titled, with_interval


def tables(design: Design) -> list[Table]:
    """The lengths of frames, the best first."""
    headings = ["frame [B]", "header [B]", "frames per packet", "slot [ms]", "received [%]", "throughput [Mb/s]"]
    table = titled(
        f"Frames of a wireless link with ARQ, by analysis: a buffer of {design.buffer_packets} packets", headings
    )
    for frame in design.frames:
        table.add_row(
            f"{frame.payload_bytes:g}",
            f"{frame.header_bytes:g}",
            str(frame.segments),
            significant(frame.slot_s * 1e3, 3),
            significant(100 * frame.received, 3),
            mega(frame.throughput_bps),
            style="bold" if frame is design.best else "",
        )
    return [table]


def conclusion(design: Design) -> str:
    """The answer in words."""
    best, last = design.best, design.frames[-1]
    text = f"by analysis: frames of {design.frames[0].payload_bytes:g} B, {design.frames[0].segments} to a packet, "
    text += f"{mega(design.frames[0].throughput_bps)} Mb/s"
    if last is not design.frames[0]:
        gain = 100 * (design.frames[0].throughput_bps / last.throughput_bps - 1)
        text += f": {gain:.0f} % more than with {last.payload_bytes:g} B"
    lines = [text]
    if design.alike:
        lines.append(f"within 2 % of them: {', '.join(f'{one.payload_bytes:g}' for one in design.alike)} B")
    if design.at_edge:
        lines.append("the shortest frames are the best: even shorter ones may be better")
    for frame in design.frames:
        if frame.simulated:
            lines += [f"simulated with frames of {frame.payload_bytes:g} B:", *simulated(frame.simulated)]
    verdict = design.verdict(best)
    if verdict is None:
        return "\n".join(lines if best.simulated else [*lines, ANALYSIS_ALONE])
    gains = ", ".join(with_interval(gain.mean, gain.lo, gain.hi) for gain in design.gains(best))
    if verdict == "meets":
        found = f"take frames of {best.payload_bytes:g} B: more than with {last.payload_bytes:g} B in every simulation"
    else:
        found = f"none beats frames of {last.payload_bytes:g} B in every simulation; nearest: {best.payload_bytes:g} B"
    return "\n".join([*lines, f"verdict: {found} ({gains} %)"])
