"""`varicap design advice`."""

from pathlib import Path
from typing import Annotated

import typer

from varicap import units
from varicap.cli.design._answer import say, solving
from varicap.terminal import MOST_RUNS, AsJson, BaseSeed, Jobs, Quiet, quantity

commands = typer.Typer()


@commands.command(
    epilog="Example: varicap design advice examples/markov.toml --update '1 s,25 s' --steps 20 --keep '90 %' "
    "--delay '80 %'"
)
def advice(
    scenario: Annotated[Path, typer.Argument(help="Scenario whose flows would follow advice.")],
    update: Annotated[str, typer.Option(help="Times between updates; advice counts 2.7 times as long.")] = (
        "0.1 s,1 s,5 s,25 s"
    ),
    steps: Annotated[str, typer.Option(help="Levels in a factor of ten.")] = "20,200",
    keep: Annotated[str, typer.Option(help="Least goodput, of that without advice.")] = "95 %",
    delay: Annotated[str, typer.Option(help="Greatest RTT (95th percentile), of that without advice.")] = "80 %",
    seeds: Annotated[
        int,
        typer.Option(
            min=2, max=MOST_RUNS, help="Replications of each simulation; up to 4 times as many where undecided."
        ),
    ] = 4,
    seed: BaseSeed = None,
    as_json: AsJson = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """How often advice has to come, and how fine, to be worth following on a link whose capacity varies.

    It is worth it where flows keep most of the goodput that they have without, and their delay falls.  The settings
    whose intervals say so are run again with other seeds in turn, from the one that asks least of the network on; the
    first whose intervals say so again is recommended.
    """
    from varicap.design.advice import report
    from varicap.design.advice import solve as design

    target = design.Target(keep=quantity("--keep", units.share, keep), delay=quantity("--delay", units.share, delay))
    with solving("advice", quiet) as progress:
        found = design.advice(
            scenario,
            updates_s=[quantity("--update", units.seconds, part) for part in update.split(",")],
            steps=[int(quantity("--steps", _whole, part)) for part in steps.split(",")],
            target=target,
            seeds=seeds,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )
    say(found, report, as_json)


def _whole(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"expected a whole number, found {text.strip()!r}") from None
