"""`varicap trace fit`: from a trace to a capacity that a scenario can have."""

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from varicap import units
from varicap._files import write_whole
from varicap.cli._quantities import option, reported, text
from varicap.cli._trace_reading import read, understood
from varicap.terminal import (
    LARGEST_SEED,
    AsJson,
    Quiet,
    check_file,
    console,
    draw,
    echo,
    one_of,
    quantity,
    say,
    say_nothing,
)

if TYPE_CHECKING:
    from varicap.traces import Fit, Reading, Trace

_LAWS: tuple[Literal["slotted", "continuous"], ...] = ("slotted", "continuous")
_LINKS = ("lte", "leo")


def fit(
    reading: "Reading",
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The trace, in any format.", show_default=False)],
    slot: Annotated[
        str | None,
        typer.Option(
            help="Length of a slot: what varies faster is averaged.",
            show_default="100 ms, or a row of the log if that is longer",
        ),
    ] = None,
    states: Annotated[
        int | None, typer.Option(min=1, max=50, help="Number of states.", show_default="what the BIC chooses, up to 8")
    ] = None,
    law: Annotated[str, typer.Option(help="slotted: may change at the ends of slots; continuous: at any time.")] = (
        "slotted"
    ),
    held_out: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of the trace, at its end, that a second fit predicts.")
    ] = 0.25,
    simulations: Annotated[
        int, typer.Option(min=0, max=10_000, help="Paths of the chain to fit again, for 95 % intervals.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Of these paths.")] = 1,
    like: Annotated[
        str | None, typer.Option(help="Parameters of a generated link instead: lte, leo.", show_default="a chain")
    ] = None,
    interval: Annotated[str, typer.Option(help="Time between reconfigurations, with --like leo.")] = "15 s",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the capacity, as a line of a scenario, to this file.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw trace and fit side by side: pdf, svg or png.", show_default="none")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit a Markov chain of rates to a trace, and show how well it describes it."""
    from varicap import traces

    kind = next(each for each in _LAWS if each == one_of("law", law, list(_LAWS)))
    for path in (output, figure):
        if path is not None:
            check_file(path)
    if figure is not None and figure.suffix.lower() not in (".pdf", ".svg", ".png"):
        raise typer.BadParameter(f"`{figure}` does not end in .pdf, .svg, .png", param_hint="--figure")
    slot_s = None if slot is None else quantity("--slot", units.seconds, slot)
    loaded = read(file, reading)
    understood(loaded, file, quiet or as_json)
    if like is not None:
        _link(loaded, one_of("link", like, list(_LINKS)), quantity("--interval", units.seconds, interval), as_json)
        return
    found = reported(lambda: traces.fit(loaded, slot_s, states, held_out=held_out, simulations=simulations, seed=seed))
    capacity = f"capacity = {found.to_toml(kind)}"
    if output is not None:
        write_whole(output, f"# varicap trace fit: {file.name}, slots of {found.slot_s:g} s\n{capacity}\n")
    if as_json:
        echo(json.dumps({"file": str(file), **found.to_dict()}, ensure_ascii=False))
    elif not quiet:
        _show(found)
        say(f"in a scenario: {capacity}")
    if figure is not None:
        from varicap.report import fit as report

        draw(lambda: report.figure(found, file.name), figure, say_nothing if quiet or as_json else say)


def _show(found: "Fit") -> None:
    from rich.table import Table
    from rich.text import Text

    from varicap.report import fit as report

    terminal = console()
    headings, rows = report.table(found)
    drawn = Table()
    for place, heading in enumerate(headings):
        drawn.add_column(Text(heading), justify="right" if place else "left")
    for row in rows:
        drawn.add_row(*map(Text, row))
    terminal.print(drawn)
    for line in report.sentences(found):
        terminal.print(Text(line))


def _link(loaded: "Trace", kind: str, interval_s: float, as_json: bool) -> None:
    """Print the parameters as the command that generates such traces."""
    from varicap import traces

    link = reported(lambda: traces.fit_cellular(loaded) if kind == "lte" else traces.fit_satellite(loaded, interval_s))
    if as_json:
        echo(json.dumps({"link": kind, **vars(link)}, ensure_ascii=False))
        return
    options = (f"{option(each.name)} '{text(each.name, getattr(link, each.name))}'" for each in fields(link))
    echo(" ".join(["varicap trace generate", kind, *options]))
