"""The command line: arguments and printing, nothing else.

Results go to stdout, progress and messages to stderr, and progress only to a terminal.
"""

import difflib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from varicap import _core

if TYPE_CHECKING:
    from rich.console import Console

    from varicap.papers import Paper
    from varicap.papers.reproduce import Reproduction
    from varicap.results import Result

OK, RUN_FAILED, USAGE, MACHINE_LACKS, BREACH = 0, 1, 2, 3, 4

_EXIT_CODES = (
    "Exit codes: 0 ok, 1 a run failed, 2 usage or scenario error, 3 the machine or this version lacks something, "
    "4 fidelity breach under --strict, 130 interrupted."
)

app = typer.Typer(
    name="varicap",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A laboratory for TCP over links whose capacity changes in time.",
    epilog=_EXIT_CODES,
)


class Engine(StrEnum):
    """What answers."""

    sim = "sim"
    model = "model"
    kernel = "kernel"


def main() -> NoReturn:
    """The program `varicap`: runs a command and exits with its code."""
    try:
        app()
    except _core.ScenarioError as error:
        _fail(str(error), USAGE)
    except _core.RunError as error:
        _fail(f"the run failed: {error}", RUN_FAILED)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), RUN_FAILED)
    sys.exit(OK)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"varicap {_core.__version__}")
        raise typer.Exit(OK)


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(
    epilog="Examples: varicap run examples/lte.toml | varicap run examples/fixed.toml --seeds 20 --json | "
    "varicap run examples/fixed.toml --set topology.dumbbell.forward.delay='20 ms' -o results"
)
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The scenario, a TOML file.", show_default=False)],
    engine: Annotated[Engine, typer.Option(help="What answers.")] = Engine.sim,
    seeds: Annotated[int | None, typer.Option(min=1, help="Replications (default: what the scenario says).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Base seed (default: what the scenario says).")] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Add replications until each interval is within this share of its mean, such as 2%."),
    ] = None,
    max_seeds: Annotated[int, typer.Option(min=1, help="Most replications that --precision may reach.")] = 1000,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a value of the scenario.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for tables, manifest and plot (default: varicap-out/NAME)."),
    ] = None,
    pcap: Annotated[
        Path | None, typer.Option(help="Write the packets of the first run for Wireshark (pcapng).")
    ] = None,
    series: Annotated[bool, typer.Option("--series", help="Record time series, and write the tables.")] = False,
    packets: Annotated[
        bool, typer.Option("--packets", help="Record what happens to each packet, and write the tables.")
    ] = False,
    plot: Annotated[
        bool | None, typer.Option("--plot/--no-plot", help="Draw the first run (default: unless --json).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print every value, given or default, and stop.")] = False,
    max_memory: Annotated[str, typer.Option(help="Refuse a scenario that would need more.")] = "4 GB",
    max_time: Annotated[str, typer.Option(help="Refuse a scenario that would take longer.")] = "1 h",
    jobs: Annotated[int | None, typer.Option("-j", "--jobs", min=1, help="Cores (default: all).")] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no messages.")] = False,
) -> None:
    """Run a scenario and print what each flow got."""
    from varicap import simulate

    if engine is not Engine.sim:
        _fail(f"the {engine.value} engine is not part of this version; `--engine sim` is", MACHINE_LACKS)
    scenario = simulate.load(file, _overrides(set_ or []))
    if explain:
        _explain(scenario, as_json)
        return
    share = None if precision is None else _share(precision)
    scenario.check_limits(max_memory, max_time, scenario.seeds if seeds is None else seeds, jobs or 0)
    draw = plot if plot is not None else not as_json
    with _progress(scenario.name, quiet) as progress:
        result = simulate.run(
            scenario,
            seeds=seeds,
            seed=seed,
            precision=share,
            max_seeds=max_seeds,
            series=True if series or scenario.record_series else "first" if draw else None,
            packets=True if packets or scenario.record_packets else "first" if pcap else None,
            jobs=jobs,
            progress=progress,
        )
    say = _quiet if quiet else _say
    if share is not None and not simulate.is_precise(result.summary, share):
        say(f"{result.runs} runs (--max-seeds) were not enough for --precision {precision}")
    folder = output or Path("varicap-out") / _folder_name(scenario.name)
    if output is not None or series or packets:
        say(f"wrote {result.save(folder)}")
    if draw:
        _draw(result, folder, say)
    if pcap is not None:
        for path in result.write_pcapng(pcap):
            say(f"wrote {path}")
    if as_json:
        typer.echo(json.dumps(result.summary, ensure_ascii=False))
    else:
        _print_tables(result)


