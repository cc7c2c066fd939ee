"""`varicap schema`, `columns` and `doctor`: what this varicap and this machine are."""

import json
import os
from typing import Any

import typer

from varicap import _core
from varicap.cli.common import AsJson

commands = typer.Typer()


@commands.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    typer.echo(_core.schema())


@commands.command()
def columns(as_json: AsJson = False) -> None:
    """List the columns of the result tables, with their units."""
    described = json.loads(_core.columns())
    if as_json:
        typer.echo(json.dumps(described, ensure_ascii=False))
        return
    tables = {name: value for name, value in described.items() if isinstance(value, list)}
    for kind, of_kind in tables.items():
        typer.echo(f"{kind}:")
        for column in of_kind:
            typer.echo(f"  {column['name']:<28} {'[' + column['unit'] + ']':<12} {column['description']}")


@commands.command()
def doctor(as_json: AsJson = False) -> None:
    """Say what this machine has for varicap."""
    from varicap.results import host, software

    found: dict[str, Any] = {
        "software": software(),
        "host": host(),
        "cores": os.cpu_count(),
        "engines": {"sim": True, "model": True, "kernel": False},
    }
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    for group in ("software", "host"):
        for key, value in found[group].items():
            typer.echo(f"{key:<14} {value}")
    typer.echo(f"{'cores':<14} {found['cores']}")
    typer.echo(f"{'engines':<14} sim, model (the kernel engine is not part of this version)")
