"""`varicap run`, `compare` and `replay`."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import varicap._core as _core
from varicap import _interrupt
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.scenarios import load
from varicap.errors import InterruptedRuns, StoppedRunsError
from varicap.results.capture import SNAPLEN, snap_length
from varicap.results.pieces import StudyError
from varicap.terminal import (
    BREACH,
    LARGEST_SEED,
    MACHINE_LACKS,
    MOST_RUNS,
    RUN_FAILED,
    USAGE,
    AsJson,
    Jobs,
    MaxMemory,
    MaxTime,
    Plugins,
    Quiet,
    SetValue,
    brought,
    check_file,
    check_folder,
    draw,
    echo,
    fail,
    folder_name,
    interrupted,
    live_view,
    overrides,
    print_tables,
    progress_bar,
    quantity,
    say,
    say_nothing,
    share_of,
    study_errors,
    tell,
)

if TYPE_CHECKING:
    from varicap.results.manifest import Which
    from varicap.results.result import Result

commands = typer.Typer()


class Engine(StrEnum):
    """What answers."""

    sim = "sim"
    model = "model"
    kernel = "kernel"


_FOR_SIM = "brings what is written in Python to the simulator, which no other engine runs"


class Kernel(StrEnum):
    """How much of itself the kernel keeps."""

    classic = "classic"
    stock = "stock"


class Clock(StrEnum):
    """Whose time the kernel keeps."""

    simulated = "simulated"
    real = "real"


KernelClock = Annotated[
    Clock | None,
    typer.Option(
        "--clock",
        help="The kernel engine: the time of a kernel that `varicap kernel build` made, or of the one that runs here.",
        show_default="simulated",
    ),
]
KernelName = Annotated[
    str | None,
    typer.Option(
        "--kernel-name",
        metavar="NAME",
        help="The kernel engine in simulated time: this kernel (see `varicap kernel list`).",
        show_default="the newest",
    ),
]
Modules = Annotated[
    list[Path] | None,
    typer.Option(
        "--module",
        metavar="FILE",
        help="The kernel engine: build this control in C, which flows name, and load it in guests; may be given again.",
        show_default=False,
    ),
]
KernelMode = Annotated[
    Kernel | None,
    typer.Option(
        "--kernel",
        help="The kernel engine: Linux close to the standards, or as it is (default: stock; classic for other stacks).",
        show_default=False,
    ),
]


@commands.command(
    epilog="Examples: varicap run examples/lte.toml | varicap run examples/fixed.toml --seeds 20 --json | "
    "varicap run examples/fixed.toml --set topology.dumbbell.forward.delay='20 ms' -o results"
)
def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario: TOML or JSON, - for stdin.", show_default=False)
    ],
    engine: Annotated[Engine, typer.Option(help="What answers.")] = Engine.sim,
    kernel: KernelMode = None,
    clock: KernelClock = None,
    kernel_name: KernelName = None,
    module: Modules = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_RUNS, help="Replications (default: what the scenario says; in real time 1)."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=LARGEST_SEED, help="Base seed (default: what the scenario says).")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Add replications until each interval is within this share of its mean, such as 2%."),
    ] = None,
    max_seeds: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Most replications that --precision may reach.")
    ] = 1000,
    set_: SetValue = None,
    plugin: Plugins = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for tables, manifest and plot (default: varicap-out/NAME)."),
    ] = None,
    pcap: Annotated[
        Path | None, typer.Option(help="Write the packets of the first run for Wireshark (pcapng).")
    ] = None,
    snaplen: Annotated[
        str | None,
        typer.Option(
            help="With --pcap: as much of each packet, such as '96 B'; '0 B' stands for all of it.",
            show_default="128 B, which all headers fit into",
        ),
    ] = None,
    series: Annotated[bool, typer.Option("--series", help="Record time series, and write the tables.")] = False,
    packets: Annotated[
        bool, typer.Option("--packets", help="Record what happens to each packet, and write the tables.")
    ] = False,
    plot: Annotated[
        bool | None, typer.Option("--plot/--no-plot", help="Draw the first run (default: unless --json).")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Show flows and queues while runs go on, if this is a terminal.")
    ] = False,
    as_json: AsJson = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print every value, given or default, and stop.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 4 if the result is not valid (`fidelity` says why).")
    ] = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: MaxTime = MAX_TIME,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario and print what each flow got."""
    from varicap import engines

    own = brought(plugin)
    if plugin and engine is not Engine.sim:
        raise typer.BadParameter(_FOR_SIM, param_hint="--plugin")
    scenario = load(file, overrides(set_ or []))
    if explain:
        _explain(scenario, as_json)
        return
    _warn(scenario, say_nothing if quiet else say)
    if engine is Engine.model:
        _analyse(scenario, output, as_json, strict, say_nothing if quiet else say)
        return
    share = None if precision is None else share_of(precision)
    if engine is Engine.kernel and not quiet:
        _say_which_clock(clock, kernel_name, is_alone=seeds is None and share is None)
    drawn = plot if plot is not None else not as_json
    folder = output or Path("varicap-out") / folder_name(scenario.name)
    kept = output is not None or series or packets or drawn or not as_json
    if kept:
        check_folder(folder)
    length = SNAPLEN if snaplen is None else snaplen
    quantity("--snaplen", snap_length, length)
    if pcap is not None:
        check_file(pcap)
    elif snaplen is not None:
        raise typer.BadParameter("is for --pcap", param_hint="--snaplen")
    report = say_nothing if quiet else say
    try:
        with _shown(scenario.name, live, quiet) as watched:
            result = engines.run(
                scenario,
                engine="sim" if engine is Engine.sim else "kernel",
                kernel=kernel.value if kernel is not None and engine is Engine.kernel else None,
                clock=clock.value if clock is not None and engine is Engine.kernel else None,
                kernel_name=kernel_name if engine is Engine.kernel else None,
                modules=module if engine is Engine.kernel else None,
                **own,
                seeds=seeds,
                seed=seed,
                precision=share,
                max_seeds=max_seeds,
                series=_recorded(series or scenario.record_series, drawn),
                packets=_recorded(packets or scenario.record_packets, pcap is not None),
                jobs=jobs,
                max_memory=max_memory,
                max_time=max_time,
                folder=folder if kept else None,
                save=False,
                notify=say,
                **watched,
            )
    except InterruptedRuns as stop:
        if kept and stop.result is not None:
            _keep(stop.result, folder, output is not None, say_nothing)
        if not kept:
            there = "were finished, and are not kept without -o"
        elif stop.folder is None:
            there = "were finished; the same command begins anew"
        else:
            there = f"are kept in {folder}; the same command goes on from there"
        interrupted(f"interrupted: {stop.done} of {stop.wanted} runs {there}")
        raise
    except StoppedRunsError as stop:
        if kept:
            _keep(stop.result, folder, output is not None, say_nothing)
            say(f"stopped: {stop.result.runs} of {stop.wanted} runs are kept in {folder}; the same command goes on")
        raise
    except StudyError as error:
        fail(str(error), RUN_FAILED)
    except KeyboardInterrupt:
        interrupted("interrupted: nothing is kept")
        raise
    if share is not None:
        _report_precision(result, share, max_seeds, report)
    if kept:
        from varicap.results.unfinished import discard

        _keep(result, folder, output is not None, report)
        discard(folder, result.request, say)
    if drawn:
        draw(result.figure, folder / "plot.png", report)
    if pcap is not None:
        for path in result.write_pcapng(pcap, length):
            report(f"wrote {path}")
    if as_json:
        echo(json.dumps(result.summary, ensure_ascii=False))
    else:
        _print_tables(result.summary)
        from varicap.report import story

        tell(story.of_runs(result.summary, result.flows, result.links))
    for note in result.summary["notes"]:
        report(f"note: {note}")
    _check_fidelity(result.summary, strict, report)


