"""`varicap design lrl`."""

from pathlib import Path
from typing import Annotated

import typer

from varicap import units
from varicap.cli.design._answer import say, solving
from varicap.terminal import MOST_RUNS, USAGE, AsJson, Jobs, Quiet, fail, quantity

commands = typer.Typer()


@commands.command(
    epilog="Example: varicap design lrl examples/lrl.toml --low '1 kB,2 kB,4 kB' --high '3 kB,6 kB,12 kB,17 kB' "
    "--step '50 kbit/s' --least-throughput '1.5 Mbit/s'"
)
def lrl(
    scenario: Annotated[Path, typer.Argument(help="Scenario with load-reactive links; all of them take the settings.")],
    low: Annotated[str, typer.Option(help="Low thresholds, in bytes or packets.")] = "1 kB,2 kB,4 kB",
    high: Annotated[str, typer.Option(help="High thresholds, in the same unit.")] = "3 kB,6 kB,12 kB,17 kB",
    step: Annotated[str, typer.Option(help="Steps of the capacity; 'UP:DOWN' where they differ.")] = "50 kbit/s",
    least_throughput: Annotated[str | None, typer.Option(help="All flows together.", show_default="any")] = None,
    most_capacity: Annotated[str | None, typer.Option(help="Mean capacity allocated.", show_default="any")] = None,
    most_delay: Annotated[
        str | None, typer.Option(help="95th percentile of the queueing delay.", show_default="any")
    ] = None,
    allow_unstable: Annotated[bool, typer.Option(help="Take settings that fall back to the minimum, too.")] = False,
    seeds: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Replications of each simulation; more where they do not decide.")
    ] = 3,
    extend: Annotated[bool, typer.Option(help="Try values beyond an edge at which the best setting lies.")] = True,
    as_json: AsJson = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Find thresholds and steps of load-reactive links that reach a target, and show where the link is unstable.

    Of the settings whose intervals lie within it, the one with the least mean capacity is recommended; without a target
    none is.  Every number is simulated in this call.
    """
    from varicap.design.lrl import report
    from varicap.design.lrl import solve as design

    infinite = float("inf")
    lows, unit = _amounts("--low", low)
    highs, other = _amounts("--high", high)
    if unit != other:
        fail(f"--low is in {unit}, --high in {other}: say both in one unit", USAGE)
    target = design.Target(
        least_throughput_bps=quantity("--least-throughput", units.bits_per_second, least_throughput, 0.0),
        most_capacity_bps=quantity("--most-capacity", units.bits_per_second, most_capacity, infinite),
        most_delay_s=quantity("--most-delay", units.seconds, most_delay, infinite),
        stable=not allow_unstable,
    )
    with solving("lrl", quiet) as progress:
        found = design.lrl(
            scenario,
            lows=lows,
            highs=highs,
            unit="packets" if unit == "packets" else "B",
            steps_bps=[_steps(part) for part in step.split(",")],
            target=target,
            seeds=seeds,
            extend=extend,
            jobs=jobs,
            progress=progress,
        )
    say(found, report, as_json)


def _amounts(option: str, text: str) -> tuple[list[float], str]:
    """Amounts and their unit, "B" or "packets"."""
    parts = [part.strip() for part in text.split(",")]
    kinds = {"packets" if part.endswith(("packet", "packets")) else "B" for part in parts}
    if len(kinds) > 1:
        raise typer.BadParameter("amounts in bytes and in packets", param_hint=option)
    (kind,) = kinds
    if kind == "B":
        return [quantity(option, units.size, part) for part in parts], kind
    try:
        return [float(int(part.split()[0])) for part in parts], kind
    except ValueError:
        raise typer.BadParameter(f"expected whole packets, found {text!r}", param_hint=option) from None


def _steps(text: str) -> tuple[float, float]:
    up, _, down = text.partition(":")
    first = quantity("--step", units.bits_per_second, up.strip())
    return first, quantity("--step", units.bits_per_second, down.strip()) if down else first
