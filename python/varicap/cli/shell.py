"""`varicap shell`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from varicap.cli.run import Clock
from varicap.engines.scenarios import load
from varicap.terminal import LARGEST_SEED, overrides

commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap shell examples/lte.toml | "
    "varicap shell examples/fixed.toml -- sh -c 'curl http://$VARICAP_OUTSIDE:8000/' | "
    "varicap shell --link up.trace down.trace --delay 20ms -- iperf3 -c 100.64.0.1 | "
    "varicap shell examples/lte.toml --clock simulated --server 'iperf3 -s' -- iperf3 -c 100.64.0.1 -R"
)
def shell(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE] [-- COMMAND…]",
            help="The scenario, unless --link or --delay says what the link is; the command (default: $SHELL).",
            show_default=False,
        ),
    ] = None,
    link: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="UP DOWN", help="A trace in Mahimahi's format or a rate, there and back.", show_default=False
        ),
    ] = None,
    delay: Annotated[str | None, typer.Option(help="Delay of each direction.", show_default="0 s")] = None,
    queue: Annotated[str, typer.Option(help="Limit of the buffers of --link, such as '100 packets'.")] = "unlimited",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a value of the scenario.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the links (default: what the scenario says).")
    ] = None,
    left: Annotated[
        bool, typer.Option("--left", help="The command is where the scenario's senders are, not its receivers.")
    ] = False,
    congestion: Annotated[
        str | None, typer.Option(help="Congestion control of both ends (default: the system's).")
    ] = None,
    meter: Annotated[
        bool, typer.Option(help="A live line on the terminal; in its title if the command is a shell.")
    ] = True,
    clock: Annotated[
        Clock, typer.Option(help="Real time, or that of a guest, a kernel that `varicap kernel build` made.")
    ] = Clock.real,
    kernel_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The kernel in simulated time.", show_default="the newest"),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="In simulated time: what runs at the other end, for /bin/sh.", show_default=False
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 if the link was not exact.")] = False,
) -> None:
    """Run any program behind the emulated link.

    VARICAP_OUTSIDE is the address of the network outside, where local services are reached; every other address is
    reached as well.  The scenario's flows do not run.  Exits with the code of the command.

    With --clock simulated it runs in a guest, and no time passes while anything computes: VARICAP_OUTSIDE is then the
    address of --server, and nothing else can be reached.
    """
    from varicap import shell as shells

    words = list(arguments or [])
    changes = overrides(set_ or [])
    if link is not None or delay is not None:
        up, down = link or ("unlimited", "unlimited")
        scenario = load(shells.between(up, down, delay=delay or "0 s", queue=queue), changes)
    elif words:
        scenario = load(Path(words.pop(0)), changes)
    else:
        raise typer.BadParameter("neither a scenario nor a link: give a FILE, --link UP DOWN or --delay TIME")
    show: Literal["nowhere", "line", "title"] = "nowhere"
    if meter and sys.stderr.isatty():
        show = "line" if words else "title"
    is_simulated = clock is Clock.simulated or kernel_name is not None
    if is_simulated and not words:
        raise typer.BadParameter("in simulated time nobody can type: give a command", param_hint="COMMAND")
    if server is not None and not is_simulated:
        raise typer.BadParameter("is for --clock simulated: in real time start it outside", param_hint="--server")
    code = shells.run(
        scenario,
        words,
        seed=seed,
        at_left=left,
        congestion=congestion,
        show=show,
        strict=strict,
        clock="simulated" if is_simulated else "real",
        kernel_name=kernel_name,
        server=server,
    )
    raise typer.Exit(code)