def _say_which_clock(clock: Clock | None, kernel_name: str | None, *, is_alone: bool) -> None:
    """Say that a run is in real time, and how it need not be."""
    from varicap import kernels

    if kernels.is_simulated(clock, kernel_name):
        return
    how = (
        ""
        if clock is Clock.real
        else f": no kernel for simulated time has been built here, which `{kernels.BUILDS}` does"
    )
    say(f"{'one run ' if is_alone else ''}in real time{' (more with --seeds)' if is_alone else ''}{how}")


def _recorded(all_runs: bool, first: bool) -> "Which | None":
    return True if all_runs else "first" if first else None


def _keep(result: "Result", folder: Path, chosen: bool, report: Callable[[str], None]) -> None:
    """Save the tables.  Results of other runs give way in a folder that the user chose, and are moved elsewhere."""
    from varicap.results.kept import keep

    with _interrupt.HeldBack():
        replacing = ", in place of earlier results" if chosen and (folder / "manifest.json").exists() else ""
        manifest, moved = (result.save(folder), None) if chosen else keep(result, folder)
        if moved is not None:
            report(f"other results that were in {folder} are now in {moved}")
        report(f"wrote {manifest}{replacing}; varicap report {folder} makes a page of it")


def _report_precision(result: "Result", wanted: float, max_seeds: int, report: Callable[[str], None]) -> None:
    """Say what --precision reached, and with how many runs."""
    from varicap.engines.precision import precision_of

    reached = precision_of(result.summary)
    if isinf(reached):
        agree = "agree in a goodput or a utilisation, which says nothing of others"
        report(f"{result.runs} runs {agree}: not the {100 * wanted:g} % of --precision")
        return
    short = "" if reached <= wanted else f": not the {100 * wanted:g} % of --precision, with {max_seeds} --max-seeds"
    report(f"{result.runs} runs: the widest interval is ± {100 * reached:.3g} % of its mean{short}")


