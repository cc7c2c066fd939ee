"""`varicap dialogue`: scripts in packetdrill's language against the simulated endpoints."""

import json
import shutil
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from varicap._files import UnreadableError, files_below, read_whole
from varicap._limits import MAX_MEMORY, MAX_TIME
from varicap.terminal import OK, RUN_FAILED, USAGE, AsJson, MaxMemory, Quiet, echo, fail, overrides, say

if TYPE_CHECKING:
    from varicap.dialogue import Dialogue

commands = typer.Typer()

_PLAIN_WIDTH = 120
"""Of a timeline that is not shown on a terminal."""
_MOST_SETTINGS = 1_000_000
"""The longest file of settings that is read [B]."""


@commands.command(
    epilog="Examples: varicap dialogue scripts | "
    "varicap dialogue slow-start.pkt --set initial_window='4 packets' | "
    "varicap dialogue --stack rfc tests/dialogues/rfc | "
    "varicap dialogue scripts --settings newreno.toml --json"
)
def dialogue(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Scripts, or folders with files *.pkt.", show_default=False),
    ],
    settings: Annotated[
        Path | None,
        typer.Option(help="A TOML file with a table `tcp` as in a scenario; it counts more than the scripts."),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The stack of the host (default: linux); scripts and settings come first."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of TCP, such as recovery='newreno'."),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="How late or early a segment may be (default: what the script says, or 4 ms)."
        ),
    ] = None,
    timelines: Annotated[
        bool, typer.Option("--timelines", help="Show the timelines of each difference, not only of a single file.")
    ] = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: Annotated[str, typer.Option("--max-time", help="Stop a script that takes longer.")] = MAX_TIME,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Play scripts in packetdrill's language against the simulated endpoints, and show the first difference.

    Exits with 1 if a script differs, with 2 if one cannot be read or takes more than it may; a script that needs what
    varicap does not have is skipped.
    """
    from varicap._core import LimitError
    from varicap.dialogue import ScriptError
    from varicap.dialogue import dialogue as play
    from varicap.units import seconds

    tcp = _settings(settings, set_ or [])
    if stack is not None:
        tcp["stack"] = stack
    if tolerance is not None:
        try:
            seconds(tolerance)
        except ValueError as error:
            fail(f"--tolerance: {error}", USAGE)
    played: list[Dialogue] = []
    unread: list[str] = []
    for file in _scripts(files):
        try:
            played.append(play(file, tolerance=tolerance, max_memory=max_memory, max_time=max_time, **tcp))
        except (ScriptError, UnreadableError, LimitError) as error:
            unread.append(str(error))
            if not as_json:
                say(str(error))
            continue
        if not as_json:
            _show(played[-1], timelines or files == [file], quiet)
    counts = Counter(each.verdict.value for each in played)
    if as_json:
        scripts = [each.to_dict() for each in played]
        found = Counter(each["outcome"] for each in scripts)
        numbers = {key: found[key] for key in ("passed", "failed", "skipped")} | {"unread": len(unread)}
        done = {"counts": numbers, "scripts": scripts, "unread": unread}
        typer.echo(json.dumps(done, ensure_ascii=False))
    elif len(played) + len(unread) > 1:
        said = {"passed": "passed", "differs": "differ", "skipped": "skipped", "unread": "cannot be read"}
        echo(", ".join(f"{number} {said[key]}" for key, number in _counts(counts, unread).items() if number))
        if not quiet:
            _show_ignored([each for each in played if each.verdict.value != "skipped"])
    sys.exit(USAGE if unread else RUN_FAILED if counts["differs"] else OK)


def _counts(counts: Counter[str], unread: list[str]) -> dict[str, int]:
    return {key: counts[key] for key in ("passed", "differs", "skipped")} | {"unread": len(unread)}


def _show(played: "Dialogue", is_whole: bool, quiet: bool) -> None:
    if not is_whole:
        echo(played.headline())
        return
    width = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns if sys.stdout.isatty() else _PLAIN_WIDTH
    echo(played.text(width=width))
    if played.ignored and not quiet:
        say(f"no effect here: {', '.join(played.ignored)}")
    if played.passed and played.unasked and not quiet:
        say(f"after the last expected segment, {played.unasked} more were sent")


def _show_ignored(played: list["Dialogue"]) -> None:
    """What the scripts asked for and had no effect, for all together: those of a folder mostly share it."""
    scripts = Counter(setting for each in played for setting in each.ignored)
    if scripts:
        said = ", ".join(f"{setting} in {number}" for setting, number in sorted(scripts.items()))
        say(f"no effect here, and the number of scripts that asked for it: {said}")
    unasked = [each for each in played if each.passed and each.unasked]
    if unasked:
        said = ", ".join(f"{each.name} ({each.unasked})" for each in unasked)
        say(f"more was sent after the last expected segment (segments): {said}")


def _scripts(files: list[Path]) -> list[Path]:
    found = []
    for file in files:
        inside = files_below(file, ".pkt") if file.is_dir() else [file]
        if not inside:
            fail(f"{file}: a folder without scripts (*.pkt)", USAGE)
        if not file.exists():
            fail(f"{file}: no such file or folder", USAGE)
        found += inside
    return found


def _settings(path: Path | None, given: list[str]) -> dict[str, Any]:
    """The ``tcp`` keys of a file and of `--set`, which counts more."""
    tcp: dict[str, Any] = {}
    if path is not None:
        try:
            read = tomllib.loads(read_whole(path, _MOST_SETTINGS).decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, UnreadableError) as error:
            fail(f"{path}: {error}", USAGE)
        tcp = read.get("tcp", read)
        if not isinstance(tcp, dict) or ("tcp" in read and len(read) > 1):
            fail(f"{path}: expected one table, `tcp`", USAGE)
    for key, text in overrides(given):
        *parents, last = key.removeprefix("tcp.").split(".")
        table = tcp
        for parent in parents:
            inner = table.get(parent)
            table[parent] = table = inner if isinstance(inner, dict) else {}
        table[last] = _value(text)
    return tcp


def _value(text: str) -> object:
    """A value as TOML writes it; a bare word is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
