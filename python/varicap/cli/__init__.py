"""The command line: arguments and printing, nothing else.

Results go to stdout, progress and messages to stderr, and progress only to a terminal.  Each module has a group of
commands.
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import varicap._core as _core
from varicap import _interrupt
from varicap._blas import one_thread
from varicap._folders import FolderError
from varicap.cli._plain import convert_plainly
from varicap.errors import MachineLacksError, NotApplicableError, NotBuiltError
from varicap.terminal import MACHINE_LACKS, OK, RUN_FAILED, USAGE, fail, mistakes, say

if TYPE_CHECKING:
    app: typer.Typer
    """The program with all its commands."""

_EXIT_CODES = (
    "Exit codes: 0 ok, 1 a run failed, 2 usage or scenario error, 3 the machine or this version lacks something, "
    "4 fidelity breach under --strict, 130 interrupted."
)

GROUPS = {
    "new": {"new": "Write a short, commented scenario to begin with, and the trace that it needs."},
    "run": {
        "run": "Run a scenario and print what each flow got.",
        "compare": "Ask the three engines about one scenario: "
        "their answers side by side, and the differences in percent.",
        "replay": "Repeat a run from its manifest and say whether the tables are identical (exit code 1 if not).",
    },
    "explore": {"explore": "Open the laboratory in a browser: draw the capacity and see TCP answer. Ctrl-C ends it."},
    "sweep": {"sweep": "Run a scenario at many points; killed in the middle, the same command goes on where it was."},
    "report": {
        "report": "Write one HTML page: summary, the path, series that zoom, distributions or the charts of a sweep.",
        "plot": "Draw a figure for a paper or a talk: runs over time and together, or a study with intervals.",
        "table": "Print the tables of a folder, or the differences between its flows, for a terminal or a paper.",
        "export": "Write a run as iperf3's JSON, ns-3's FlowMonitor XML or the link log of Mahimahi.",
    },
    "reproduce": {
        "reproduce": "Measure again what the papers state: "
        "each claim with the paper's value, ours, its interval and a verdict."
    },
    "design": {
        "design": "The parameter that reaches a target, with the evidence: "
        "a question by name, or FILE and what may vary."
    },
    "trace": {"trace": "Capacity traces: described, converted, generated, drawn."},
    "dialogue": {
        "dialogue": "Play scripts in packetdrill's language against the simulated endpoints, "
        "and show the first difference."
    },
    "shell": {"shell": "Run any program behind the emulated link."},
    "kernel": {"kernel": "Linux kernels for simulated time: built from a package or a source tree, listed, removed."},
    "bench": {
        "bench": "Measure the engine: CPU time and instructions per delivered packet, packets per CPU second, memory."
    },
    "validate": {"validate": "How well the engines agree, measured anew."},
    "inspect": {
        "schema": "Print the JSON Schema of scenario files.",
        "check": "Report the mistakes of a scenario together, each with its line, and run nothing "
        "(exit code 2 if there is one).",
        "columns": "List the columns of the result tables, with their units.",
        "doctor": "Say what this machine has for varicap, and what to do about the rest.",
    },
}
"""The modules of this package in the order of the help, and the commands of each with what the help says of them."""


def program(word: str | None = None) -> typer.Typer:
    """The program: with the commands of one module if `word` is one of them, which spares the others' imports."""
    needed = [group for group, names in GROUPS.items() if word in names] or list(GROUPS)
    built = _empty()
    for group in needed:
        module = import_module(f"varicap.cli.{group}").commands
        _say_all(module, GROUPS[group])
        built.add_typer(module)
    return built


def _empty() -> typer.Typer:
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
    return built


def _list() -> typer.Typer:
    """The program for its own help and version, without the modules of its commands."""
    built = _empty()
    for names in GROUPS.values():
        for name, says in names.items():
            built.command(name, help=says, short_help=says)(_program)
    return built


def _say_all(commands: typer.Typer, says: dict[str, str] | None = None) -> None:
    """Let lists of commands have the whole of what each says first; without boxes they would cut it."""
    for command in commands.registered_commands:
        said = command.help or (command.callback.__doc__ if command.callback else "") or ""
        command.short_help = command.short_help or " ".join(said.strip().partition("\n\n")[0].split())
    for group in commands.registered_groups:
        group.short_help = (says or {}).get(str(group.name), group.short_help)
        if group.typer_instance is not None:
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
    convert_plainly()
    commands = _asked(sys.argv[1:])
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
    except FolderError as error:
        fail(str(error), USAGE)
    except NotBuiltError as error:
        fail(str(error), RUN_FAILED)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), RUN_FAILED)
    sys.exit(OK)


def _asked(words: list[str]) -> typer.Typer:
    """As much of the program as these words need; completion, which a shell asks for without words, needs all of it."""
    is_list = "_VARICAP_COMPLETE" not in os.environ and words[:1] in ([], ["-h"], ["--help"], ["--version"])
    return _list() if is_list else program(next(iter(words), None))


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
