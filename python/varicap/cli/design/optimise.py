"""`varicap design FILE --vary …`."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from varicap import units
from varicap._names import unknown
from varicap.design import QUESTIONS
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.scenarios import load
from varicap.terminal import (
    MOST_RUNS,
    USAGE,
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
    draw,
    echo,
    fail,
    folder_name,
    in_own_folder,
    overrides,
    print_tables,
    progress_bar,
    quantity,
    say,
    say_nothing,
    study_errors,
)

commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap design examples/lte.toml --set flows='{cubic={}}' --vary "
    "'topology.dumbbell.forward.queue.drop-tail.limit=5..500 packets' --minimise limit --subject-to "
    "'forward.utilisation >= 95 %' | varicap design FILE --vary 'topology.dumbbell.forward.queue=codel,pie' --vary "
    "'topology.dumbbell.forward.queue.codel.target=1 ms..50 ms' --maximise goodput_bps --subject-to "
    "'rtt_p95_ms <= 100 ms'"
)
def scenario(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario: TOML or JSON, - for stdin.", show_default=False)
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=LOW..HIGH",
            help="A key and its range, or its values A,B,…; may be given again.",
            show_default=False,
        ),
    ] = None,
    minimise: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of the results, or a varied key.", show_default=False),
    ] = None,
    maximise: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="The same, to be as large as possible.", show_default=False),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(metavar="'COLUMN >= X'", help="A demand; may be given again.", show_default=False),
    ] = None,
    budget: Annotated[int, typer.Option(min=4, max=MOST_RUNS, help="Most runs.")] = 400,
    time: Annotated[
        str | None,
        typer.Option(help="Nothing more is begun after this time, such as '10 min'.", show_default="no limit"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, max=MOST_RUNS, help="Most replications of a point.")] = 16,
    seed: BaseSeed = None,
    models: Annotated[bool, typer.Option(help="Whether analyses say where to begin, if they apply.")] = True,
    set_: SetValue = None,
    plugin: Plugins = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Folder of the study, taken up if it is there (default: varicap-out/NAME-design)."
        ),
    ] = None,
    on: On = None,
    plot: Annotated[
        bool | None, typer.Option("--plot/--no-plot", help="Draw it, and write the page (default: unless --json).")
    ] = None,
    as_json: AsJson = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: MaxTimeOfRun = MAX_TIME,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """The values of a scenario's keys that are best by what is asked of its results: `varicap design FILE --vary …`.

    Killed in the middle, the same command goes on where it was.
    """
    from varicap import study
    from varicap.design.optimise import report
    from varicap.design.optimise.solve import optimise

    if not file.suffix and not file.exists() and str(file) != "-":
        fail(unknown("question and no file", str(file), [name.replace("_", "-") for name in QUESTIONS[1:]]), USAGE)
    base = load(file, overrides(set_ or []))
    folder = output or Path("varicap-out") / f"{folder_name(base.name)}-design"
    drawn = plot if plot is not None else not as_json
    check_folder(folder)
    time_s = quantity("'--time'", units.seconds, time, None)
    try:
        with study_errors(), progress_bar(f"design {base.name}", quiet) as progress:
            ask = partial(
                optimise,
                base,
                _varied(vary or []),
                minimise=minimise or (),
                maximise=maximise or (),
                subject_to=subject_to or (),
                budget=budget,
                time_s=time_s,
                seeds=seeds,
                seed=seed,
                models=models,
                **brought(plugin),
                folder=folder,
                on=on,
                jobs=jobs,
                max_memory=max_memory,
                max_time=max_time,
                progress=progress,
                notify=say,
            )
            found = in_own_folder(folder, ask, is_chosen=output is not None)
    except study.DesignError as error:
        fail(str(error), USAGE)
    tell = say_nothing if quiet else say
    tell(f"wrote {folder / 'manifest.json'}")
    if drawn:
        draw(lambda: report.figure(found), folder / "design.png", tell)
        _page(folder, tell)
    if as_json:
        echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        print_tables(report.tables(found), str(folder / "design.json"))
        typer.echo(report.sentence(found))


def _varied(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        path, equals, values = text.partition("=")
        if not equals or not path.strip() or not values.strip():
            raise typer.BadParameter(f"`{text}` is not PATH=LOW..HIGH or PATH=A,B,…", param_hint="--vary")
        if path.strip() in found:
            raise typer.BadParameter(f"`{path.strip()}` is given twice", param_hint="--vary")
        found[path.strip()] = values.strip()
    return found


def _page(folder: Path, tell: object) -> None:
    from varicap.report import page

    file = page(folder, folder / "report.html")
    if callable(tell):
        tell(f"wrote {file}; any browser opens it")
