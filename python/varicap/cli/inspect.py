"""`varicap check`, `schema`, `columns` and `doctor`: what is wrong with a scenario, and what is installed here."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import varicap._core as _core
from varicap.engines.scenarios import load
from varicap.terminal import MACHINE_LACKS, USAGE, AsJson, SetValue, echo, fail, overrides

if TYPE_CHECKING:
    from varicap.machine.doctor import Held

commands = typer.Typer()


@commands.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    typer.echo(_core.schema())


@commands.command(epilog="Example: varicap check examples/lte.toml --set duration='20 s'")
def check(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The scenario: TOML or JSON, - for stdin.", show_default=False)
    ],
    set_: SetValue = None,
    as_json: AsJson = False,
) -> None:
    """Report the mistakes of a scenario together, each with its line, and run nothing (exit code 2 if there is one).

    Errors of syntax are reported first, and what a topology and flows make of each other once both are there.
    """
    try:
        scenario = load(file, overrides(set_ or []))
    except _core.ScenarioError as error:
        if not as_json:
            raise
        wrong = [*error.errors] or [{"file": str(file), "expected": str(error)}]
        found = {"errors": wrong, "more": error.more, "at_least": error.at_least}
        echo(json.dumps(found, ensure_ascii=False))
        raise typer.Exit(USAGE) from None
    if as_json:
        echo(json.dumps({"errors": [], "more": 0, "at_least": False}))
    else:
        echo(f"{scenario.name}: no mistake")


@commands.command()
def columns(as_json: AsJson = False) -> None:
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


@commands.command()
def doctor(
    as_json: AsJson = False,
    benchmark: Annotated[
        bool, typer.Option("--benchmark", help="Measure how fast a link the kernel engine can emulate here.")
    ] = False,
) -> None:
    """Say what this machine has for varicap, and what to do about the rest."""
    from varicap.machine import doctor
    from varicap.results.manifest import host, software

    checks = doctor.checks()
    kernel = doctor.to_dict(checks)
    found: dict[str, Any] = {
        "software": software(),
        "host": host(),
        "cores": os.cpu_count(),
        "engines": {"sim": True, "model": True, "kernel": kernel["kernel"]},
        "kernel_engine": kernel,
    }
    if benchmark and not kernel["kernel"]:
        fail("there is nothing to measure: the kernel engine does not run here", MACHINE_LACKS)
    if benchmark and as_json:
        found["benchmark"] = [{**asdict(held), "ok": held.ok} for held in doctor.ceiling()]
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    for group in ("software", "host"):
        for key, value in found[group].items():
            typer.echo(f"{key:<14} {value}")
    typer.echo(f"{'cores':<14} {found['cores']}")
    typer.echo(f"{'engines':<14} {', '.join(name for name, there in found['engines'].items() if there)}")
    typer.echo(f"{'controls':<14} {' '.join(kernel['congestion_controls']) or 'unknown'} (of the kernel)")
    built = [f"{one['name']} (Linux {one['release']}, {one['digest']})" for one in kernel["kernels"]]
    typer.echo(f"{'kernels':<14} {', '.join(built) or 'none for simulated time'}")
    if not built:
        typer.echo(f"{'':<14} → varicap kernel build")
    for check in checks:
        state = "yes" if check.ok else "no" if check.is_needed else "no (not needed)"
        typer.echo(f"{check.name:<22} {state}{': ' + check.says if check.says else ''}")
        if check.remedy:
            typer.echo(f"{'':<22} → {check.remedy}")
    if benchmark:
        typer.echo("\n   rate [Mb/s]  utilisation [%]  late p99 [ms]  latest [ms]")
        doctor.ceiling(report=_print_held)


def _print_held(held: "Held") -> None:
    late = f"{held.lateness_p99_ms:>14.3f} {held.lateness_max_ms:>12.2f}"
    verdict = "held" if held.ok else f"not held: {'; '.join(held.faults) or 'the link was not full'}"
    typer.echo(f"{held.rate_mbps:>14g} {100 * held.utilisation:>16.1f} {late}  {verdict}")
