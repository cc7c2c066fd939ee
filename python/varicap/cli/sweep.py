"""`varicap sweep`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

import varicap._core as _core
from varicap.cli.run import Clock, KernelClock, KernelMode, KernelName, Modules
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.scenarios import load
from varicap.errors import InterruptedSweep
from varicap.terminal import (
    MOST_RUNS,
    AsJson,
    BaseSeed,
    Jobs,
    MaxMemory,
    MaxTimeOfRun,
    On,
    Plugins,
    Quiet,
    SetValue,
    brought,
    check_folder,
    console,
    draw,
    echo,
    folder_name,
    in_own_folder,
    interrupted,
    overrides,
    print_tables,
    progress_bar,
    say,
    say_nothing,
    share_of,
    study_errors,
    tell,
)

if TYPE_CHECKING:
    from rich.table import Table

    from varicap.results.study import Study
    from varicap.statistics import Progress
    from varicap.study import Design

commands = typer.Typer()


class Engine(StrEnum):
    """What answers."""

    sim = "sim"
    model = "model"
    kernel = "kernel"


_MOST_ROWS = 100
"""Points that a terminal is shown; nobody reads more, and writing them takes longer than simulating short runs."""


@commands.command(
    epilog="Examples: varicap sweep examples/fixed.toml --over "
    "'topology.dumbbell.forward.queue.drop-tail.limit=5 packets,10 packets,20 packets' | varicap sweep FILE --over "
    "'topology.dumbbell.forward.delay=5 ms..500 ms log' --design sobol --points 32 -o study"
)
def sweep(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario: TOML or JSON, - for stdin.", show_default=False)
    ],
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH=V1,V2,…", help="Values of a key, or a range LOW..HIGH; may be given again."),
    ] = None,
    engine: Annotated[
        Engine, typer.Option(help="What answers: simulations, models without runs, or Linux in simulated time.")
    ] = Engine.sim,
    kernel: KernelMode = None,
    clock: KernelClock = None,
    kernel_name: KernelName = None,
    module: Modules = None,
    design: Annotated[str, typer.Option(help="How axes combine: product, zip, latin, sobol.")] = "product",
    points: Annotated[int | None, typer.Option(min=1, max=MOST_RUNS, help="Points of latin and sobol designs.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=MOST_RUNS, help="Replications of each point (default: the scenario's).")
    ] = None,
    seed: BaseSeed = None,
    precision: Annotated[
        str | None, typer.Option(help="Add replications until each interval is within this share, such as 2%.")
    ] = None,
    max_seeds: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Most replications that --precision may reach.")
    ] = 1000,
    set_: SetValue = None,
    plugin: Plugins = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Folder of the study, taken up if it is there (default: varicap-out/NAME-sweep)."
        ),
    ] = None,
    on: On = None,
    plot: Annotated[bool | None, typer.Option("--plot/--no-plot", help="Draw it (default: unless --json).")] = None,
    as_json: AsJson = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: MaxTimeOfRun = MAX_TIME,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario at many points; killed in the middle, the same command goes on where it was."""
    from varicap import study
    from varicap.report import story

    scenario = load(file, overrides(set_ or []))
    folder = output or Path("varicap-out") / f"{folder_name(scenario.name)}-sweep"
    drawn = plot if plot is not None else not as_json
    if engine is Engine.model:
        _refuse_options_of_runs(context, plot)
        _ask_models(scenario, over or [], _design(design), points, seed, output, as_json, quiet)
        return
    check_folder(folder)
    if clock is Clock.real:
        raise typer.BadParameter("a sweep has the kernel in simulated time only", param_hint="--clock")
    own = brought(plugin)
    of_kernel: dict[str, Any] = {}
    if engine is Engine.kernel:
        mode = None if kernel is None else kernel.value
        of_kernel = {"kernel": mode, "kernel_name": kernel_name, "modules": module}
    try:
        axes = [study.Axis.read(text) for text in over or []]
        _load_meanwhile("scipy.special", *(["varicap.report.sweep"] if drawn else []))
        with (
            study_errors(),
            progress_bar(scenario.name, quiet) as progress,
            _saying_what_is_kept(folder, progress) as counted,
        ):
            ask = partial(
                study.sweep,
                scenario,
                axes,
                engine="kernel" if engine is Engine.kernel else "sim",
                **of_kernel,
                **own,
                design=_design(design),
                count=points,
                seeds=seeds,
                seed=seed,
                precision=None if precision is None else share_of(precision),
                max_seeds=max_seeds,
                folder=folder,
                on=on,
                jobs=jobs,
                max_memory=max_memory,
                max_time=max_time,
                progress=counted,
                notify=say,
            )
            done = in_own_folder(folder, ask, is_chosen=output is not None)
    except study.DesignError as error:
        raise typer.BadParameter(str(error), param_hint="--over") from None
    report = say_nothing if quiet else say
    report(f"wrote {folder / 'manifest.json'}; varicap report {folder} makes a page of it")
    if drawn:
        draw(done.figure, folder / "chart.png", report)
    if as_json:
        echo(json.dumps(_object(done), ensure_ascii=False))
    else:
        _print_table(done, folder)
        tell(story.of_study(done))
        if len(done.points) > _MOST_ROWS:
            report(
                f"the table has {_MOST_ROWS} of {len(done.points)} points; {folder / 'summary.parquet'} has them all"
            )
    for note in done.notes:
        report(f"note: {note}")


