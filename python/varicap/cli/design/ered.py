"""`varicap design ered`."""

from typing import Annotated

import typer

from varicap import units
from varicap.cli.design._answer import say, solving
from varicap.terminal import AsJson, Jobs, Quiet, one_of, quantity

commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap design ered --capacity '10 Mbit/s' --buffer '100 kB' --max '80 kB' | varicap design ered "
    "--peak '6 Mbit/s' --peak '8 Mbit/s' | varicap design ered --rate '1 Mbit/s' --loss '0.1 %'"
)
def ered(
    capacity: Annotated[str, typer.Option(help="Capacity of the link.")] = "10 Mbit/s",
    size: Annotated[str, typer.Option("--buffer", help="Limit of the queue.")] = "100 kB",
    low: Annotated[str, typer.Option("--min", help="Average at which drops of unmarked packets begin.")] = "20 kB",
    high: Annotated[str, typer.Option("--max", help="Average from which on all of them are dropped.")] = "80 kB",
    packet: Annotated[str, typer.Option(help="Size of a packet with its headers.")] = "1 kB",
    peak: Annotated[
        list[str] | None,
        typer.Option(help="Peak rate of a reservation to be checked; may be given again.", show_default="none"),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="Mean rate of reservations to be admitted by simulation.", show_default="none")
    ] = None,
    loss: Annotated[str, typer.Option(help="Loss of marked packets that is allowed then.")] = "0.1 %",
    depth: Annotated[str, typer.Option(help="Token bucket of each, in time at its rate.")] = "50 ms",
    access: Annotated[
        str | None, typer.Option(help="Link of each source: its peak rate.", show_default="4.5 x capacity")
    ] = None,
    best_effort: Annotated[int, typer.Option(min=0, max=1000, help="Flows without a reservation beside them.")] = 3,
    recovery: Annotated[str, typer.Option(help="Recovery of the senders.")] = "sack",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Replications of each simulation.")] = 5,
    as_json: AsJson = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """What reservations an ERED queue carries: by the inequality of the worst case, and by simulation.

    --rate asks how many reservations of that rate keep the loss of marked packets below --loss; senders have timed
    transmissions and rate adaptive windows, and every number is simulated in this call.
    """
    from varicap.design.ered import report
    from varicap.design.ered import solve as design

    rate_bps = quantity("--capacity", units.bits_per_second, capacity)
    reserved = quantity("--rate", units.bits_per_second, rate, None)
    depth_s = quantity("--depth", units.seconds, depth)
    with solving("ered", quiet) as progress:
        queue = design.Queue(
            rate_bps=rate_bps,
            buffer_bytes=quantity("--buffer", units.size, size),
            min_bytes=quantity("--min", units.size, low),
            max_bytes=quantity("--max", units.size, high),
            packet_bytes=quantity("--packet", units.size, packet),
        )
        asked = reserved and design.Candidates(
            rate_bps=reserved,
            bucket_bytes=reserved * depth_s / 8,
            access_bps=quantity("--access", units.bits_per_second, access, 4.5 * rate_bps),
            best_effort=best_effort,
            recovery=one_of("recovery", recovery, ["tahoe", "reno", "newreno", "sack"]),
        )
        found = design.ered(
            queue,
            peaks_bps=[quantity("--peak", units.bits_per_second, one) for one in peak or ()],
            candidates=asked or None,
            target=quantity("--loss", units.share, loss),
            seeds=seeds,
            jobs=jobs,
            progress=progress,
        )
    say(found, report, as_json, conclusion_first=True)