@contextmanager
def _shown(name: str, live: bool, quiet: bool) -> Iterator[dict[str, Any]]:
    """What a terminal shows while runs go on, as options for them: all of them, or how far they are."""
    if live:
        with live_view(name, quiet) as watched:
            yield watched
    else:
        with progress_bar(name, quiet) as progress:
            yield {"progress": progress}


def _analyse(
    scenario: _core.Scenario, output: Path | None, as_json: bool, strict: bool, report: Callable[[str], None]
) -> None:
    """Answer by analysis: no runs, no plots."""
    from varicap.engines import model

    if output is not None:
        check_folder(output)
    result = model.solve(scenario)
    if output is not None:
        report(f"wrote {result.save(output)}")
    if as_json:
        echo(json.dumps(result.summary, ensure_ascii=False))
    else:
        _print_tables(result.summary)
    for reason in model.reasons(result.summary):
        report(reason)
    _check_fidelity(result.summary, strict, report)


def _check_fidelity(summary: dict[str, Any], strict: bool, report: Callable[[str], None]) -> None:
    for warning in summary["fidelity"].get("warnings", []):
        report(warning)
    if summary["fidelity"]["valid"]:
        return
    faults = summary["fidelity"].get("faults", [])
    # Also with --quiet: a number that does not hold must not look like one that does.
    say(f"this result is not valid: {'; '.join(faults) if faults else 'see `fidelity` in --json'}")
    if strict:
        raise typer.Exit(BREACH)


