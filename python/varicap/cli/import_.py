"""`varicap import`: an experiment of another program as a scenario."""

from pathlib import Path
from typing import Annotated

import typer

from varicap import importers
from varicap._files import fault_of_output, write_whole
from varicap._folders import FolderError
from varicap.terminal import USAGE, Quiet, echo, fail, say

commands = typer.Typer()


@commands.command(
    "import",
    epilog="Examples: varicap import shaping.sh | varicap import topo.py --set bw=10 -o topo.toml && "
    "varicap run topo.toml | echo 'mm-delay 40 mm-link up down' | varicap import -",
)
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file; - is stdin.", show_default=False)],
    form: Annotated[
        str | None,
        typer.Option("--from", metavar="FORM", help=f"What it is, if not by content: {', '.join(importers.FORMS)}."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="The value of a name that the file gets from outside, such as a parameter; repeatable.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write (default: stdout).", show_default=False)
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Turn an experiment of tc, Mininet, ns-2, Mahimahi, Kollaps or picoquic_ns into a commented scenario."""
    if form is not None and form not in importers.FORMS:
        fail(f"--from {form}: is none of {', '.join(importers.FORMS)}", USAGE)
    values = {}
    for each in given or []:
        name, has_value, value = each.partition("=")
        if not has_value or not name:
            fail(f"--set {each}: is not NAME=VALUE", USAGE)
        values[name] = value
    if output is not None and (fault := fault_of_output(output)):
        fail(f"-o {output}: {fault}", USAGE)
    try:
        text = importers.import_file(file, form, values)
        if output is None:
            echo(text.rstrip("\n"))
            return
        write_whole(output, text)
    except (importers.ImportedError, FolderError) as error:
        fail(str(error), USAGE)
    if not quiet:
        left_out = text.count(" — ")
        rest = f", {left_out} lines of {file} are not expressed, as its head says" if left_out else ""
        say(f"wrote {output}{rest}; varicap run {output} runs it")
