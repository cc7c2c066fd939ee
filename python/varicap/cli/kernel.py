"""`varicap kernel`: Linux kernels for simulated time, built here."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from varicap.errors import MachineLacksError
from varicap.terminal import MACHINE_LACKS, RUN_FAILED, USAGE, AsJson, Jobs, Quiet, echo, fail, interrupted, say

if TYPE_CHECKING:
    from varicap.kernels import Kernel

commands = typer.Typer()
group = typer.Typer(
    no_args_is_help=True,
    help="Linux kernels for simulated time: built from a package or a source tree, listed, removed.",
)
commands.add_typer(group, name="kernel")


@group.command(
    epilog="Examples: varicap kernel build | varicap kernel build --source ~/net-next --name mine | "
    "varicap kernel build --source linux-source-6.1"
)
def build(
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="DIR",
            help="A kernel's source tree, or a package (default: Debian's linux-source-6.12).",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What to call it (default: its version).")] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build a Linux kernel that runs as a program, in simulated time; killed in the middle, the same command goes on.

    Nothing is written outside the folder of kernels in the user's cache, and no rights are needed.
    """
    from varicap import kernels

    told = (lambda _: None) if quiet else say
    counted = 0

    def count(objects: int) -> None:
        nonlocal counted
        counted = objects
        if not quiet and sys.stderr.isatty():
            typer.echo(f"\r{objects} objects", nl=False, err=True)

    try:
        kernel = kernels.build(source, name, jobs=jobs, say=told, progress=count)
    except MachineLacksError as error:
        fail(str(error), MACHINE_LACKS)
    except kernels.KernelBuildError as error:
        fail(str(error), RUN_FAILED)
    except KeyboardInterrupt:
        interrupted(f"interrupted after {counted} objects; the same command goes on there")
        raise
    if counted and not quiet and sys.stderr.isatty():
        typer.echo("", err=True)
    if as_json:
        echo(json.dumps(_facts(kernel), ensure_ascii=False))
        return
    if not quiet:
        say(f"Linux {kernel.release} is in {kernel.folder}")
        if kernel.lacks:
            say(f"this version has no {', '.join(option.removeprefix('CONFIG_') for option in kernel.lacks)}")


@group.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the kernels that were built here, the newest first."""
    from varicap import kernels

    found = kernels.installed()
    if as_json:
        echo(json.dumps([_facts(kernel) for kernel in found], ensure_ascii=False))
        return
    if not found:
        say("no kernel has been built here: varicap kernel build builds one")
        return
    for kernel in found:
        echo(f"{kernel.name}  Linux {kernel.release}  {kernel.digest}  {kernel.built}  of {kernel.origin}")
        echo(f"  controls: {' '.join(kernel.controls)}")


@group.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, or its name and digest, NAME-DIGEST.")],
    quiet: Quiet = False,
) -> None:
    """Delete the kernels of that name, unfinished ones, too."""
    from varicap import kernels

    try:
        folders = kernels.remove(name)
    except MachineLacksError as error:
        fail(str(error), USAGE)
    except kernels.KernelBuildError as error:
        fail(str(error), RUN_FAILED)
    if not quiet:
        say(f"deleted {', '.join(folder.name for folder in folders)}")


def _facts(kernel: "Kernel") -> dict[str, Any]:
    return {**asdict(kernel), "folder": str(kernel.folder), "executable": str(kernel.executable)}