@commands.command(
    epilog="Examples: varicap compare examples/fixed.toml | varicap compare examples/lte.toml --fit --slot '200 ms'"
)
def compare(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario: TOML or JSON, - for stdin.", show_default=False)
    ],
    only: Annotated[
        list[Engine] | None, typer.Option("--engine", help="Ask this one; may be given again (default: all).")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, max=MOST_RUNS, help="Replications of the simulator.")] = None,
    fit: Annotated[
        bool, typer.Option("--fit", help="Also fit a chain to each trace of a capacity: which step makes the error?")
    ] = False,
    slot: Annotated[
        str | None, typer.Option(help="With --fit: length of a slot of the chains.", show_default="100 ms")
    ] = None,
    kernel_seeds: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_RUNS, help="With --fit: runs of the kernel.", show_default="3"),
    ] = None,
    kernel: KernelMode = None,
    clock: KernelClock = None,
    kernel_name: KernelName = None,
    module: Modules = None,
    set_: SetValue = None,
    plugin: Plugins = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the plot (default: varicap-out/NAME).")
    ] = None,
    plot: Annotated[
        bool | None, typer.Option("--plot/--no-plot", help="Draw the windows (default: unless --json).")
    ] = None,
    as_json: AsJson = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: MaxTime = MAX_TIME,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Ask the three engines about one scenario: their answers side by side, and the differences in percent."""
    from varicap import engines
    from varicap.engines import comparison
    from varicap.engines.model import reasons
    from varicap.report import engines as tables
    from varicap.report import story

    drawn = plot if plot is not None else not as_json
    if drawn:
        check_folder(output or Path("varicap-out"))
    asked: list[engines.Engine] = [engine.value for engine in only or Engine]
    if not fit and (slot is not None or kernel_seeds is not None):
        raise typer.BadParameter("is for --fit", param_hint="--kernel-seeds" if slot is None else "--slot")
    if fit:
        from varicap.cli._compare_fit import compare_fit

        compare_fit(
            file,
            slot or "100 ms",
            output=output,
            drawn=drawn,
            as_json=as_json,
            quiet=quiet,
            report=say_nothing if quiet else say,
            only=asked,
            seeds=seeds,
            kernel_seeds=kernel_seeds or 3,
            kernel=None if kernel is None else kernel.value,
            clock=None if clock is None else clock.value,
            kernel_name=kernel_name,
            **brought(plugin),
            overrides=overrides(set_ or []),
            jobs=jobs,
            max_memory=max_memory,
            max_time=max_time,
        )
        return
    with progress_bar(str(file), quiet) as progress:
        done = comparison.compare(
            file,
            only=asked,
            seeds=seeds,
            kernel=None if kernel is None else kernel.value,
            clock=None if clock is None else clock.value,
            kernel_name=kernel_name,
            modules=module,
            **brought(plugin),
            overrides=overrides(set_ or []),
            jobs=jobs,
            max_memory=max_memory,
            max_time=max_time,
            progress=progress,
        )
    report = say_nothing if quiet else say
    compared = done.to_dict()
    if as_json:
        echo(json.dumps(compared, ensure_ascii=False))
    else:
        print_tables(tables.rich_tables(compared), "--json")
        tell(story.of_engines(compared))
    for answer in compared["engines"]:
        # Also with --quiet: neither a missing column nor an invalid one may go unnoticed.
        if "not_applicable" in answer:
            for reason in answer["not_applicable"].splitlines():
                say(f"{answer['engine']}: {reason}")
            continue
        if answer["engine"] == "model":
            for reason in reasons(answer):
                report(f"model: {reason}")
            if not answer["fidelity"]["valid"]:
                say("model: this result is not valid")
            continue
        fidelity = answer.get("fidelity", {})
        if faults := fidelity.get("faults"):
            say(f"{answer['engine']}: this result is not valid: {'; '.join(faults)}")
        for warning in (*fidelity.get("warnings", []), *answer["notes"]):
            report(f"{answer['engine']}: {warning}")
    if drawn and done.runs:
        draw(done.figure, (output or Path("varicap-out") / folder_name(done.scenario)) / "windows.png", report)
    if not any(_answered(answer) for answer in compared["engines"]):
        fail("no engine answered; each has said why", MACHINE_LACKS)


def _answered(answer: dict[str, Any]) -> bool:
    """Whether an engine says something of a flow."""
    return any("not_applicable" not in flow for flow in answer.get("flows", ()))


@commands.command()
def replay(
    manifest: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Of `varicap run -o`, `sweep` or `design`, or the manifest.json.", show_default=False
        ),
    ],
    module: Modules = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    max_memory: MaxMemory = MAX_MEMORY,
    max_time: MaxTime = MAX_TIME,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Repeat runs, or the runs of a study, from a folder of results, and say whether the tables are identical.

    The exit code is 1 if one is not.  Of a design its runs are repeated, and not the search that chose them.
    """
    from varicap.engines.replay import manifest_in
    from varicap.engines.replay import replay as repeat
    from varicap.results.manifest import ManifestError
    from varicap.results.saved import is_study
    from varicap.study.replay import replay as repeat_study

    limits: dict[str, Any] = {"jobs": jobs, "max_memory": max_memory, "max_time": max_time}
    own = brought(plugin)
    try:
        with study_errors(), progress_bar(str(manifest), quiet) as progress:
            if is_study(manifest_in(manifest)):
                repeated = repeat_study(manifest_in(manifest).parent, **own, **limits, progress=progress)
            else:
                repeated = repeat(manifest, modules=module, **own, **limits, progress=progress)
    except ManifestError as error:
        fail(str(error), USAGE)
    if as_json:
        tables = [{"table": t.table, "same_values": t.same_values, "same_bytes": t.same_bytes} for t in repeated.tables]
        echo(json.dumps({"manifest": str(manifest), "identical": repeated.identical, "tables": tables}))
    else:
        for table in repeated.tables:
            verdict = "identical" if table.same_bytes else "identical values" if table.same_values else "DIFFERS"
            echo(f"{table.table}: {verdict}")
    if not repeated.identical:
        if repeated.recorded_version != _core.__version__:
            say(f"the manifest is of varicap {repeated.recorded_version}, this is {_core.__version__}")
        raise typer.Exit(RUN_FAILED)


def _explain(scenario: _core.Scenario, as_json: bool) -> None:
    lines = json.loads(scenario.explain())
    if as_json:
        echo(json.dumps(lines, ensure_ascii=False))
        return
    width = max((len(line["key"]) for line in lines), default=0)
    for line in lines:
        source = "follows" if line["key"].startswith("resolved.") else line["place"] or "default"
        origin = "" if line["given"] else f"  # {source}"
        echo(f"{line['key']:<{width}}  {line['value']}{origin}")


def _warn(scenario: _core.Scenario, report: Callable[[str], None]) -> None:
    """Say what of the scenario a user should look at before trusting the result."""
    for line in json.loads(scenario.explain()):
        if line["value"].startswith("warning: "):
            report(f"{line['key'].removeprefix('resolved.')}: {line['value']}")


def _print_tables(summary: dict[str, Any]) -> None:
    from varicap.report.table import rich_tables

    print_tables(rich_tables(summary), "--json")
