"""`varicap report`, `plot` and `export`: pages, figures and files of other tools, from folders of results."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from varicap._files import write_whole
from varicap._printable import printable
from varicap.terminal import MOST_RUNS, USAGE, Quiet, check_file, draw, fail, one_of, print_tables, say, say_nothing

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
    run: Annotated[int, typer.Option(min=0, max=MOST_RUNS, help="The run whose time series are shown.")] = 0,
    laboratory: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Where the laboratory is that the page links (default: in this installation; '': nowhere).",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page: summary, the path, series that zoom, distributions or the charts of a sweep."""
    from varicap.report import page
    from varicap.results import FolderError

    if output is not None:
        check_file(output)
    try:
        file = page(folder, output or folder / "report.html", run=run, laboratory=laboratory)
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
    run: Annotated[
        int | None, typer.Option(min=0, max=MOST_RUNS, help="Of runs: the one whose series are drawn.")
    ] = None,
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
    from varicap.results import FolderError

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
    epilog="Examples: varicap table results --differences | varicap table results --format latex -o table.tex"
)
def table(
    folder: Folder,
    measure: Annotated[
        str | None,
        typer.Option(
            help="Measures as columns, such as goodput_bps,rtt_p95_ms (see `varicap columns`).", show_default=False
        ),
    ] = None,
    flows: Annotated[
        str | None, typer.Option(help="The flows, or links, such as a,b (default: all).", show_default=False)
    ] = None,
    differences: Annotated[
        bool, typer.Option("--differences", help="How the flows differ from one of them, run by run.")
    ] = False,
    against: Annotated[
        str | None, typer.Option(help="The flow from which the others differ (default: the first).")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", "--style", help="latex (for the package booktabs) or markdown (default: by the file's ending)."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file, such as t.tex or t.md (default: to stdout).")
    ] = None,
) -> None:
    """Print the tables of a folder, or the differences between its flows, for a terminal or a paper."""
    from rich.text import Text

    from varicap.report.formats import FORMATS
    from varicap.report.table import titled
    from varicap.results import FolderError

    if format_ is None and output is not None:
        format_ = {".tex": "latex", ".md": "markdown"}.get(output.suffix)
        if format_ is None:
            raise typer.BadParameter(
                f"`{output}` does not end in .tex or .md; --format says which", param_hint="--output"
            )
    if format_ is not None:
        one_of("format", format_, list(FORMATS))
    if output is not None:
        check_file(output)
    try:
        tables = _tables(folder, differences or against is not None, against, measure, flows)
    except FolderError as error:
        fail(str(error), USAGE)
    if format_ is not None:
        _write("\n".join(FORMATS[format_](headings, rows, title) for title, headings, rows in tables), output)
        return
    for title, headings, rows in tables:
        shown = titled(title, headings, left=headings[:1])
        for row in rows:
            shown.add_row(*map(Text, row))
        print_tables([shown])


@commands.command(
    epilog="Examples: varicap export results --to iperf3 -o iperf.json | "
    "varicap export results --to mahimahi --link forward --no-drops"
)
def export(
    folder: Folder,
    to: Annotated[str, typer.Option(help="The shape: iperf3, flowmonitor, mahimahi.", show_default=False)],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file (default: to stdout).")] = None,
    run: Annotated[int, typer.Option(min=0, max=MOST_RUNS, help="The run that is written.")] = 0,
    link: Annotated[str | None, typer.Option(help="Of mahimahi: the link (default: the first).")] = None,
    drops: Annotated[
        bool, typer.Option(help="Of mahimahi: whether drops are written, at which mm-throughput-graph stops.")
    ] = True,
) -> None:
    """Write a run as iperf3's JSON, ns-3's FlowMonitor XML or the link log of Mahimahi."""
    from varicap import export as shapes
    from varicap.results import FolderError
    from varicap.results.saved import SavedResult, read

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
            is_xml = to == "flowmonitor"
            text = shapes.flowmonitor(found, run) if is_xml else shapes.mahimahi(found, link, run, drops=drops)
    except (FolderError, shapes.ExportError) as error:
        fail(str(error), USAGE)
    _write(text, output)


def _write(text: str, output: Path | None) -> None:
    """Into the file, or to stdout."""
    if output is None:
        # A pipe gets what a file would; a terminal nothing that it would obey.
        typer.echo(printable(text, lines=True) if sys.stdout.isatty() else text, nl=False)
    else:
        write_whole(output, text)


def _tables(
    folder: Path, differ: bool, against: str | None, measure: str | None, flows: str | None
) -> "list[tuple[str, Sequence[str], list[list[str]]]]":
    """Title, headings and rows of the tables of a folder."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from varicap.report import differences, measured, points, table
    from varicap.results import FolderError
    from varicap.results.saved import read
    from varicap.results.study import Study

    found = read(folder)
    is_study = isinstance(found, Study)
    if (measure is not None or flows is not None) and not differ:
        chosen = measure or ("goodput_bps,rtt_p95_ms" if flows else "")
        try:
            return [("Mean ± 95 % interval.", *measured.table(found, chosen, flows))]
        except ValueError as error:
            raise FolderError(f"{folder}: {error}") from None
    if isinstance(found, Study) and not differ:
        return [(found.name, *points.table(found))]
    if not differ and not isinstance(found, Study):
        return [("", headings, rows) for headings, rows in table.rows(found.summary)]
    try:
        differ_by = found.differences(against)
        if measure is not None:
            differ_by = differ_by.filter(pc.is_in(differ_by["measure"], pa.array(measure.replace(" ", "").split(","))))
        if flows is not None:
            differ_by = differ_by.filter(pc.is_in(differ_by["flow"], pa.array(flows.replace(" ", "").split(","))))
    except ValueError as error:
        raise FolderError(f"{folder}: {error}") from None
    if is_study and differ_by.num_rows:
        paths = [path for path, _ in found.points[0]] if isinstance(found, Study) else []
        return [(differences.note(differ_by), *differences.table_of_study(differ_by, paths))]
    if differ_by.num_rows == 0:
        raise FolderError(f"{folder}: one flow has no other to differ from")
    return [(differences.note(differ_by), *differences.table(differ_by))]


def _figure(folder: Path, looks: "Looks") -> "Figure":
    from varicap.results import FolderError
    from varicap.results.saved import read

    found = read(folder)
    try:
        return found.figure(**looks)
    except ValueError as error:
        raise FolderError(f"{folder}: {error}") from None
