"""The page of the command line, from the program's own description of itself."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import typer.main
from generated import keep
from sphinx.application import Sphinx

from varicap.cli import app as program

HEAD = """\
# Commands

Results go to stdout, progress and messages to stderr. `varicap COMMAND --help` says what is here.

"""


def options(command: Any, context: typer.Context) -> Iterator[str]:
    """Arguments and options with their help."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and "--help" not in record[0]:
            yield f"`{record[0]}`\n: {record[1]}\n"


def epilog(text: str) -> str:
    """What follows the options: examples as a block, anything else as it is."""
    if examples := re.match("Examples?: (.*)", text):
        return "```sh\n" + "\n".join(examples[1].split(" | ")) + "\n```\n"
    return f"{text}\n"


def section(command: Any, path: str, level: int) -> Iterator[str]:
    """A command, and the commands below it."""
    if level > 1:
        yield f"{'#' * level} {path}\n"
    yield f"{(command.help or '').strip()}\n"
    below = getattr(command, "commands", {})
    if not below:
        yield from options(command, typer.Context(command, info_name=path))
    if command.epilog:
        yield epilog(command.epilog)
    for name, inner in below.items():
        yield from section(inner, f"{path} {name}", level + 1)


def page() -> str:
    """The whole page."""
    return HEAD + "\n".join(section(typer.main.get_command(program), "varicap", 1))


def write(app: Sphinx) -> None:
    """Write the page."""
    keep(Path(app.srcdir) / "reference/commands.md", page())


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