@app.command()
def replay(
    manifest: Annotated[
        Path, typer.Argument(metavar="MANIFEST", help="A manifest.json of `varicap run -o`.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    jobs: Annotated[int | None, typer.Option("-j", "--jobs", min=1, help="Cores (default: all).")] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> None:
    """Repeat a run from its manifest and say whether the tables are identical (exit code 1 if not)."""
    from varicap.replay import ManifestError
    from varicap.replay import replay as repeat

    try:
        with _progress(str(manifest), quiet) as progress:
            repeated = repeat(manifest, jobs=jobs, progress=progress)
    except ManifestError as error:
        _fail(str(error), USAGE)
    if as_json:
        tables = [{"table": t.table, "same_values": t.same_values, "same_bytes": t.same_bytes} for t in repeated.tables]
        typer.echo(json.dumps({"manifest": str(manifest), "identical": repeated.identical, "tables": tables}))
    else:
        for table in repeated.tables:
            verdict = "identical" if table.same_bytes else "identical values" if table.same_values else "DIFFERS"
            typer.echo(f"{table.table}: {verdict}")
    if not repeated.identical:
        if repeated.recorded_version != _core.__version__:
            _say(f"the manifest is of varicap {repeated.recorded_version}, this is {_core.__version__}")
        raise typer.Exit(RUN_FAILED)


@app.command(
    epilog="Examples: varicap reproduce | varicap reproduce ratcp | varicap reproduce ratcp fig04 --quick | "
    "varicap reproduce all --json"
)
def reproduce(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="The paper, or `all`; without it they are listed.")
    ] = None,
    figure: Annotated[str | None, typer.Argument(metavar="[FIGURE]", help="One of its tables or figures.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter runs: wider intervals.")] = False,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the plots, with one folder for each paper.")
    ] = Path("varicap-out/reproduce"),
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 4 if a verdict is not the one on record.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    jobs: Annotated[int | None, typer.Option("-j", "--jobs", min=1, help="Cores (default: all).")] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no messages.")] = False,
) -> None:
    """Measure again what the papers state: each claim with the paper's value, ours, its interval and a verdict."""
    from varicap import papers

    known = papers.keys()
    if key is None:
        _list_papers([papers.paper(one) for one in known], as_json)
        return
    chosen = known if key == "all" else [_one_of("paper", key, known)]
    if key == "all" and figure is not None:
        raise typer.BadParameter("a figure is of one paper, not of `all`", param_hint="FIGURE")
    done = [_reproduce(papers.paper(one), figure, quick, output / one, jobs, quiet, not as_json) for one in chosen]
    if as_json:
        objects = [one.to_dict() for one in done]
        typer.echo(json.dumps({"papers": objects} if key == "all" else objects[0], ensure_ascii=False))
    surprises = [claim for one in done for claim in one.surprises]
    for claim in surprises:
        (_quiet if quiet else _say)(f"{claim.claim.id}: {claim.verdict}, on record as {claim.claim.expect}")
    if strict and surprises:
        raise typer.Exit(BREACH)


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
    paper: "Paper", figure: str | None, quick: bool, plots: Path, jobs: int | None, quiet: bool, tables: bool
) -> "Reproduction":
    from varicap.papers.reproduce import reproduce as again
    from varicap.papers.run import Run
    from varicap.report import verdicts

    figures = None if figure is None else [_one_of("figure", figure, list(paper.figures))]
    with _progress(paper.key, quiet) as progress:
        run = Run(paper.key, quick=quick, jobs=jobs)
        try:
            done = again(paper, figures, run=run, plots=plots, progress=progress)
        except ModuleNotFoundError as error:
            if error.name != "matplotlib":
                raise
            _fail("figures need matplotlib: install varicap[plot]", MACHINE_LACKS)
    if tables:
        console = _console()
        for table in verdicts.rich_tables(done):
            console.print(table)
        typer.echo(verdicts.conclusion(done))
    if not quiet:
        _say(f"plots are in {plots}")
    return done


def _one_of(what: str, name: str, known: list[str]) -> str:
    """`name` if it is known; a name that is not is the user's mistake."""
    if name in known:
        return name
    close = difflib.get_close_matches(name, known, n=1)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    raise typer.BadParameter(f"no {what} `{name}`{meant} There are: {', '.join(known)}", param_hint=what.upper())


