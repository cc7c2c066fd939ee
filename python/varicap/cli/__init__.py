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
from varicap._folders import FolderError
from varicap.errors import MachineLacksError, NotApplicableError, NotBuiltError
from varicap.plugins import PluginError, told
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
    "import_": ("import",),
    "run": ("run", "compare", "replay"),
    "explore": ("explore",),
    "sweep": ("sweep",),
    "report": ("report", "plot", "table", "export"),
    "what_if": ("why",),
    "reproduce": ("reproduce",),
    "evaluate": ("evaluate",),
    "falsify": ("falsify",),
    "design": ("design",),
    "trace": ("trace",),
    "dialogue": ("dialogue",),
    "shell": ("shell",),
    "kernel": ("kernel",),
    "bench": ("bench",),
    "validate": ("validate",),
    "inspect": ("schema", "check", "columns", "doctor"),
}
"""The modules of this package in the order of the help, and the commands of each."""


def program(word: str | None = None) -> typer.Typer:
    """The program: with the commands of one module if `word` is one of them, which spares the others' imports."""
    needed = [group for group, names in GROUPS.items() if word in names] or list(GROUPS)
    built = typer.Typer(
        name="varicap",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # For terminals: loading what draws boxes takes longer than all else that the help needs.
        rich_markup_mode="rich" if sys.stdout is not None and sys.stdout.isatty() else None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="A laboratory for TCP over links whose capacity changes in time.",
        epilog=_EXIT_CODES,
    )
    built.callback()(_program)
    for group in needed:
        module = import_module(f"varicap.cli.{group}").commands
        _say_all(module)
        built.add_typer(module)
    return built


def _say_all(commands: typer.Typer) -> None:
    """Let lists of commands have the whole of what each says first; without boxes they would cut it."""
    for command in commands.registered_commands:
        said = command.help or (command.callback.__doc__ if command.callback else "") or ""
        command.short_help = command.short_help or " ".join(said.strip().partition("\n\n")[0].split())
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            group.short_help = group.short_help or group.typer_instance.info.help
            _say_all(group.typer_instance)


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
    # Completion, which a shell asks for without words, needs all of it.
    commands = program(next(iter(sys.argv[1:]), None))
    _interrupt.begin()
    try:
        commands(prog_name="varicap")
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
    except FolderError as error:
        fail(str(error), USAGE)
    except NotBuiltError as error:
        fail(str(error), RUN_FAILED)
    except PluginError as error:
        fail(str(error), USAGE)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), RUN_FAILED)
    except Exception as error:
        # The author of an extension wants to read where its exception was raised, not the calls that led there.
        if (said := told(error)) is None:
            raise
        fail(said, RUN_FAILED)
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