def _refuse_options_of_runs(context: typer.Context, plot: bool | None) -> None:
    """Models answer without runs: whoever gave an option of runs expects something else."""
    if plot:
        raise typer.BadParameter("models have a table, and no chart", param_hint="--plot")
    for name in ("seeds", "precision", "max_seeds", "on", "max_memory", "max_time", "jobs", "plugin"):
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise typer.BadParameter("is for runs, and models answer without", param_hint=f"--{name.replace('_', '-')}")


def _ask_models(
    scenario: _core.Scenario,
    over: list[str],
    design: "Design",
    count: int | None,
    seed: int | None,
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Answer by analysis at each point: a table, and what strains the models."""
    from varicap import study

    if output is not None:
        check_folder(output)
    try:
        axes = [study.Axis.read(text) for text in over]
        with progress_bar(scenario.name, quiet) as progress:
            done = study.sweep(
                scenario,
                axes,
                engine="model",
                design=design,
                count=count,
                seed=seed,
                folder=output,
                progress=progress,
            )
    except study.DesignError as error:
        raise typer.BadParameter(str(error), param_hint="--over") from None
    report = say_nothing if quiet else say
    if output is not None:
        report(f"wrote {output / 'models.parquet'}")
    rows = done.table.to_pylist()
    if as_json:
        points = [dict(point) for point in done.points]
        echo(json.dumps({"scenario": done.name, "points": points, "models": rows}, ensure_ascii=False))
        return
    axes_shown = [axis.path for axis in axes]
    names = [path.rpartition(".")[2] for path in axes_shown]
    headings = [*names, "flow", "model", "goodput [Mb/s]", "holds"]
    lines = [
        [*(row[path] for path in axes_shown), row["name"], row["model"] or "–", _mbps(row), _holds(row)]
        for row in rows[:_MOST_ROWS]
    ]
    print_tables([_table(f"{done.name}: by analysis", headings, lines)], "--json")
    if len(rows) > _MOST_ROWS:
        report(f"the table has {_MOST_ROWS} of {len(rows)} rows; -o and --json have them all")
    for reason in dict.fromkeys(reason for row in rows for reason in (*row["not_applicable"], *row["strained"])):
        report(reason)


def _mbps(row: dict[str, Any]) -> str:
    return "–" if row["goodput_bps"] is None else f"{row['goodput_bps'] / 1e6:.4g}"


def _holds(row: dict[str, Any]) -> str:
    return "no model" if row["model"] is None else "yes" if row["valid"] else "strained"


@contextmanager
def _saying_what_is_kept(folder: Path, shown: "Progress | None") -> "Iterator[Progress]":
    """Report on Ctrl-C what is kept; counts the runs that are done, and passes their number on."""
    runs = (0, 0)

    def count(share: float, done: int, total: int) -> None:
        nonlocal runs
        runs = done, total
        if shown is not None:
            shown(share, done, total)

    try:
        yield count
    except KeyboardInterrupt as error:
        done, total = (error.done, error.wanted) if isinstance(error, InterruptedSweep) else runs
        of = f"{done} of {total} runs are kept in {folder}; the same command goes on from there"
        interrupted(f"interrupted: {of if done else 'nothing is kept'}")
        raise


def _load_meanwhile(*modules: str) -> None:
    """Import, while runs go on, what is needed after them; for a short study that is half of what it costs."""

    def load() -> None:
        # Where it is needed, the error will say what is missing.
        with suppress(ImportError):
            for module in modules:
                import_module(module)

    Thread(target=load).start()


def _design(name: str) -> "Design":
    names: tuple[Design, ...] = ("product", "zip", "latin", "sobol")
    for known in names:
        if name == known:
            return known
    raise typer.BadParameter(f"`{name}` is not one of {', '.join(names)}", param_hint="--design")


def _object(done: "Study") -> dict[str, Any]:
    from varicap.statistics.interval import finite

    rows = [
        {key: finite(value) if isinstance(value, float) else value for key, value in row.items()}
        for row in done.summary.to_pylist()
    ]
    return {
        "scenario": done.name,
        "points": [dict(point) for point in done.points],
        "summary": rows,
        "notes": done.notes,
    }


def _print_table(done: "Study", folder: Path) -> None:
    """Goodput of each flow and utilisation of each link at the first points; a row for each flow if they are many."""
    from varicap.report import points
    from varicap.report.table import width_of

    title = f"{done.name}: goodput and utilisation, ± 95 % interval"
    table = _table(title, *points.table(done, _MOST_ROWS))
    if width_of(table) > console().width:
        table = _table(title, *points.tall(done, _MOST_ROWS))
    print_tables([table], str(folder / "summary.parquet"))


def _table(title: str, headings: list[str], rows: list[list[str]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left")
    for heading in headings:
        table.add_column(Text(heading), justify="right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
