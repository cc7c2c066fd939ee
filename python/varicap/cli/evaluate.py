"""`varicap evaluate`: a congestion control by the criteria of RFC 9743."""

import json
from pathlib import Path
from typing import Annotated

import typer

from varicap.terminal import (
    BREACH,
    MOST_RUNS,
    USAGE,
    AsJson,
    BaseSeed,
    Jobs,
    Quiet,
    check_folder,
    echo,
    fail,
    print_tables,
    progress_bar,
    say,
)

commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap evaluate bbr3 --quick | varicap evaluate Westwood --plugin westwood.py -o westwood | "
    "varicap evaluate '{ cubic = { beta = 0.5 } }' --criterion beside-reno --criterion high-loss"
)
def evaluate(
    control: Annotated[
        str,
        typer.Argument(metavar="CONTROL", help="A control by name, its table, a class of --plugin, a policy's file."),
    ],
    plugin: Annotated[
        Path | None, typer.Option(metavar="FILE.py", help="A Python file with the class; it is run.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="5 runs of each scenario instead of 20.")] = False,
    criterion: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this criterion; may be given several times.")
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONTROL", help="Beside this control; may be given several times.", show_default="reno cubic bbr3"
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=2, max=MOST_RUNS, help="Runs of each scenario.")] = None,
    seed: BaseSeed = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the page, the badge, the scenarios.")
    ] = Path("varicap-out/evaluate"),
    compare: Annotated[
        Path | None, typer.Option(metavar="OLD.json", help="Say what changed since this evaluation.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 if a criterion is failed.")] = False,
    as_json: AsJson = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Measure what a congestion control does where RFC 9743 (BCP 133) asks, beside Reno, CUBIC and BBRv3.

    Each criterion of the RFC is a family of scenarios, which all controls run with the same random numbers. Where the
    RFC, another RFC or a draft says what is enough, the verdict is `meets`, `fails` or `unsettled`, by the 95 %
    interval; elsewhere the number is to be weighed, and whether it is surely worse or better than each of the others.
    There is no mark. What was measured is kept in DIR: an interrupted evaluation resumes.
    """
    from varicap.evaluate import ControlError
    from varicap.evaluate import evaluate as measure
    from varicap.evaluate.changes import OldError, changes, read
    from varicap.evaluate.report import conclusion, rich_tables
    from varicap.evaluate.solve import BESIDE
    from varicap.evaluate.written import write

    check_folder(output)
    try:
        old = None if compare is None else read(compare)
        with progress_bar(f"evaluate {control}", quiet) as progress:
            done = measure(
                control,
                plugin=plugin,
                criteria=criterion,
                quick=quick,
                seeds=seeds,
                seed=1 if seed is None else seed,
                beside=BESIDE if beside is None else beside,
                folder=output,
                jobs=jobs,
                progress=progress,
            )
    except (ControlError, OldError, ValueError) as error:
        fail(str(error), USAGE)
    moved = None if old is None else changes(old, done)
    page = write(done, output, moved)
    if as_json:
        typer.echo(json.dumps(done.to_dict(), ensure_ascii=False))
    else:
        print_tables(rich_tables(done))
        for sentence in conclusion(done):
            echo(sentence)
        for one in moved or ():
            echo(f"changed: {one.id}: {one.before} -> {one.after}, {one.was.mean:.4g} -> {one.now.mean:.4g}")
    if not quiet:
        say(f"the page: {page}")
    if strict and done.counts["fails"]:
        raise typer.Exit(BREACH)
