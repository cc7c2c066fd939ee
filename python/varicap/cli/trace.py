"""`varicap trace`: capacity traces described, converted, generated, drawn."""

import inspect
import json
from dataclasses import Field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from varicap import units
from varicap._files import write_whole
from varicap.cli._quantities import option, reported, text
from varicap.cli._trace_fit import fit
from varicap.cli._trace_reading import read, understood, with_reading
from varicap.cli._trace_trains import trains
from varicap.terminal import (
    LARGEST_SEED,
    AsJson,
    Quiet,
    check_file,
    console,
    draw,
    echo,
    one_of,
    quantities,
    quantity,
    say,
    say_nothing,
)
from varicap.traces.parameters import Cells, Cellular, Satellite

if TYPE_CHECKING:
    from varicap.traces import Delays, Format, Reading, Trace

commands = typer.Typer()
trace = typer.Typer(no_args_is_help=True, help="Capacity traces: described, converted, generated, drawn.")
generate = typer.Typer(no_args_is_help=True, help="Make a trace. The ending of its name says the format.")
trace.add_typer(generate, name="generate")
commands.add_typer(trace, name="trace")

Files: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE…", help="Logs in any form: tables, JSON, captures, Mahimahi's, LeoReplayer's.", show_default=False
    ),
]
Output: TypeAlias = Annotated[
    Path,
    typer.Option("-o", "--output", help="The file: .csv for rates, bw_N.txt for LeoReplayer, else Mahimahi."),
]
To: TypeAlias = Annotated[
    str | None, typer.Option("--to", help="mahimahi, csv, leoreplayer.", show_default="as the name says")
]
Duration: TypeAlias = Annotated[str, typer.Option(help="How long it is.")]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, max=LARGEST_SEED, help="The same seed gives the same trace on any machine.")
]


