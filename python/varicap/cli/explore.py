"""`varicap explore`: the laboratory in a browser."""

import contextlib
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

import varicap._core as _core
from varicap._files import read_scenario
from varicap.engines.scenarios import load
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

    page = laboratory.page()
    if file is not None:
        page = _opening(page, file)
    with laboratory.served(page, port) as address:
        echo(address)
        if not no_open:
            webbrowser.open(address)
        Event().wait()


def _opening(page: str, file: Path) -> str:
    """The page with the scenario of a file; one with mistakes shows them there."""
    from varicap.explore import with_scenario

    text, _ = read_scenario(file)
    traces = {}
    with contextlib.suppress(_core.ScenarioError):
        for name, path in load(file).trace_files():
            traces[name] = path.read_text(encoding="utf-8", errors="replace")
    return with_scenario(page, text, file.name, traces)
