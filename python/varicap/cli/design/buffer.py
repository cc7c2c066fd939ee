"""`varicap design buffer`."""

from pathlib import Path
from typing import Annotated

import typer

from varicap import units
from varicap.cli.design import _radio as options
from varicap.cli.design._answer import say, solving
from varicap.terminal import AsJson, Jobs, Quiet, check_folder, draw, quantity, say_nothing
from varicap.terminal import say as tell

commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap design buffer --doppler '10 Hz' --target '0.4 Mbit/s' | varicap design buffer "
    "--good '100 ms' --bad '10 ms' --buffer '16 packets' | varicap design buffer --doppler '30 Hz' --target '30 %' "
    "--buffer '8 packets' --frame '48 B' --header '5 B'"
)
def buffer(
    target: Annotated[
        str | None,
        typer.Option(
            help="Throughput to reach, a rate or a share of the capacity; what TCP packets count.", show_default="none"
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--buffer", help="The buffer that is there, such as '8 packets' or '120 frames'.", show_default="none"
        ),
    ] = None,
    doppler: options.Doppler = None,
    level: options.Level = -10.0,
    states: options.States = 2,
    good: options.Good = None,
    bad: options.Bad = None,
    channel: options.File = None,
    error: options.Error = None,
    capacity: options.Capacity = "1 Mbit/s",
    rtt: options.RoundTrip = "400 ms",
    packet: options.Packet = "576 B",
    frame: Annotated[
        str | None, typer.Option(help="What a frame of the link carries of a packet.", show_default="all of it")
    ] = None,
    header: Annotated[str, typer.Option(help="What a frame adds.")] = "0 B",
    tolerate: options.Tolerate = None,
    simulate: options.Simulate = True,
    jobs: Jobs = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the plot.")] = Path(
        "varicap-out/design-buffer"
    ),
    plot: Annotated[
        bool | None, typer.Option("--plot/--no-plot", help="Draw throughput and overflow (default: unless --json).")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """The least buffer of a wireless link with ARQ for a target throughput, or the throughput that a buffer allows.

    With both it says whether a connection that asks for the target can be admitted.  The analysis proposes a buffer;
    Tahoe and Reno are then simulated with larger ones, too, until both reach the target.
    """
    from varicap.design.buffer import report
    from varicap.design.buffer.solve import buffer as design
    from varicap.design.radio.link import Radio

    drawn = plot if plot is not None else not as_json
    if drawn:
        check_folder(output)
    with solving("buffer", quiet) as progress:
        described = options.ChannelOptions(
            doppler=doppler, level=level, states=states, good=good, bad=bad, file=channel, error=error
        )
        link = Radio(
            channel=described.read(),
            signal=described.signal(),
            capacity_bps=quantity("--capacity", units.bits_per_second, capacity),
            round_trip_s=quantity("--rtt", units.seconds, rtt),
            packet_bytes=quantity("--packet", units.size, packet),
            payload_bytes=quantity("--frame", units.size, frame, None),
            header_bytes=quantity("--header", units.size, header),
            tolerated_loss=quantity("--tolerate", units.share, tolerate, None),
        )
        packets = None if size is None else options.packets("--buffer", size, link.packet_bytes, link.segments)
        found = design(
            link,
            target_bps=None if target is None else _target(target, link.capacity_bps),
            buffer_packets=packets,
            simulate=simulate,
            jobs=jobs,
            progress=progress,
        )
    say(found, report, as_json)
    if drawn:
        draw(lambda: report.figure(found), output / "buffer.png", say_nothing if quiet else tell)


def _target(text: str, capacity_bps: float) -> float:
    """A rate [b/s], or a share of the capacity."""
    if text.strip().endswith("%"):
        return quantity("--target", units.share, text) * capacity_bps
    return quantity("--target", units.bits_per_second, text)
