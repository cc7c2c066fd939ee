"""`varicap why`, and `design l4s` and `design queue`: what would be if one thing were another."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.scenarios import load
from varicap.terminal import (
    MOST_RUNS,
    AsJson,
    BaseSeed,
    Jobs,
    MaxMemory,
    MaxTime,
    Plugins,
    Quiet,
    SetValue,
    brought,
    check_folder,
    draw,
    echo,
    folder_name,
    overrides,
    print_tables,
    progress_bar,
    say,
    say_nothing,
)

commands = typer.Typer()
of_design = typer.Typer()

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="The scenario: TOML or JSON, - for stdin.", show_default=False)
]
Seeds = Annotated[
    int | None, typer.Option(min=2, max=MOST_RUNS, help="Runs of each.", show_default="the scenario's, at least 10")
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Folder for the figure.", show_default="varicap-out/NAME-…")
]
Plot = Annotated[bool | None, typer.Option("--plot/--no-plot", help="Draw it (default: unless --json).")]


@commands.command(epilog="Example: varicap why examples/lte.toml --set flows='{cubic={}}'")
def why(
    file: File,
    seeds: Seeds = None,
    seed: BaseSeed = None,
    set_: SetValue = None,
    plugin: Plugins = None,
    output: Output = None,
    plot: Plot = None,
    as_json: AsJson = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: MaxTime = MAX_TIME,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Is it loss, the buffer, the capacity, the receiver or the control?  Runs with one of them changed tell.

    Each change is run with the same random numbers as the scenario as it is: without loss, with half and twice the
    buffer, with the mean capacity all the time, with an unlimited receiver, another control, and twice the capacity.
    """
    _ask("why", **locals())


@of_design.command(epilog="Example: varicap design l4s examples/lte.toml")
def l4s(
    file: File,
    seeds: Seeds = None,
    seed: BaseSeed = None,
    set_: SetValue = None,
    plugin: Plugins = None,
    output: Output = None,
    plot: Plot = None,
    as_json: AsJson = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: MaxTime = MAX_TIME,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """What would L4S give on this path?  DualPI2 at its links, Prague at the senders, both, and either alone."""
    _ask("l4s", **locals())


@of_design.command(epilog="Example: varicap design queue examples/lte.toml")
def queue(
    file: File,
    seeds: Seeds = None,
    seed: BaseSeed = None,
    set_: SetValue = None,
    plugin: Plugins = None,
    output: Output = None,
    plot: Plot = None,
    as_json: AsJson = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: MaxTime = MAX_TIME,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Which queue suits this path?  CoDel, FQ-CoDel, PIE and DualPI2 as they usually are, and half the buffer."""
    _ask("queue", **locals())


def _ask(
    question: str,
    file: Path,
    set_: list[str] | None,
    plugin: list[Path] | None,
    output: Path | None,
    plot: bool | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    from varicap.design import what_if
    from varicap.design.what_if import report

    scenario = load(file, overrides(set_ or []))
    folder = output or Path("varicap-out") / f"{folder_name(scenario.name)}-{question}"
    drawn = plot if plot is not None else not as_json
    if drawn:
        check_folder(folder)
    with progress_bar(f"{question} {scenario.name}", quiet) as progress:
        found = getattr(what_if, question)(scenario, **brought(plugin), **options, progress=progress)
    if as_json:
        echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        print_tables(report.tables(found))
        for sentence in found.sentences:
            echo(sentence)
    if drawn:
        draw(partial(report.figure, found), folder / f"{question}.png", say_nothing if quiet else say)
