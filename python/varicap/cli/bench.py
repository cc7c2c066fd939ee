"""`varicap bench`."""

import json
from typing import Annotated, Any

import typer

from varicap.terminal import MACHINE_LACKS, MOST_COUNTED, AsJson, fail

commands = typer.Typer()

MOST_ENVIRONMENTS = 100_000
"""Of which each has a run of its own in memory."""


@commands.command()
def bench(
    flows: Annotated[int | None, typer.Option(min=1, max=MOST_COUNTED, help="Flows of a workload of your own.")] = None,
    rate: Annotated[str, typer.Option(help="Its capacity.")] = "100 Mbit/s",
    buffer: Annotated[str, typer.Option(help="Its drop-tail buffer.")] = "1 bdp",
    delay: Annotated[str, typer.Option(help="Its one-way propagation delay.")] = "10 ms",
    duration: Annotated[str, typer.Option(help="Its simulated time.")] = "60 s",
    quick: Annotated[
        bool, typer.Option("--quick", help="One to a hundred flows over 100 Mb/s for 6 s each: a few seconds in all.")
    ] = False,
    timers: Annotated[bool, typer.Option("--timers", help="What timers cost instead, here and in the kernel.")] = False,
    ack_every: Annotated[int, typer.Option(min=1, max=MOST_COUNTED, help="Its packets per acknowledgement.")] = 2,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="How fast the kernel engine is in simulated time instead, on one core.")
    ] = False,
    environments: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_ENVIRONMENTS, help="Steps per second of so many environments of varicap.gym instead."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the engine: CPU time and instructions per delivered packet, packets per CPU second, memory.

    The standard workloads are measured with delayed acknowledgements, and with one for each packet. Instructions
    are counted where valgrind is installed, for workloads of up to a hundred thousand packets.
    """
    from varicap.machine import bench as workloads
    from varicap.machine import instructions

    kinds = {
        "--flows": flows is not None,
        "--timers": timers,
        "--kernel": kernel,
        "--environments": environments is not None,
    }
    asked = [option for option, given in kinds.items() if given]
    if len(asked) > 1:
        raise typer.BadParameter("each measures something else: one at a time", param_hint=" and ".join(asked))
    if quick and asked:
        own = "; a workload of your own has --duration" if flows is not None else f", not for {asked[0]}"
        raise typer.BadParameter(f"is for the standard workloads{own}", param_hint="--quick")
    if timers:
        _show_timers(workloads.timers(), as_json)
        return
    if kernel:
        _show_guests(as_json)
        return
    if environments is not None:
        _show_environments(environments, as_json)
        return
    chosen = workloads.QUICK if quick else workloads.STANDARD
    if flows is not None:
        chosen = (workloads.Workload("own", flows, rate, buffer, delay, duration, ack_every),)
    measured = []
    for workload, count in zip(chosen, instructions.per_packet(chosen), strict=True):
        measured.append({**workloads.measure(workload), "instructions_per_packet": count})
        if not as_json:
            _print_bench(measured[-1], heading=len(measured) == 1)
    if as_json:
        typer.echo(json.dumps({"workloads": measured}))


def _show_guests(as_json: bool) -> None:
    from varicap.machine import guest_speed

    measured = []
    if not as_json:
        typer.echo(
            "| kernel | rate [Mb/s] | flows | simulated s/CPU s | CPU s to boot | MB |\n|---|---|---|---|---|---|"
        )
    for one in guest_speed.measurements():
        measured.append(one)
        if not as_json:
            cells = (one["kernel"], one["rate_mbps"], one["flows"], f"{one['simulated_s_per_cpu_s']:.3g}")
            typer.echo(f"| {' | '.join(map(str, cells))} | {one['boot_cpu_s']:.2f} | {one['peak_mb']:.0f} |")
    if as_json:
        typer.echo(json.dumps({"guests": measured}))


def _show_environments(count: int, as_json: bool) -> None:
    try:
        from varicap.gym import speed
    except ImportError:
        fail("environments need gymnasium: install varicap[gym]", MACHINE_LACKS)
    measured = []
    if not as_json:
        typer.echo("| capacity | threads | steps per second | CPU per step | packets per step |\n|---|---|---|---|---|")
    for rate in speed.RATES:
        for threads in (1, 0):
            one = speed.measure(rate, count, threads)
            measured.append(one.to_dict())
            if not as_json:
                cells = f"{rate} | {threads or 'all cores'} | {one.steps_per_s:,.0f} | {one.cpu_ns_per_step:,.0f} ns"
                typer.echo(f"| {cells} | {one.packets_per_step:.2f} |")
    if as_json:
        typer.echo(json.dumps({"environments": measured}))


def _show_timers(measured: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"timers": measured}))
        return
    typer.echo("".join(f"{text:>13}" for text in ("timers of", "how many", "set [ns]", "handle [ns]", "cancel [ns]")))
    for row in measured:
        costs = "".join(f"{row[f'{step}_ns']:>13.1f}" for step in ("set", "handle", "cancel"))
        typer.echo(f"{row['where']:>13}{row['timers']:>13}{costs}")


def _print_bench(measured: dict[str, Any], heading: bool) -> None:
    headings = (
        "workload",
        "flows",
        "rate [Mb/s]",
        "packets/ACK",
        "packets",
        "CPU [s]",
        "ns/packet",
        "instructions/packet",
        "packets/CPU s",
        "simulated s/CPU s",
        "peak [MB]",
    )
    widths = [max(8, len(text)) for text in headings]
    if heading:
        typer.echo("  ".join(f"{text:>{width}}" for text, width in zip(headings, widths, strict=True)))
    count = measured["instructions_per_packet"]
    cells = (
        measured["name"],
        measured["flows"],
        f"{measured['rate_bps'] / 1e6:g}",
        measured["ack_every"],
        measured["delivered_packets"],
        f"{measured['cpu_s']:.3f}",
        f"{measured['ns_per_packet']:.1f}",
        "-" if count is None else f"{count:.0f}",
        f"{measured['packets_per_cpu_s']:.0f}",
        f"{measured['simulated_s_per_cpu_s']:.3g}",
        f"{measured['peak_mb']:.1f}",
    )
    typer.echo("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
