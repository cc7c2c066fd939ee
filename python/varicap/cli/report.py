"""`varicap report`, `plot` and `export`: pages, figures and files of other tools, from folders of results."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from varicap.report.printable import printable
from varicap.terminal import USAGE, Quiet, check_file, draw, fail, one_of, say, say_nothing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from varicap.results.shown import Looks

commands = typer.Typer()

_FORMATS = ("pdf", "svg", "png")

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder of `varicap run -o` or `varicap sweep`.", show_default=False)
]


@commands.command(epilog="Example: varicap run examples/lte.toml --series -o results && varicap report results")
def report(
    folder: Folder,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file (default: report.html in the folder).")
    ] = None,
    run: Annotated[int, typer.Option(min=0, help="The run whose time series are shown.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page: summary, the path, series that zoom, distributions or the charts of a sweep."""
    from varicap.report import page
    from varicap.results.saved import FolderError

    if output is not None:
        check_file(output)
    try:
        file = page(folder, output or folder / "report.html", run=run)
    except FolderError as error:
        fail(str(error), USAGE)
    if not quiet:
        say(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB); any browser opens it")


@commands.command(
    epilog="Examples: varicap plot results -o fig.pdf --style paper --panels rates,delay | "
    "varicap plot study --measure rtt_p95_ms --panels heat -o fig.svg"
)
def plot(
    folder: Folder,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file: its ending says pdf, svg or png.")] = Path(
        "figure.pdf"
    ),
    measure: Annotated[
        str | None,
        typer.Option(
            help="Of a study: a measure of its summary (default: goodput_bps). Of runs: the delay of the scatter."
        ),
    ] = None,
    run: Annotated[int | None, typer.Option(min=0, help="Of runs: the one whose series are drawn.")] = None,
    panels: Annotated[
        str | None,
        typer.Option(
            help="Of runs: rates, queue, delay, window, cwnd, rtt, scatter, fct (default: rates,queue). "
            "Of a study: curves, multiples, heat or scatter."
        ),
    ] = None,
    flows: Annotated[str | None, typer.Option(help="The flows that are drawn, such as a,b (default: all).")] = None,
    style: Annotated[str, typer.Option(help="screen, paper (one column) or slides.")] = "screen",
    width: Annotated[str | None, typer.Option(help="In inches, or such as '8.5 cm'.")] = None,
    height: Annotated[str | None, typer.Option(help="In inches, or such as '6 cm'.")] = None,
    font: Annotated[
        str | None, typer.Option(help="An installed family of fonts, or serif, sans-serif, monospace.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title; '' for none (default: the scenario's name).")] = None,
    log: Annotated[str, typer.Option(help="Logarithmic axes: x, y or xy.")] = "",
    quiet: Quiet = False,
) -> None:
    """Draw a figure for a paper or a talk: runs over time and together, or a study with intervals."""
    from varicap.results.saved import FolderError

    if output.suffix.removeprefix(".").lower() not in _FORMATS:
        raise typer.BadParameter(f"`{output}` does not end in .{', .'.join(_FORMATS)}", param_hint="--output")
    check_file(output)
    looks: Looks = {
        **({} if run is None else {"run": run}),
        "measure": measure,
        "panels": panels,
        "flows": flows,
        "style": style,
        "width": width,
        "height": height,
        "font": font,
        "title": title,
        "log": log,
    }
    try:
        draw(lambda: _figure(folder, looks), output, say_nothing if quiet else say)
    except FolderError as error:
        fail(str(error), USAGE)


@commands.command(
    epilog="Examples: varicap export results --to iperf3 -o iperf.json | "
    "varicap export results --to mahimahi --link forward"
)
def export(
    folder: Folder,
    to: Annotated[str, typer.Option(help="The shape: iperf3, flowmonitor, mahimahi.", show_default=False)],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file (default: to stdout).")] = None,
    run: Annotated[int, typer.Option(min=0, help="The run that is written.")] = 0,
    link: Annotated[str | None, typer.Option(help="Of mahimahi: the link (default: the first).")] = None,
) -> None:
    """Write a run as iperf3's JSON, ns-3's FlowMonitor XML or the link log of Mahimahi."""
    from varicap.results import export as shapes
    from varicap.results.saved import FolderError, SavedResult, read

    one_of("shape", to, ["iperf3", "flowmonitor", "mahimahi"])
    if output is not None:
        check_file(output)
    try:
        found = read(folder)
        if not isinstance(found, SavedResult):
            raise FolderError(f"{folder}: a study, which has no series and no packets")
        if to == "iperf3":
            text = json.dumps(shapes.iperf3(found, run), indent=2) + "\n"
        else:
            text = shapes.flowmonitor(found, run) if to == "flowmonitor" else shapes.mahimahi(found, link, run)
    except (FolderError, shapes.ExportError) as error:
        fail(str(error), USAGE)
    if output is None:
        # A pipe gets what a file would; a terminal nothing that it would obey.
        typer.echo(printable(text, lines=True) if sys.stdout.isatty() else text, nl=False)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8", newline="\n")


def _figure(folder: Path, looks: "Looks") -> "Figure":
    from varicap.results.saved import FolderError, read

    found = read(folder)
    try:
        return found.figure(**looks)
    except ValueError as error:
        raise FolderError(f"{folder}: {error}") from None