@trace.command(
    epilog="Examples: varicap trace info examples/traces/lte-like.down examples/traces/lte-like.up | "
    "varicap trace info drive.csv --columns time=Timestamp,rate=DL:kbit/s --gaps outage"
)
@with_reading
def info(
    reading: "Reading",
    files: Files,
    step: Annotated[str, typer.Option(help="Rates are means over so much time.")] = "100 ms",
    outage: Annotated[str, typer.Option(help="The shortest time without capacity that counts.")] = "100 ms",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the numbers to this file, as --json prints them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe traces: rates, outages, how much they vary over 10 ms to 10 s, how soon they forget."""
    from rich.table import Table
    from rich.text import Text

    from varicap import traces
    from varicap.report import traces as report

    if output is not None:
        check_file(output)
    step_s, outage_s = quantity("--step", units.seconds, step), quantity("--outage", units.seconds, outage)
    loaded = {str(file): read(file, reading) for file in files}
    found = {name: reported(partial(traces.info, each, step_s, outage_s)) for name, each in loaded.items()}
    numbers = [{"file": name, **each.to_dict()} for name, each in found.items()]
    if output is not None:
        write_whole(output, json.dumps(numbers, ensure_ascii=False) + "\n")
    if as_json:
        echo(json.dumps(numbers, ensure_ascii=False))
        return
    for name, each in loaded.items():
        understood(each, name, is_quiet=False)
    terminal = console()
    for part in report.parts(found):
        headings, rows = report.table(part)
        drawn = Table(title=Text(f"rates over {next(iter(part.values())).step_s:g} s"), title_justify="left")
        for place, heading in enumerate(headings):
            drawn.add_column(Text(Path(heading).name), justify="right" if place else "left")
        for row in rows:
            drawn.add_row(*map(Text, row))
        terminal.print(drawn)


@trace.command(
    epilog="Examples: varicap trace convert lte.down -o lte.csv --step '50 ms' | "
    "varicap trace convert rates.csv -o rates.down | varicap trace convert bw_1.txt -o starlink.csv"
)
@with_reading
def convert(
    reading: "Reading",
    source: Annotated[Path, typer.Argument(metavar="FILE", help="The trace, in any format.", show_default=False)],
    target: Annotated[
        Path | None, typer.Argument(metavar="NEW", help="The new file; or -o.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The new file: .csv for rates, bw_N.txt for LeoReplayer, else Mahimahi."),
    ] = None,
    to: To = None,
    step: Annotated[str, typer.Option(help="Rates of opportunities are means over so much time.")] = "100 ms",
    delay: Annotated[
        str | None, typer.Option(help="One-way delay for LeoReplayer.", show_default="what was recorded")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a trace in another format; the work that the link can do stays the same."""
    from varicap import traces

    if target is not None and output is not None:
        raise typer.BadParameter(f"the new file is given twice: {target} and -o {output}", param_hint="--output")
    new = target or output
    if new is None:
        raise typer.BadParameter("the new file is missing: -o FILE", param_hint="--output")
    check_file(new)
    step_s = quantity("--step", units.seconds, step)
    loaded = read(source, reading)
    understood(loaded, source, quiet or as_json)
    if delay is not None:
        loaded = reported(lambda: traces.with_delay(loaded, _constant_delay(delay, loaded)))
    _save(loaded, new, to, as_json, quiet, step_s=step_s)


@trace.command(
    epilog="Example: varicap trace plot examples/traces/lte-like.down examples/traces/lte-like.up -o lte.pdf"
)
@with_reading
def plot(
    reading: "Reading",
    files: Files,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file: its ending says pdf, svg or png.")] = Path(
        "trace.png"
    ),
    step: Annotated[
        str | None, typer.Option(help="Rates are means over so much time.", show_default="a 600th, 100 ms or more")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw traces over each other: rates over time and their distribution, and delays and losses if there are any."""
    from varicap.report import traces as report

    if output.suffix.lower() not in (".pdf", ".svg", ".png"):
        raise typer.BadParameter(f"`{output}` does not end in .pdf, .svg, .png", param_hint="--output")
    check_file(output)
    step_s = None if step is None else quantity("--step", units.seconds, step)
    loaded = {str(file): read(file, reading) for file in files}
    for file, each in loaded.items():
        understood(each, file, quiet)
    names = _short(list(loaded))
    draw(
        lambda: reported(lambda: report.figure(dict(zip(names, loaded.values(), strict=True)), step_s)),
        output,
        say_nothing if quiet else say,
    )


trace.command(
    epilog="Examples: varicap trace fit lte.down --simulations 40 --figure fit.pdf | "
    "varicap trace fit bw_1.txt --like leo"
)(with_reading(fit))
trace.command(epilog="Example: varicap trace trains lte.down --share '40 %' -o lte.trains")(trains)


@generate.command(epilog="Example: varicap trace generate constant --rate '12 Mbit/s' -o twelve.down")
def constant(
    output: Output,
    rate: Annotated[str, typer.Option(help="The rate.")],
    duration: Duration = "60 s",
    to: To = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """The same rate all the time."""
    from varicap import traces

    rate_bps, length = quantity("--rate", units.bits_per_second, rate), quantity("--duration", units.seconds, duration)
    made = reported(lambda: traces.generate_constant(rate_bps, length))
    _save(made, output, to, as_json, quiet, note=f"constant --rate '{rate}' --duration '{duration}'")


@generate.command(epilog="Example: varicap trace generate step --rates '10 Mbit/s,2 Mbit/s' --hold '5 s' -o step.csv")
def step(
    output: Output,
    rates: Annotated[str, typer.Option(help="Rates in turn.", metavar="RATE,RATE,…")],
    hold: Annotated[str, typer.Option(help="How long each holds: one time, or as many as rates.", metavar="TIME,…")],
    duration: Duration = "60 s",
    to: To = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Rates in turn, over and over."""
    from varicap import traces

    rates_bps, hold_s = quantities("--rates", units.bits_per_second, rates), quantities("--hold", units.seconds, hold)
    length = quantity("--duration", units.seconds, duration)
    made = reported(lambda: traces.generate_steps(rates_bps, hold_s, length))
    _save(made, output, to, as_json, quiet, note=f"step --rates '{rates}' --hold '{hold}' --duration '{duration}'")


@generate.command(
    epilog="Example: varicap trace generate markov --rates '8 Mbit/s,2 Mbit/s' --hold '2 s' --seed 3 -o markov.csv"
)
def markov(
    output: Output,
    rates: Annotated[str, typer.Option(help="The rate in each state.", metavar="RATE,RATE,…")],
    hold: Annotated[str, typer.Option(help="Mean time in each state: one, or as many as rates.", metavar="TIME,…")],
    duration: Duration = "60 s",
    seed: Seed = 1,
    to: To = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """A Markov chain: exponential times at a rate, then at another one."""
    from varicap import traces

    rates_bps, hold_s = quantities("--rates", units.bits_per_second, rates), quantities("--hold", units.seconds, hold)
    length = quantity("--duration", units.seconds, duration)
    made = reported(lambda: traces.generate_markov(rates_bps, hold_s, length, seed))
    note = f"markov --rates '{rates}' --hold '{hold}' --duration '{duration}' --seed {seed}"
    _save(made, output, to, as_json, quiet, note=note)


def _from_parameters(name: str, link: type, make: str, says: str, example: str) -> None:
    """The command that generates a trace of `link`, with an option for each of its parameters."""

    def command(**given: Any) -> None:
        from varicap import traces

        output, to, as_json, quiet = (given.pop(key) for key in ("output", "to", "as_json", "quiet"))
        seed, duration = given.pop("seed"), given.pop("duration")
        values = {each.name: _value(each, given[each.name]) for each in fields(link)}
        length = quantity("--duration", units.seconds, duration)
        # An LTE-like link has opportunities of its own: Poisson about its capacity, not spread evenly.
        wants_rates = make == "generate_lte" and _format(output, to) == "csv"
        generator = getattr(traces, "generate_lte_rates" if wants_rates else make)
        made = reported(lambda: generator(seed, length, link(**values)))
        options = (
            f"{option(each.name)} '{given[each.name]}'"
            for each in fields(link)
            if given[each.name] != text(each.name, each.default)
        )
        note = " ".join([name, *options, f"--duration '{duration}' --seed {seed}"])
        _save(made, output, to, as_json, quiet, note=note)

    parameters: list[tuple[str, Any, Any]] = [("output", Output, inspect.Parameter.empty)]
    for each in fields(link):
        kind = Annotated[str, typer.Option(option(each.name), help=f"{each.metadata['says']}.")]
        parameters.append((each.name, kind, text(each.name, each.default)))
    parameters += [
        *(("duration", Duration, "60 s"), ("seed", Seed, 1), ("to", To, None)),
        *(("as_json", AsJson, False), ("quiet", Quiet, False)),
    ]
    command.__doc__ = says
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for key, kind, default in parameters
        ]
    )
    generate.command(name, epilog=f"Example: varicap trace generate {name} {example}")(command)


def _value(each: "Field[Any]", given: str) -> float:
    if each.name.endswith("_bps"):
        return quantity(option(each.name), units.bits_per_second, given)
    if each.name.endswith("_s"):
        return quantity(option(each.name), units.seconds, given)
    return quantity(option(each.name), float, given)


def _constant_delay(text: str, of: "Trace") -> "Delays":
    import numpy as np

    from varicap.traces import Delays

    return Delays(np.zeros(1), np.array([quantity("--delay", units.seconds, text) * 1000]), of.duration_s)


def _format(path: Path, to: str | None) -> "Format":
    from varicap import traces

    if to is None:
        return traces.format_of(path)
    chosen = one_of("format", to, list(traces.FORMATS))
    return next(known for known in traces.FORMATS if known == chosen)


def _save(
    made: "Trace",
    output: Path,
    to: str | None,
    as_json: bool,
    quiet: bool,
    step_s: float = 0.1,
    note: str | None = None,
) -> None:
    """Write a trace, and say how a scenario names it."""
    import varicap._core as _core
    from varicap import traces

    form = _format(output, to)
    comment = [] if note is None else [f"varicap {_core.__version__}: varicap trace generate {note}"]
    written = reported(lambda: traces.save(made, output, form, step_s, comment))
    key = "trace" if form == "csv" else "opportunities"
    delays, losses = _delays_in(made, form, written), _losses_in(made, form, written)
    mean = traces.mean_rate_bps(made)
    if as_json:
        found = {
            "files": [str(path) for path in written],
            "duration_s": made.duration_s,
            "mean_bps": mean,
            "capacity": {key: {"file": str(written[0])}},
            "delay": None if delays is None else {"trace": {"file": str(delays)}},
            "loss": None if losses is None else {"trace": {"file": str(losses)}},
        }
        echo(json.dumps(found, ensure_ascii=False))
    elif not quiet:
        files = ", ".join(str(path) for path in written[:-1])
        files = f"{files} and {written[-1]}" if files else str(written[-1])
        say(f"wrote {files}: {made.duration_s:g} s, {mean / 1e6:.3g} Mb/s on average")
        lost = [name for name, each in (("delays", made.delay), ("losses", made.loss)) if each is not None]
        if form == "mahimahi" and lost:
            say(f"{' and '.join(lost)} are not in it: Mahimahi's format has none, a CSV (`--to csv`) would keep them")
        say(f'in a scenario: capacity = {{ {key} = {{ file = "{written[0]}" }} }}')
        for beside, file in (("delay", delays), ("loss", losses)):
            if file is not None:
                say(f'               {beside} = {{ trace = {{ file = "{file}" }} }}')


def _delays_in(made: "Trace", form: "Format", written: list[Path]) -> Path | None:
    """The file of those written that has the delays of the trace, if any does: a CSV beside the rates."""
    if made.delay is None or form == "mahimahi":
        return None
    return written[0] if form == "csv" else written[1]


def _losses_in(made: "Trace", form: "Format", written: list[Path]) -> Path | None:
    """The same of losses: a column of the CSV, or a file of its own."""
    if made.loss is None or form == "mahimahi":
        return None
    return written[0] if form == "csv" else written[2]


def _short(names: list[str]) -> list[str]:
    """Names without their folders, where that leaves them apart."""
    plain = [Path(name).name for name in names]
    return plain if len(set(plain)) == len(plain) else names


_from_parameters(
    *("lte", Cellular, "generate_lte"),
    "An LTE-like link: slow and fast fading, losses of coverage.",
    "--median '8 Mbit/s' --seed 7 --duration '5 min' -o lte.down",
)
_from_parameters(
    *("leo", Satellite, "generate_leo"),
    "A link to satellites in low orbit: another capacity and delay every 15 s, after a short outage and losses.",
    "--duration '2 min' -o bw_1.txt",
)
_from_parameters(
    *("handover", Cells, "generate_handover"),
    "A way from cell to cell: capacity rises and falls, with a gap, losses and another delay at each border.",
    "--crossing '30 s' -o train.csv",
)
