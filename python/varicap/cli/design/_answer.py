"""How the commands of all inverse questions end: what they are asked is computed, and then said as data or in words."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer

from varicap.terminal import USAGE, fail, print_tables, progress_bar

if TYPE_CHECKING:
    from varicap.statistics import Progress


@contextmanager
def solving(question: str, quiet: bool) -> "Iterator[Progress | None]":
    """A progress bar while a question is answered; a `ValueError` is the user's mistake."""
    try:
        with progress_bar(f"design {question}", quiet) as progress:
            yield progress
    except ValueError as error:
        fail(str(error), USAGE)


def say(found: Any, report: ModuleType, as_json: bool, *, conclusion_first: bool = False) -> None:
    """Print what was found: one JSON object, or the tables of the question's `report` and its conclusion."""
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    if conclusion_first:
        typer.echo(report.conclusion(found))
    print_tables(report.tables(found))
    if not conclusion_first:
        typer.echo(report.conclusion(found))
