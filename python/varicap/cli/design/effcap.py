"""`varicap design effcap`."""

from typing import Annotated

import typer

from varicap import units
from varicap.cli.design._answer import say, solving
from varicap.terminal import LARGEST_SEED, MOST_RUNS, AsJson, Jobs, Quiet, quantity

commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap design effcap --psi 5 | varicap design effcap --delay '50 ms' --interval '10 ms' "
    "--mean-time '200 ms' --rate '20 Mbit/s' --low '5 Mbit/s' --packet '1500 B' --buffer '0.5 bdp' --recovery sack"
)
def effcap(
    delay: Annotated[str, typer.Option(help="Round trip propagation delay, Delta.")] = "200 ms",
    interval: Annotated[str, typer.Option(help="Measurement interval s: one sample, one advertised rate.")] = "30 ms",
    psi: Annotated[
        float | None, typer.Option(help="Mean time of the capacity in a state, in round trips.", show_default="unknown")
    ] = None,
    mean_time: Annotated[
        str | None, typer.Option(help="The same as a time, such as '1 s'.", show_default="unknown")
    ] = None,
    rate: Annotated[str, typer.Option(help="Capacity in the high state.")] = "0.8 Mbit/s",
    low: Annotated[str | None, typer.Option(help="Capacity in the low state.", show_default="half of it")] = None,
    packet: Annotated[str, typer.Option(help="Size of a packet.")] = "500 B",
    buffer: Annotated[str, typer.Option(help="Buffer of the link: packets, bytes or bdp.")] = "10 packets",
    recovery: Annotated[str, typer.Option(help="TCP's recovery (the paper's: old-tahoe).")] = "old-tahoe",
    congestion: Annotated[str, typer.Option(help="TCP's congestion control.")] = "reno",
    cells: Annotated[bool, typer.Option(help="Whether rate control pays for the headers of ATM cells.")] = True,
    seeds: Annotated[int, typer.Option(min=2, max=MOST_RUNS, help="Replications of each simulation.")] = 6,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Base seed.")] = 1,
    duration: Annotated[
        str | None, typer.Option(help="Least simulated time of a replication.", show_default="1000 round trips")
    ] = None,
    as_json: AsJson = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Recommend EFFCAP's M and N, and show what they gain and cost over all rates of variation.

    The capacity has two states, for exponential times of the same mean.  Every number is simulated in this call; what a
    recommendation gains is measured again with other seeds.
    """
    from varicap.design.effcap import report
    from varicap.design.effcap import solve as design
    from varicap.design.effcap.path import Path

    delay_s = quantity("--delay", units.seconds, delay)
    if mean_time is not None:
        if psi is not None:
            raise typer.BadParameter("say --psi or --mean-time, not both", param_hint="--mean-time")
        psi = quantity("--mean-time", units.seconds, mean_time) / delay_s if delay_s else None
    high_bps = quantity("--rate", units.bits_per_second, rate)
    with solving("effcap", quiet) as progress:
        path = Path(
            delay_s=delay_s,
            interval_s=quantity("--interval", units.seconds, interval),
            high_bps=high_bps,
            low_bps=quantity("--low", units.bits_per_second, low, high_bps / 2),
            packet_bytes=int(quantity("--packet", units.size, packet)),
            buffer=buffer,
            recovery=recovery,
            congestion=congestion,
            cells=cells,
        )
        found = design.effcap(
            path,
            psi,
            seeds=seeds,
            seed=seed,
            duration_s=quantity("--duration", units.seconds, duration, None),
            jobs=jobs,
            progress=progress,
        )
    say(found, report, as_json)
