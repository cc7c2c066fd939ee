"""What commands share at the terminal: exit codes, messages, progress, and the reading of arguments."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias, TypeVar, overload

import typer

import varicap._core as _core
from varicap import _interrupt
from varicap._files import fault_of_output, fault_of_place, write_whole
from varicap._folders import Folder
from varicap._names import unknown
from varicap._printable import printable
from varicap.errors import NothingDrawnError
from varicap.results.names import refuse_foreign

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.segment import Segment
    from rich.table import Table

Other = TypeVar("Other")

OK, RUN_FAILED, USAGE, MACHINE_LACKS, BREACH = 0, 1, 2, 3, 4

MOST_RUNS = 1_000_000
"""Most replications of a scenario."""
MOST_COUNTED = 2**32 - 1
"""Of what the engine counts."""
LARGEST_SEED = 2**64 - 1
MOST_JOBS = 65_536

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option("-j", "--jobs", min=1, max=MOST_JOBS, help="Cores (default: all).")
]
SetValue: TypeAlias = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a value of the scenario.")
]
MaxMemory: TypeAlias = Annotated[
    str, typer.Option("--max-memory", help="Refuse, or stop, runs that add more to the memory of the process.")
]
MaxTime: TypeAlias = Annotated[
    str, typer.Option("--max-time", help="Refuse, or stop, runs that take longer, all together.")
]
MaxTimeOfRun: TypeAlias = Annotated[str, typer.Option("--max-time", help="Refuse, or stop, a run that takes longer.")]
Plugins: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE.py",
        help="Run this Python file: it brings the controls, queues and policies that the scenario calls `custom`; "
        "may be given again.",
        show_default=False,
    ),
]
BaseSeed: TypeAlias = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=LARGEST_SEED, help="Base seed (default: the scenario's)."),
]
On: TypeAlias = Annotated[
    str | None, typer.Option("--on", help="Where to run: local:N processes or a Dask scheduler, tcp://HOST:PORT.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no messages.")]


_WIDEST = 1000
"""Of tables in a pipe, which nothing is to break [characters]."""

# Under which name each format keeps the program that made it.
_AUTHOR = {".pdf": "Creator", ".svg": "Creator", ".png": "Software"}


def say(message: str) -> None:
    """Print a message for people, to stderr."""
    typer.echo(f"varicap: {printable(message, lines=True)}", err=True)


def echo(text: str) -> None:
    """Print a line, or several, to stdout; what a terminal would obey is spelled out, in JSON as JSON has it."""
    typer.echo(printable(text, lines=True))


def say_nothing(_message: str) -> None:
    """`say` under --quiet."""


def fail(message: str, code: int) -> NoReturn:
    """Say why, and exit with `code`."""
    say(message)
    sys.exit(code)


def brought(files: Sequence[Path] | None) -> dict[str, Any]:
    """What the files of `--plugin` bring, as options of runs and studies."""
    if not files:
        return {}
    from varicap import plugins

    try:
        controls, queues = plugins.together(files)
    except plugins.PluginError as error:
        fail(str(error), USAGE)
    if not controls and not queues:
        fail(f"--plugin {files[0]}: it defines no class and no function", USAGE)
    return {"controls": controls, "queues": queues}


def in_own_folder(folder: Path, ask: Callable[[], Other], *, is_chosen: bool) -> Other:
    """What `ask` finds, in a folder where another study may be: unless the user chose that, the other gives way."""
    from varicap.results.pieces import AnotherError, free

    try:
        return ask()
    except AnotherError:
        if is_chosen:
            raise
    moved = free(folder)
    with Folder(folder.parent) as above:
        above.move(folder.name, moved.name)
    say(f"another study that was in {folder} is now in {moved}")
    return ask()


def tell(sentences: Iterable[str]) -> None:
    """Print what was found in words, as much of it as one reads below a table."""
    from varicap.report.story import at_the_prompt

    is_wide = not (sys.stdout.isatty() or "COLUMNS" in os.environ)  # into a pipe a line for each
    for sentence in at_the_prompt(sentences):
        for line in [sentence] if is_wide else wrap(sentence, console().width):
            echo(line)


@contextmanager
def study_errors() -> "Iterator[None]":
    """Say why a study cannot be kept, or where its workers are missing, and exit."""
    from varicap.study import StudyError, WorkersError

    try:
        yield
    except StudyError as error:
        fail(str(error), RUN_FAILED)
    except WorkersError as error:
        fail(str(error), MACHINE_LACKS)


def interrupted(message: str) -> None:
    """Say what Ctrl-C left; the program ends with its exit code and says no more."""
    say(message)
    _interrupt.said()


def mistakes(error: _core.ScenarioError) -> str:
    """What is wrong with a scenario: each mistake with its line quoted, and how many there are if there are several."""
    if error.shown is None:
        return str(error)
    number = len(error.errors) + error.more
    many = f"at least {number}" if error.at_least else str(number)
    return error.shown if number < 2 else f"{many} mistakes in the scenario\n\n{error.shown}"


def draw(figure: "Callable[[], Figure]", path: Path, report: Callable[[str], None]) -> None:
    """Draw into `path`, or say why there is nothing to draw; on a machine without matplotlib, say so and exit."""
    try:
        drawn = figure()
    except ImportError:
        fail("plots need matplotlib: install varicap[plot] (--no-plot does without)", MACHINE_LACKS)
    except NothingDrawnError as error:
        report(f"no plot: {error}")
        return
    write_whole(path, image_of(drawn, path.suffix.lower()))
    report(f"wrote {path}")


def image_of(drawn: "Figure", ending: str) -> bytes:
    """A figure as the bytes of a file with such an ending."""
    image = BytesIO()
    made_by = {_AUTHOR.get(ending, "Software"): f"varicap {_core.__version__}"}
    drawn.savefig(image, format=ending.removeprefix(".") or None, metadata=made_by)
    return image.getvalue()


def check_folder(path: Path) -> None:
    """Refuse a folder that cannot be made or written, before anything is computed for it."""
    there = next(each for each in (path, *path.absolute().parents) if os.path.lexists(each))
    if fault := fault_of_place(there):
        fail(f"-o {path}: {fault}", USAGE)
    if there == path:
        with Folder(path) as folder:
            refuse_foreign(folder)


def check_file(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is computed for it."""
    if fault := fault_of_output(path):
        fail(f"-o {path}: {fault}", USAGE)


