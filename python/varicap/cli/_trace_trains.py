"""`varicap trace trains`: light opportunities beside a trace of a saturated link."""

import json
from pathlib import Path
from typing import Annotated

import typer

from varicap import units
from varicap.cli._quantities import reported
from varicap.terminal import AsJson, Quiet, check_file, echo, quantity, say


def trains(
    heavy: Annotated[
        Path, typer.Argument(metavar="FILE", help="What a saturated link offers, in any format.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The new file.", show_default=False)],
    share: Annotated[str, typer.Option(help="What bursts on an idle link get of the rate.")] = "50 %",
    packets: Annotated[int, typer.Option(min=1, max=10_000, help="Packets of a train.")] = 25,
    every: Annotated[str, typer.Option(help="Time from one train to the next.")] = "100 ms",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write trains of light opportunities for the trace of a saturated link, in CellReplay's format.

    The first packet of a burst is sent at once, the others at a share of the rate that the link has then; after that
    many packets the burst has what the saturated link offers.
    """
    from varicap import traces

    check_file(output)
    share_of, every_s = quantity("--share", units.share, share), quantity("--every", units.seconds, every)
    loaded = reported(lambda: traces.load(heavy))
    made = reported(lambda: traces.light_trains(loaded, share=share_of, packets=packets, every_s=every_s))
    traces.save_trains(made, output)
    lines = made.count("\n") - 1
    if as_json:
        light = {"opportunities": {"file": str(heavy), "light": {"file": str(output)}}}
        echo(json.dumps({"files": [str(output)], "trains": lines, "packets": packets, "capacity": light}))
    elif not quiet:
        say(f"wrote {output}: {lines} trains of {packets} packets")
        say(f'in a scenario: capacity = {{ opportunities = {{ file = "…", light = {{ file = "{output}" }} }} }}')
