"""`varicap design`: the inverse questions, by name or of any scenario."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from varicap.cli.what_if import of_design as what_if
from varicap.design import QUESTIONS

_OF_A_FILE = "scenario"
"""The question that a file is asked, if none is named."""


class _Questions(TyperGroup):
    """The questions; what is no name of one is a file, and asks the general one."""

    fallback = _OF_A_FILE

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [_OF_A_FILE, *args]
        return super().parse_args(ctx, args)


commands = typer.Typer()
design = typer.Typer(
    cls=_Questions,
    no_args_is_help=True,
    help="The parameter that reaches a target, with the evidence: a question by name, or FILE and what may vary.",
)
for question in QUESTIONS:
    design.add_typer(import_module(f"varicap.cli.design.{question}").commands)
design.add_typer(what_if)
commands.add_typer(design, name="design")