def one_of(what: str, name: str, known: list[str]) -> str:
    """`name` if it is known; a name that is not is the user's mistake."""
    if name in known:
        return name
    raise typer.BadParameter(printable(unknown(what, name, known)), param_hint=what.upper())


def overrides(given: list[str]) -> list[tuple[str, str]]:
    """The path and the value of each `--set PATH=VALUE`."""
    pairs = []
    for text in given:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise typer.BadParameter(f"`{text}` is not PATH=VALUE, such as duration='10 s'", param_hint="--set")
        pairs.append((path.strip(), value.strip()))
    return pairs


@overload
def quantity(option: str, read: Callable[[str], float], text: str) -> float: ...
@overload
def quantity(option: str, read: Callable[[str], float], text: str | None, otherwise: Other) -> float | Other: ...
def quantity(option: str, read: Callable[[str], float], text: str | None, otherwise: Any = None) -> Any:
    """The value of an option, such as `"50 ms"` read by ``units.seconds``; `otherwise` where it is not given."""
    if text is None:
        return otherwise
    try:
        return read(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def quantities(option: str, read: Callable[[str], float], text: str) -> list[float]:
    """Values with commas between them."""
    return [quantity(option, read, part.strip()) for part in text.split(",")]


def share_of(text: str) -> float:
    """A share such as `2%` or `0.02`."""
    number = text.strip()
    try:
        value = float(number.removesuffix("%")) / (100.0 if number.endswith("%") else 1.0)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(
            f"`{text}` is not a share between 0 and 1, such as 2% or 0.02", param_hint="--precision"
        )
    return value


def folder_name(name: str) -> str:
    """`name` as one plain folder: a scenario cannot choose where we write."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(".")
    return plain or "scenario"


def console(stderr: bool = False, plain: int = 140) -> "Console":
    """Where tables go; into a pipe they are `plain` characters wide at most.

    Names in them cannot steer the terminal: only styles of ours become escape sequences.
    """
    from rich.console import Console as Plain
    from rich.segment import Segment as Piece

    class Console(Plain):
        def render(self, *args: Any, **options: Any) -> "Iterator[Segment]":
            for text, style, control in super().render(*args, **options):
                yield Piece(text if control else printable(text, lines=True), style, control)

    stream = sys.stderr if stderr else sys.stdout
    # A terminal has its own width, and COLUMNS sets any.
    own = stream.isatty() or "COLUMNS" in os.environ
    return Console(stderr=stderr, width=None if own else plain, highlight=False)


def print_tables(tables: "Iterable[Table]", more: str = "--json") -> None:
    """Print tables to stdout: as wide as they are into a pipe, and as wide as there is room on a terminal.

    What does not fit is named below, and `more` says what else shows it.
    """
    from varicap.report.table import fit

    out = console(plain=_WIDEST)
    dropped: list[str] = []
    for table in tables:
        dropped += fit(table, out.width)
        out.print(table)
    if dropped:
        names = printable(", ".join(dict.fromkeys(dropped)))
        out.print(f"Not shown, for want of room: {names}. A wider terminal or {more} has them.", markup=False)


@contextmanager
def progress_bar(name: str, quiet: bool) -> Iterator[Callable[[float, int, int], None] | None]:
    """A progress bar on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[runs]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=1.0, runs="")

        def show(share: float, done: int, total: int) -> None:
            bar.update(task, completed=share, runs=f"{done}/{total} runs")

        yield show


@contextmanager
def live_view(name: str, quiet: bool) -> Iterator[dict[str, Any]]:
    """Flows and queues on a terminal, drawn again while runs go on; nothing elsewhere.  Gives options for a run."""
    if quiet or not sys.stderr.isatty():
        yield {}
        return
    from rich.live import Live

    from varicap.report.live import Dashboard

    shown = Dashboard(name)
    with Live(shown, console=console(stderr=True), refresh_per_second=8, transient=True):
        yield {"progress": shown.progress, "live": shown.watch}
