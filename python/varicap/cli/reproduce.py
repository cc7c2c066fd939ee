"""`varicap reproduce`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from varicap._folders import Folder
from varicap.terminal import (
    BREACH,
    MACHINE_LACKS,
    AsJson,
    Jobs,
    Quiet,
    check_folder,
    console,
    fail,
    one_of,
    progress_bar,
    say,
    say_nothing,
    share_of,
)

if TYPE_CHECKING:
    from varicap.papers import Paper
    from varicap.papers.reproduce import Reproduction
    from varicap.papers.run import Run


commands = typer.Typer()


@commands.command(
    epilog="Examples: varicap reproduce | varicap reproduce ratcp | varicap reproduce ratcp fig04 --quick | "
    "varicap reproduce all --json"
)
def reproduce(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="The paper, or `all`; without it they are listed.")
    ] = None,
    figure: Annotated[str | None, typer.Argument(metavar="[FIGURE]", help="One of its tables or figures.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter runs: wider intervals.")] = False,
    settle: Annotated[
        bool,
        typer.Option("--settle", help="More runs, up to 16 times as many, of figures with unsettled claims."),
    ] = False,
    precision: Annotated[
        str | None,
        typer.Option(help="The same until each claim's interval is within this share of its mean, such as 2%."),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for pages and plots, with a folder for each paper.")
    ] = Path("varicap-out/reproduce"),
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 4 if a verdict is not the one on record.")
    ] = False,
    put_on_record: Annotated[
        bool, typer.Option("--record", help="Put values and verdicts on record in the paper's folder of this checkout.")
    ] = False,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also one file to print: conclusions, and each figure with its claims.")
    ] = False,
    as_json: AsJson = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Measure again what the papers state: each claim with the paper's value, ours, its interval and a verdict."""
    from varicap import papers
    from varicap.papers import record
    from varicap.papers import report as verdicts
    from varicap.papers.run import Run

    known = papers.keys()
    if key is None:
        _list_papers([papers.paper(one) for one in known], as_json)
        return
    chosen = known if key == "all" else [one_of("paper", key, known)]
    if key == "all" and figure is not None:
        raise typer.BadParameter("a figure is of one paper, not of `all`", param_hint="FIGURE")
    if figure is not None and (drawn := papers.paper(chosen[0]).drawings.get(figure)) is not None:
        _show_drawing(chosen[0], figure, drawn, as_json)
        return
    check_folder(output)
    _refuse_foreign(output, chosen)
    share = None if precision is None else share_of(precision)
    done = []
    for one in chosen:
        run = Run(one, quick=quick, jobs=jobs, settle=settle, precision=share)
        done.append(_reproduce(papers.paper(one), figure, run, output / one, quiet, not as_json))
    if key == "all" and not as_json:
        typer.echo(verdicts.summary("all", *done))
    if as_json:
        objects = [one.to_dict() for one in done]
        typer.echo(json.dumps({"papers": objects} if key == "all" else objects[0], ensure_ascii=False))
    surprises = [found for one in done for found in record.surprises(one)]
    for judged, expected in surprises:
        (say_nothing if quiet else say)(f"{judged.claim.id}: {judged.verdict}, on record as {expected}")
    if pdf:
        from varicap.papers import book

        printed = book.write(done, output)
        (say_nothing if quiet else say)(f"to print: {printed}")
    if put_on_record:
        for reproduced in done:
            record.write(reproduced)
    if strict and surprises:
        raise typer.Exit(BREACH)


def _show_drawing(key: str, figure: str, shows: str, as_json: bool) -> None:
    """A figure of the paper that has no data to be measured again."""
    if as_json:
        typer.echo(json.dumps({"paper": key, "figure": figure, "drawing": shows, "claims": []}, ensure_ascii=False))
    else:
        typer.echo(f"{key} {figure} is a drawing without data. {shows}")


def _refuse_foreign(output: Path, keys: list[str]) -> None:
    """Raise `FolderError` for a link among the pages, before anything is measured for them."""
    if not output.is_dir():
        return
    with Folder(output) as folder:
        folder.is_file("index.html")
        folder.is_file("papers.pdf")
        for key in keys:
            if folder.is_folder(key):
                with folder.within(key) as of_paper:
                    for name in of_paper.names():
                        if name.endswith((".html", ".json", ".png")):
                            of_paper.is_file(name)


def _list_papers(known: "list[Paper]", as_json: bool) -> None:
    if as_json:
        listed = [{"key": one.key, "title": one.title, "figures": dict(one.figures)} for one in known]
        typer.echo(json.dumps({"papers": listed}, ensure_ascii=False))
        return
    for one in known:
        typer.echo(f"{one.key}: {one.title} ({len(one.claims)} claims)")
        for name, title in one.figures.items():
            typer.echo(f"  {name:<12} {title}")


def _reproduce(
    paper: "Paper", figure: str | None, run: "Run", plots: Path, quiet: bool, tables: bool
) -> "Reproduction":
    from varicap.papers import report as verdicts
    from varicap.papers.reproduce import reproduce as again

    figures = None if figure is None else [one_of("figure", figure, list(paper.figures))]
    with progress_bar(paper.key, quiet) as progress:
        try:
            done = again(paper, figures, run=run, plots=plots, progress=progress)
        except ModuleNotFoundError as error:
            if error.name != "matplotlib":
                raise
            fail("figures need matplotlib: install varicap[plot]", MACHINE_LACKS)
    if tables:
        terminal = console()
        for table in verdicts.rich_tables(done):
            terminal.print(table)
        typer.echo(verdicts.summary(paper.key, done))
    written = _write_pages(done, plots, whole=figure is None)
    if not quiet:
        say(f"the page: {written}")
    return done


def _write_pages(done: "Reproduction", folder: Path, *, whole: bool) -> Path:
    """A page of the whole paper, with the index over all papers; or one of a single figure, which replaces neither."""
    from varicap.papers import page

    if not whole:
        return page.write(done, folder, name=f"{done.figures[0]}.html")
    written = page.write(done, folder)
    page.record(done, folder)
    page.write_index(folder.parent)
    return written
