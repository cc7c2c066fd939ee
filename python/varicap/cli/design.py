"""`varicap design`: the inverse questions."""

from importlib import import_module

import typer

from varicap.questions import QUESTIONS

commands = typer.Typer()
design = typer.Typer(no_args_is_help=True, help="The parameter that reaches a target, with the evidence.")
for question in QUESTIONS:
    design.add_typer(import_module(f"varicap.questions.{question}.command").commands)
commands.add_typer(design, name="design")
