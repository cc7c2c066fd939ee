"""`varicap design packet`."""

from enum import StrEnum
from typing import Annotated

import typer

from varicap import units
from varicap.cli.design import _radio as options
from varicap.cli.design._answer import say, solving
from varicap.terminal import AsJson, Jobs, quantity

commands = typer.Typer()


class ErrorOf(StrEnum):
    """What the error probability is of."""

    frame = "frame"
    packet = "packet"


@commands.command(
    epilog="Examples: varicap design packet --doppler '100 Hz' | varicap design packet --doppler '10 Hz' "
    "--frame '576 B' --frame '48 B' --buffer '16 packets' | varicap design packet --doppler '30 Hz' --error '10 %' "
    "--error-of packet"
)
def packet(
    doppler: options.Doppler = None,
    level: options.Level = -10.0,
    states: options.States = 2,
    good: options.Good = None,
    bad: options.Bad = None,
    channel: options.File = None,
    error: options.Error = None,
    error_of: Annotated[
        ErrorOf, typer.Option(help="The error is of any frame, or of a whole packet: short frames then have less.")
    ] = ErrorOf.frame,
    frame: Annotated[
        list[str] | None,
        typer.Option(help="What a frame carries; may be given again.", show_default="1/1 to 1/24 of a packet"),
    ] = None,
    header: Annotated[str, typer.Option(help="What a frame adds if it carries less than a packet.")] = "5 B",
    size: Annotated[str, typer.Option("--buffer", help="Buffer of the link.")] = "8 packets",
    capacity: options.Capacity = "1 Mbit/s",
    rtt: options.RoundTrip = "400 ms",
    packet: options.Packet = "576 B",
    tolerate: options.Tolerate = None,
    simulate: options.Simulate = True,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Compare lengths of frames on a wireless link with ARQ: long ones meet more fades, short ones pay more headers."""
    from varicap.design.packet import report
    from varicap.design.packet.solve import packet as design
    from varicap.design.radio.link import Radio

    with solving("packet", quiet=True):
        described = options.ChannelOptions(
            doppler=doppler, level=level, states=states, good=good, bad=bad, file=channel, error=error
        )
        link = Radio(
            channel=described.read(),
            signal=described.signal(),
            capacity_bps=quantity("--capacity", units.bits_per_second, capacity),
            round_trip_s=quantity("--rtt", units.seconds, rtt),
            packet_bytes=quantity("--packet", units.size, packet),
            tolerated_loss=quantity("--tolerate", units.share, tolerate, None),
        )
        found = design(
            link,
            payloads=[quantity("--frame", units.size, one) for one in frame] if frame else None,
            header_bytes=quantity("--header", units.size, header),
            buffer_packets=options.packets("--buffer", size, link.packet_bytes),
            error_of=error_of.value,
            simulate=simulate,
            jobs=jobs,
        )
    say(found, report, as_json)
