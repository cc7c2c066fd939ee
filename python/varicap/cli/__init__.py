"""The command line: arguments and printing, nothing else.

Results go to stdout, progress and messages to stderr, and progress only to a terminal.  Each module has a group of
commands.
"""

import sys
from typing import Annotated, NoReturn

import typer

import varicap._core as _core
from varicap.cli import bench, design, inspect, report, reproduce, run, shell, sweep, trace
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.terminal import MACHINE_LACKS, OK, RUN_FAILED, USAGE, fail

_EXIT_CODES = (
    "Exit codes: 0 ok, 1 a run failed, 2 usage or scenario error, 3 the machine or this version lacks something, "
    "4 fidelity breach under --strict, 130 interrupted."
)

app = typer.Typer(
    name="varicap",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A laboratory for TCP over links whose capacity changes in time.",
    epilog=_EXIT_CODES,
)
for group in (run, sweep, report, reproduce, design, trace, shell, bench, inspect):
    app.add_typer(group.commands)


def main() -> NoReturn:
    """The program `varicap`: runs a command and exits with its code."""
    try:
        app()
    except _core.ScenarioError as error:
        fail(str(error), USAGE)
    except NotApplicableError as error:
        fail(str(error), USAGE)
    except MachineLacksError as error:
        fail(str(error), MACHINE_LACKS)
    except _core.RunError as error:
        fail(f"the run failed: {error}", RUN_FAILED)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), RUN_FAILED)
    sys.exit(OK)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"varicap {_core.__version__}")
        raise typer.Exit(OK)


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
