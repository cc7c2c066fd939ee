"""`varicap explore`: the laboratory in a browser."""

from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from varicap.terminal import echo

commands = typer.Typer()


@commands.command(epilog="Examples: varicap explore | varicap explore examples/markov.toml | varicap explore --no-open")
def explore(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A scenario to begin with.", show_default=False)
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address, and open no browser.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine (default: any that is free).")] = 0,
) -> None:
    """Open the laboratory in a browser: draw the capacity and see TCP answer. Ctrl-C ends it.

    The page runs the simulator itself, with the same results as `varicap run`; it is served to this machine only, and
    asks for nothing else.
    """
    import webbrowser

    from varicap import explore as laboratory
    from varicap._blas import environment_of_the_user
    from varicap._files import UnreadableError
    from varicap.terminal import USAGE, fail

    page = laboratory.page()
    if file is not None:
        try:
            text, traces = laboratory.read(file)
        except UnreadableError as error:
            fail(f"{file}: {error}", USAGE)
        page = laboratory.with_scenario(page, text, file.name, traces)
    with laboratory.served(page, port) as address:
        echo(address)
        if not no_open:
            with environment_of_the_user():
                webbrowser.open(address)
        Event().wait()
