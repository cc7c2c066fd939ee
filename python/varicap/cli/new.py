"""`varicap new`: a scenario to begin with."""

import json
from pathlib import Path
from typing import Annotated

import typer

from varicap import templates
from varicap.terminal import USAGE, AsJson, Quiet, check_folder, echo, fail, say

commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap new --list | varicap new lte | varicap new web -o mine.toml && varicap run mine.toml"
)
def new(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The template.", show_default=False)] = None,
    is_list: Annotated[bool, typer.Option("--list", help="List the templates.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file (default: NAME.toml), or - for stdout.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a short, commented scenario to begin with, and the trace that it needs; `control` also writes a control.

    `varicap new control -o mine.toml` writes mine.toml, the congestion control mine.py, and its test test_mine.py.
    """
    if is_list or name is None:
        _list(as_json)
        return
    try:
        if output is not None and str(output) == "-":
            if as_json:
                fail("--json lists the files that are written, and -o - writes none", USAGE)
            echo(templates.text(name).rstrip())
            trace = templates.trace_name(name)
            if trace is not None and not quiet:
                say(f"the trace {trace}, which it needs, is not written; varicap new {name} writes both")
            return
        target = output or Path(f"{name}.toml")
        templates.text(name)
        if target.is_dir():
            fail(f"-o {target}: is a folder, not a file", USAGE)
        check_folder(target.parent)
        written = templates.new(name, target, force=force)
    except templates.TemplateError as error:
        fail(str(error), USAGE)
    if as_json:
        echo(json.dumps({"files": [str(path) for path in written]}, ensure_ascii=False))
    elif not quiet:
        brings = "".join(f" --plugin {path}" for path in written if path.suffix == ".py" and path.stem == target.stem)
        say(f"wrote {' and '.join(map(str, written))}; varicap run {written[0]}{brings} runs it")


def _list(as_json: bool) -> None:
    known = {name: templates.description(name) for name in templates.names()}
    if as_json:
        found = [{"name": name, "description": description} for name, description in known.items()]
        echo(json.dumps(found, ensure_ascii=False))
        return
    width = max(map(len, known))
    for name, description in known.items():
        echo(f"{name:<{width}}  {description}")
