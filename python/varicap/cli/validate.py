"""`varicap validate`: how well the engines agree, measured anew."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from varicap.terminal import (
    MOST_JOBS,
    MOST_RUNS,
    OK,
    USAGE,
    AsJson,
    Quiet,
    check_folder,
    echo,
    fail,
    interrupted,
    print_tables,
    progress_bar,
    say,
)

if TYPE_CHECKING:
    from varicap.validate import Validation
    from varicap.validate.paths import Case

commands = typer.Typer()
validate = typer.Typer(no_args_is_help=True, help="How well the engines agree, measured anew.")
commands.add_typer(validate, name="validate")

Paths: TypeAlias = Annotated[
    list[str] | None, typer.Option("--path", metavar="NAME", help="Only this path; may be given several times.")
]


@validate.command(
    epilog="Examples: varicap validate kernel --quick | varicap validate kernel -o validation | "
    "varicap validate kernel --path loss-1 --path markov --json | varicap validate kernel --kernel 6.12 --kernel patched"
)
def kernel(
    path: Paths = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer paths, short runs of a single seed: six minutes.")
    ] = False,
    traces: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A path for each trace *.down of this folder, in addition.")
    ] = None,
    clock: Annotated[
        Literal["simulated", "real"] | None,
        typer.Option(help="The time of the kernel.", show_default="simulated where a kernel was built for it"),
    ] = None,
    kernel_name: Annotated[
        list[str] | None,
        typer.Option("--kernel", metavar="NAME", help="The kernel; given twice, two kernels are compared."),
    ] = None,
    first_difference: Annotated[
        bool, typer.Option("--first-difference", help="Show where the segments of a row begin to differ.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Save the table here; an interrupted table resumes."),
    ] = None,
    document: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Replace the table in this Markdown file, between its two marks."),
    ] = None,
    max_seeds: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="Most seeds of a path.")] = 10,
    max_time: Annotated[
        str | None, typer.Option(help="No run begins that would end later.", show_default="2 h, quick 6 min")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j",
            "--jobs",
            min=1,
            max=MOST_JOBS,
            help="Runs of the kernel side by side (default: one per core, in real time 4).",
        ),
    ] = None,
    any_revision: Annotated[
        bool,
        typer.Option("--any-revision", help="Runs in DIR that another revision made count; the table names it."),
    ] = False,
    show_paths: Annotated[bool, typer.Option("--list", help="List the paths, and run nothing.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare the simulator's TCP with Linux's own, or two kernels, on a table of paths, run by run over the same links.

    Each path is run with Reno, CUBIC and RATCP, and some with BBR, with an acknowledgement for each packet and with
    delayed ones, with as many seeds as bring the interval of the difference in goodput to 2 %. Engines agree on a flow
    if goodput differs by at most 2 % or its interval holds zero, retransmitted packets by 25 % or 5 packets, timeouts
    by 1 (for a group of flows, all of its timeouts together), and mean RTTs by 5 %. Where goodput differs by more than
    2 % and the interval holds zero because it is wide, the row is undecided, and counted apart.

    In simulated time (`varicap kernel build`) each row also says whether both send identical segments, at the same instants,
    or from which packet on they do not. A second seed is not run where it would give the same. In real time, all of it
    takes up to two hours.
    """
    from varicap import units
    from varicap.validate import kernel as measure
    from varicap.validate import paths as known
    from varicap.validate.measure import sides_of
    from varicap.validate.table import check_document

    try:
        chosen = known.cases(path, quick=quick, more=known.recorded(traces) if traces else None)
        if max_time is not None:
            units.seconds(max_time)
        if output is not None:
            check_folder(output)
        if document is not None:
            check_document(document)
        if not show_paths:
            sides_of(clock, kernel_name)
    except ValueError as error:
        fail(str(error), USAGE)
    if show_paths:
        _list(chosen, as_json)
        return
    with progress_bar("validate kernel", quiet) as progress:
        found = measure(
            path,
            quick=quick,
            traces=traces,
            clock=clock,
            kernel_name=kernel_name,
            folder=output,
            max_seeds=max_seeds,
            max_time=max_time,
            jobs=jobs,
            any_revision=any_revision,
            progress=progress,
        )
    _show(found, as_json, first_difference)
    if output is not None and not quiet:
        say(f"the table is in {output}")
    if document is not None and not found.interrupted:
        found.write_into(document)
    if found.interrupted:
        there = "the same command resumes" if output is not None else "runs are kept with -o only"
        interrupted(f"interrupted: {len(found.rows)} rows have runs; {there}")
        raise KeyboardInterrupt
    raise typer.Exit(OK)


def _list(cases: "list[Case]", as_json: bool) -> None:
    abouts = {case.path: case.about for case in cases}
    if as_json:
        echo(json.dumps([{"name": name, "about": about} for name, about in abouts.items()], ensure_ascii=False))
        return
    width = max(map(len, abouts))
    echo("\n".join(f"{name:<{width}}  {about}" for name, about in abouts.items()))


def _show(found: "Validation", as_json: bool, first_difference: bool) -> None:
    if as_json:
        echo(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    from rich.text import Text

    from varicap.report.table import titled

    headings, rows = found.grid()
    table = titled(found.titles, headings, left=("path", "flow", "ack"))
    for row in rows:
        table.add_row(*map(Text, row))
    if rows:
        print_tables([table])
    for line in found.disagreements():
        echo(line)
    for line in found.undecided():
        echo(f"{line}: undecided")
    if first_difference:
        for line in found.first_differences():
            echo(line)
    for case in found.left_out:
        echo(f"{case['name']}, {case['flow']}, ack {case['ack']}: not measured: {case['why']}")
    echo(found.conclusion())
