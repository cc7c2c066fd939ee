"""`varicap design`: the inverse questions, a module each."""

import typer

from varicap.cli.design import buffer, effcap, ered, lrl, packet, token_bucket

commands = typer.Typer()
design = typer.Typer(no_args_is_help=True, help="The parameter that reaches a target, with the evidence.")
for question in (effcap, buffer, packet, lrl, token_bucket, ered):
    design.add_typer(question.commands)
commands.add_typer(design, name="design")
