"""`varicap falsify`: the path that breaks a control."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from varicap import units
from varicap.terminal import (
    BREACH,
    MOST_RUNS,
    USAGE,
    AsJson,
    BaseSeed,
    Jobs,
    Quiet,
    SetValue,
    check_folder,
    draw,
    echo,
    fail,
    folder_name,
    overrides,
    print_tables,
    progress_bar,
    quantity,
    say,
    say_nothing,
)

commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap falsify examples/fixed.toml --within ccac --against 'utilisation >= 80 %' | "
    "varicap falsify two.toml --within bounds.toml --against 'least_share >= 20 %' --engine kernel"
)
def falsify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario: TOML or JSON, - for stdin.", show_default=False)
    ],
    within: Annotated[
        str,
        typer.Option(metavar="BOUNDS", help="What a path may be: a TOML file, or ccac, leo, lte, wi-fi."),
    ],
    against: Annotated[
        str,
        typer.Option(metavar="'COLUMN >= X'", help="The statement that a path is to refute."),
    ],
    budget: Annotated[int, typer.Option(min=16, max=MOST_RUNS, help="Most runs.")] = 1500,
    time: Annotated[
        str | None,
        typer.Option(help="No run is begun in the search after this time, such as '10 min'.", show_default="no limit"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, max=MOST_RUNS, help="Runs of each path that is judged.")] = 4,
    seed: BaseSeed = None,
    engine: Annotated[
        Literal["sim", "kernel"],
        typer.Option(help="kernel: Linux runs what was found as well, in simulated time."),
    ] = "sim",
    kernel_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The kernel that was built.", show_default="the newest")
    ] = None,
    plugin: Annotated[
        Path | None, typer.Option(metavar="FILE.py", help="A Python file with controls; it is run.")
    ] = None,
    models: Annotated[bool, typer.Option(help="Whether analyses are asked first, if they apply.")] = True,
    set_: SetValue = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder, taken up if it is there (default: varicap-out/NAME-falsify)."),
    ] = None,
    plot: Annotated[bool | None, typer.Option("--plot/--no-plot", help="Draw it (default: unless --json).")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 if the statement is refuted.")] = False,
    as_json: AsJson = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Search within bounds for the path that breaks a control, and make it as simple as it can be.

    The worst path by a statement such as `bbr3.goodput_of_capacity >= 50 %` is searched in the simulator, all paths
    with the same random numbers; then whatever is not needed to refute the statement is taken away. What remains is
    run with other seeds, with jitter and, if asked, by Linux. DIR has the scenario, its runs, which `varicap replay`
    repeats, and a figure. Killed in the middle, the same command goes on where it was.
    """
    from varicap import plugins
    from varicap.evaluate import ControlError
    from varicap.falsify import BoundsError, report
    from varicap.falsify import falsify as search
    from varicap.falsify.solve import recorded
    from varicap.falsify.statement import StatementError

    folder = output or Path("varicap-out") / f"{folder_name(file.stem if str(file) != '-' else 'stdin')}-falsify"
    check_folder(folder)
    time_s = quantity("'--time'", units.seconds, time, None)
    tell = say_nothing if quiet else say
    try:
        with progress_bar(f"falsify {file.stem}", quiet) as progress:
            found = search(
                file,
                within,
                against,
                budget=budget,
                time_s=time_s,
                seeds=seeds,
                seed=seed,
                plugin=plugin,
                overrides=overrides(set_ or []),
                models=models,
                kernel=engine == "kernel",
                kernel_name=kernel_name,
                folder=folder,
                jobs=jobs,
                progress=progress,
                notify=say,
            )
        made = {} if plugin is None else plugins.read(plugin).controls
    except (BoundsError, StatementError, ControlError, ValueError) as error:
        if isinstance(error, (BoundsError, StatementError, ControlError)) or type(error) is ValueError:
            fail(str(error), USAGE)
        raise
    result = recorded(found, file.parent, made or None)
    if result is not None:
        result.save(folder / "run")
        tell(f"wrote {folder / 'counterexample.toml'} and {folder / 'run' / 'manifest.json'}")
        if plot if plot is not None else not as_json:
            draw(lambda: report.figure(result), folder / "falsify.png", tell)
    if as_json:
        echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        print_tables(report.tables(found), str(folder / "falsify.json"))
        echo(found.sentence)
    if strict and found.is_broken:
        raise typer.Exit(BREACH)