@app.command()
def bench(
    flows: Annotated[int | None, typer.Option(min=1, help="Flows of a workload of your own.")] = None,
    rate: Annotated[str, typer.Option(help="Its capacity.")] = "100 Mbit/s",
    buffer: Annotated[str, typer.Option(help="Its drop-tail buffer.")] = "1 bdp",
    delay: Annotated[str, typer.Option(help="Its one-way propagation delay.")] = "10 ms",
    duration: Annotated[str, typer.Option(help="Its simulated time.")] = "60 s",
    ack_every: Annotated[int, typer.Option(min=1, help="Packets per acknowledgement.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure the engine: CPU time per delivered data packet, packets per CPU second, peak memory."""
    from varicap import bench as workloads

    chosen = workloads.STANDARD
    if flows is not None:
        chosen = (workloads.Workload("own", flows, rate, buffer, delay, duration, ack_every),)
    measured = []
    for workload in chosen:
        measured.append(workloads.measure(workload))
        if not as_json:
            _print_bench(measured[-1], heading=len(measured) == 1)
    if as_json:
        typer.echo(json.dumps({"workloads": measured}))


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    typer.echo(_core.schema())


@app.command()
def columns(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List the columns of the result tables, with their units."""
    described = json.loads(_core.columns())
    if as_json:
        typer.echo(json.dumps(described, ensure_ascii=False))
        return
    tables = {name: value for name, value in described.items() if isinstance(value, list)}
    for kind, of_kind in tables.items():
        typer.echo(f"{kind}:")
        for column in of_kind:
            typer.echo(f"  {column['name']:<28} {'[' + column['unit'] + ']':<12} {column['description']}")


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Say what this machine has for varicap."""
    from varicap.results import host, software

    found: dict[str, Any] = {
        "software": software(),
        "host": host(),
        "cores": os.cpu_count(),
        "engines": {"sim": True, "model": False, "kernel": False},
    }
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    for group in ("software", "host"):
        for key, value in found[group].items():
            typer.echo(f"{key:<14} {value}")
    typer.echo(f"{'cores':<14} {found['cores']}")
    typer.echo(f"{'engines':<14} sim (model and kernel are not part of this version)")


def _overrides(given: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in given:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise typer.BadParameter(f"`{text}` is not PATH=VALUE, such as duration='10 s'", param_hint="--set")
        pairs.append((path.strip(), value.strip()))
    return pairs


def _share(text: str) -> float:
    """A share such as `2%` or `0.02`."""
    number = text.strip()
    try:
        value = float(number.removesuffix("%")) / (100.0 if number.endswith("%") else 1.0)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(
            f"`{text}` is not a share between 0 and 1, such as 2% or 0.02", param_hint="--precision"
        )
    return value


def _explain(scenario: _core.Scenario, as_json: bool) -> None:
    lines = json.loads(scenario.explain())
    if as_json:
        typer.echo(json.dumps(lines, ensure_ascii=False))
        return
    width = max((len(line["key"]) for line in lines), default=0)
    for line in lines:
        origin = "" if line["given"] else "  # follows" if line["key"].startswith("resolved.") else "  # default"
        typer.echo(f"{line['key']:<{width}}  {line['value']}{origin}")


def _draw(result: "Result", folder: Path, say: Callable[[str], None]) -> None:
    try:
        figure = result.figure()
    except ImportError:
        _fail("plots need matplotlib: install varicap[plot], or say --no-plot", MACHINE_LACKS)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "plot.png"
    figure.savefig(path, metadata={"Software": f"varicap {_core.__version__}"})
    say(f"wrote {path}")


def _folder_name(name: str) -> str:
    """`name` as one plain folder: a scenario cannot choose where we write."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(".")
    return plain or "scenario"


def _console(stderr: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # Piped tables keep their columns whole; a terminal has its own width.
    return Console(stderr=stderr, width=None if stream.isatty() else 140, highlight=False)


def _print_tables(result: "Result") -> None:
    from varicap.report.table import rich_tables

    console = _console()
    for table in rich_tables(result.summary):
        console.print(table)


def _print_bench(measured: dict[str, Any], heading: bool) -> None:
    headings = ("workload", "flows", "rate [Mb/s]", "packets", "CPU [s]", "ns/packet", "packets/CPU s", "peak [MB]")
    if heading:
        typer.echo("".join(f"{text:>14}" for text in headings))
    cells = (
        measured["name"],
        measured["flows"],
        f"{measured['rate_bps'] / 1e6:g}",
        measured["delivered_packets"],
        f"{measured['cpu_s']:.3f}",
        f"{measured['ns_per_packet']:.1f}",
        f"{measured['packets_per_cpu_s']:.0f}",
        f"{measured['peak_mb']:.1f}",
    )
    typer.echo("".join(f"{cell:>14}" for cell in cells))


@contextmanager
def _progress(name: str, quiet: bool) -> Iterator[Callable[[float, int, int], None] | None]:
    """A progress bar on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[runs]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=1.0, runs="")

        def show(share: float, done: int, total: int) -> None:
            bar.update(task, completed=share, runs=f"{done}/{total} runs")

        yield show


def _say(message: str) -> None:
    typer.echo(f"varicap: {message}", err=True)


def _quiet(_message: str) -> None:
    pass


def _fail(message: str, code: int) -> NoReturn:
    _say(message)
    sys.exit(code)
