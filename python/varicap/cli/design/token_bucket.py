"""`varicap design token-bucket`."""

from typing import Annotated

import typer

from varicap import units
from varicap.cli.design._answer import say, solving
from varicap.terminal import AsJson, Jobs, Quiet, quantity

commands = typer.Typer()


@commands.command(
    "token-bucket",
    epilog="Examples: varicap design token-bucket '4 Mbit/s' --interval '20 ms' | varicap design token-bucket "
    "'4 Mbit/s' --depth '50 ms' --packet '1 kB' | varicap design token-bucket '1 Mbit/s' --buffer '100 kB' "
    "--connections 8",
)
def token_bucket(
    rate: Annotated[str, typer.Argument(help="Reserved rate of each connection, such as '4 Mbit/s'.")],
    interval: Annotated[
        str | None, typer.Option(help="The timer that there is, such as '20 ms'.", show_default="none")
    ] = None,
    depth: Annotated[
        str | None, typer.Option(help="The bucket that there is, '25 kB' or '50 ms'.", show_default="none")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--buffer", help="Room in routers for all buckets.", show_default="none")
    ] = None,
    packet: Annotated[str, typer.Option(help="Size of a packet with its headers.")] = "1500 B",
    connections: Annotated[int, typer.Option(min=1, max=1000, help="How many may burst at once.")] = 1,
    seeds: Annotated[int, typer.Option(min=0, max=1000, help="Replications of each simulation; 0: none.")] = 3,
    as_json: AsJson = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """From one of a timer's interval, a token bucket's depth and a buffer the two others, so that no token is lost.

    The evidence is simulated in this call: a sender that only its timer lets send, with the interval that was found and
    longer ones, and TCP with timed transmissions among best-effort flows.
    """
    from varicap.design.token_bucket import report
    from varicap.design.token_bucket.solve import token_bucket as design

    depth_s, depth_bytes = _depth(depth)
    with solving("token-bucket", quiet) as progress:
        found = design(
            quantity("RATE", units.bits_per_second, rate),
            packet_bytes=quantity("--packet", units.size, packet),
            connections=connections,
            interval_s=quantity("--interval", units.seconds, interval, None),
            depth_bytes=depth_bytes,
            depth_s=depth_s,
            buffer_bytes=quantity("--buffer", units.size, size, None),
            seeds=seeds,
            jobs=jobs,
            progress=progress,
        )
    say(found, report, as_json, conclusion_first=True)


def _depth(text: str | None) -> tuple[float | None, float | None]:
    """A depth in time [s] or in bytes."""
    if text is None:
        return None, None
    try:
        return units.seconds(text), None
    except ValueError:
        pass
    try:
        return None, units.size(text)
    except ValueError:
        raise typer.BadParameter(
            f'`{text}` is not a depth with its unit, such as "50 ms" or "25 kB"', param_hint="--depth"
        ) from None
