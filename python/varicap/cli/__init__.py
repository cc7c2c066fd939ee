"""The command line: arguments and printing, nothing else.

Results go to stdout, progress and messages to stderr, and progress only to a terminal.  Each module has a group of
commands.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import varicap._core as _core
from varicap import _interrupt
from varicap._blas import one_thread
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.terminal import MACHINE_LACKS, OK, RUN_FAILED, USAGE, fail, mistakes, say

if TYPE_CHECKING:
    app: typer.Typer
    """The program with all its commands."""

_EXIT_CODES = (
    "Exit codes: 0 ok, 1 a run failed, 2 usage or scenario error, 3 the machine or this version lacks something, "
    "4 fidelity breach under --strict, 130 interrupted."
)

GROUPS = {
    "new": ("new",),
    "run": ("run", "compare", "replay"),
    "explore": ("explore",),
    "sweep": ("sweep",),
    "report": ("report", "plot", "table", "export"),
    "reproduce": ("reproduce",),
    "design": ("design",),
    "trace": ("trace",),
    "dialogue": ("dialogue",),
    "shell": ("shell",),
    "bench": ("bench",),
    "validate": ("validate",),
    "inspect": ("check", "schema", "columns", "doctor"),
}
"""The modules of this package in the order of the help, and the commands that each has."""


def program(word: str | None = None) -> typer.Typer:
    """The program: with the commands of one module if `word` is one of them, which spares the others' imports."""
    built = typer.Typer(
        name="varicap",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="A laboratory for TCP over links whose capacity changes in time.",
        epilog=_EXIT_CODES,
    )
    built.callback()(_program)
    needed = [group for group, names in GROUPS.items() if word in names] or list(GROUPS)
    for group in needed:
        built.add_typer(import_module(f"varicap.cli.{group}").commands)
    return built


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return program()


def main() -> NoReturn:
    """The program `varicap`: runs a command and exits with its code."""
    one_thread()
    try:
        _run()
    except BaseException:
        # Whatever a library made of the exception.
        if _interrupt.asked():
            _interrupt.leave()
        raise


def _run() -> NoReturn:
    commands = program(next(iter(sys.argv[1:]), None))
    _interrupt.begin()
    try:
        commands()
    except _core.ScenarioError as error:
        fail(mistakes(error), USAGE)
    except NotApplicableError as error:
        *reasons, last = str(error).splitlines()
        for reason in reasons:
            say(reason)
        fail(last, USAGE)
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


def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
