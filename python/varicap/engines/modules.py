"""Congestion controls in C that runs bring along: modules for the kernel of a guest, which alone loads them.

A scenario names one by its file, ``congestion = { module = "my_cc.c" }``, and brings no code: what is built is the file
that whoever makes the run has given, whatever lies beside the scenario.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import varicap._core as _core
from varicap import kernels
from varicap._files import UnreadableError, read_whole
from varicap.errors import NotApplicableError
from varicap.kernels import Kernel, KernelBuildError

Module = tuple[str, str]
"""The name of a file, and the digest of what is in it."""


def chosen(
    scenario: _core.Scenario, given: Sequence[str | Path] | None, *, is_each_used: bool = True
) -> dict[str, Path]:
    """The given files of the modules that a scenario names, by what it calls them.

    Raises `NotApplicableError` for one that nobody gave, and for a file that no flow names if each is to be used.
    """
    files = _by_name(given or ())
    named = dict(_named_in(scenario))
    for name, key in named.items():
        if Path(name).name not in files:
            raise NotApplicableError(
                f"the kernel engine: {key} = {name}: a scenario brings no code of its own: give the file with "
                f"--module {name} (in Python modules=[{name!r}]) to build it and to run it in the guest"
            )
    used = {Path(name).name for name in named}
    for name in files:
        if is_each_used and name not in used:
            raise NotApplicableError(
                f'the kernel engine: --module {files[name]}: no flow has congestion = {{ module = "{name}" }}'
            )
    return {name: files[Path(name).name] for name in named}


def digests(files: Mapping[str, Path]) -> tuple[Module, ...]:
    """What a manifest keeps of them."""
    try:
        return tuple(
            (name, hashlib.sha256(read_whole(files[name], kernels.MOST_SOURCE)).hexdigest()) for name in sorted(files)
        )
    except UnreadableError as error:
        raise KernelBuildError(f"{', '.join(map(str, files.values()))}: {error}") from None


def built(files: Mapping[str, Path], kernel: Kernel) -> list[tuple[str, str]]:
    """The modules for a kernel: what the scenario calls each, and where it is.  Raises `KernelBuildError`."""
    return [(name, str(kernels.module(file, kernel))) for name, file in files.items()]


def _by_name(given: Sequence[str | Path]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in map(Path, given):
        if path.name in files and files[path.name].resolve() != path.resolve():
            raise ValueError(f"{files[path.name]} and {path}: two modules need two names")
        files[path.name] = path
    return files


def _named_in(scenario: _core.Scenario) -> Iterator[tuple[str, str]]:
    """The modules that a scenario names, each with the key."""
    for flow, settings in json.loads(scenario.to_json())["flows"].items():
        congestion = settings.get("tcp", {}).get("congestion")
        if isinstance(congestion, dict) and "module" in congestion:
            yield congestion["module"], f"flows.{flow}.tcp.congestion.module"
