"""Repeat a run from its manifest, and compare every value."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import varicap._core as _core
from varicap import plugins
from varicap._files import sha256
from varicap.engines import run
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.scenarios import load
from varicap.errors import MachineLacksError
from varicap.plugins import Make
from varicap.results.manifest import ManifestError, read_manifest_file, values_sha256, with_traces_beside
from varicap.results.tables import parquet
from varicap.statistics import Progress


@dataclass(frozen=True)
class Comparison:
    """One table of the repetition against the same table of the manifest."""

    table: str
    same_values: bool
    same_bytes: bool


@dataclass(frozen=True)
class Replay:
    """A repetition: its tables against the manifest's."""

    manifest: Path
    tables: tuple[Comparison, ...]
    recorded_version: str

    @property
    def identical(self) -> bool:
        """Whether there are tables, and every value of every one is the same."""
        return bool(self.tables) and all(table.same_values for table in self.tables)


def replay(
    manifest: str | Path,
    *,
    modules: Sequence[str | Path] | None = None,
    controls: Mapping[str, Make] | None = None,
    queues: Mapping[str, Make] | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    progress: Progress | None = None,
) -> Replay:
    """Run what a manifest, or one in a folder, describes again, and say of each table whether it is identical.

    `modules` are the sources of congestion controls in C that the run loaded, `controls` and `queues` bring what was
    written in Python (`varicap.plugins.read`); all of them have to be what they were.
    Runs that need more than `max_memory` or `max_time` are refused or stopped: `LimitError`.
    """
    path = manifest_in(manifest)
    recorded = _read(path)
    own: dict[str, Any] = {}
    if recorded["python_controls"]:
        own = {"controls": controls, "queues": queues}
        refuse_others(path, recorded, recorded.get("plugins") or dict.fromkeys(recorded["python_controls"]), **own)
    options = {**_kernel(path, recorded), **_modules(path, recorded, modules)}
    with with_traces_beside(path, recorded) as (written, base_dir):
        try:
            scenario = load(written, base_dir=base_dir)
        except _core.ScenarioError as error:
            raise ManifestError(f"{path}: its scenario: {error}") from None
        result = run(
            scenario,
            **options,
            **own,
            seed=recorded["seed"],
            seeds=recorded["runs"],
            series=recorded["series"],
            packets=recorded["packets"],
            jobs=jobs,
            max_memory=max_memory,
            max_time=max_time,
            progress=progress,
        )
    tables = result.tables()
    comparisons = tuple(
        _compared(file, tables.get(file.removesuffix(".parquet")), digests)
        for file, digests in recorded["tables"].items()
    )
    return Replay(path, comparisons, recorded["software"]["varicap"])


def manifest_in(path: str | Path) -> Path:
    """A manifest, or the one in a folder."""
    return Path(path) / "manifest.json" if Path(path).is_dir() else Path(path)


def refuse_others(
    path: Path,
    recorded: Mapping[str, Any],
    before: Mapping[str, Mapping[str, str] | None],
    controls: Mapping[str, Make] | None,
    queues: Mapping[str, Make] | None,
) -> None:
    """Refuse extensions that are not those that were used `before`, or are missing."""
    values = [pair for point in recorded.get("points", ()) for pair in point.items()]
    try:
        plugins.check_same(before, plugins.used(recorded["scenario"], controls, queues, values))
    except plugins.PluginError as error:
        raise ManifestError(f"{path}: {error}") from None


def _kernel(path: Path, recorded: dict[str, Any]) -> dict[str, Any]:
    """The options of a run in the simulated time of a kernel, which has to be there; none for the simulator."""
    if recorded["engine"] == "sim":
        return {}
    from varicap import kernels

    guest = recorded["guest"]
    what = f"it ran in the kernel {guest['name']} ({guest['release']}, {guest['digest'][:12]})"
    try:
        same = f"{guest['name']}-{guest['digest']}"
        there = kernels.find(same if any(each.folder.name == same for each in kernels.installed()) else guest["name"])
    except MachineLacksError as error:
        raise ManifestError(f"{path}: {what}: {error}") from None
    if there.digest != guest["digest"]:
        raise ManifestError(f"{path}: {what}; here {there.name} is another one ({there.release}, {there.digest[:12]})")
    return {"engine": "kernel", "kernel": recorded["kernel"], "clock": "simulated", "kernel_name": there.folder.name}


def _modules(path: Path, recorded: dict[str, Any], given: Sequence[str | Path] | None) -> dict[str, Any]:
    """The option of a run that loaded controls in C, whose sources are as they were."""
    known: dict[str, str] = recorded.get("modules") or {}
    if not known:
        if given:
            raise ManifestError(f"{path}: it loaded no module, so that there is none to give")
        return {}
    names = {Path(file).name: file for file in given or ()}
    for name, digest in known.items():
        file = names.get(Path(name).name)
        if file is None:
            raise ManifestError(
                f"{path}: it loaded {name}, which a manifest does not hold: give it with --module {name}"
            )
        try:
            there = sha256(file)
        except OSError as error:
            raise ManifestError(f"{file}: {error.strerror}") from None
        if there != digest:
            raise ManifestError(f"{path}: {file} is not the {name} that it loaded ({digest[:12]}; here {there[:12]})")
    return {"modules": list(given or ())}


def _compared(file: str, rows: pa.Table | None, digests: dict[str, Any]) -> Comparison:
    """A table of the repetition beside its digests; nothing is written, whatever the manifest calls it."""
    if rows is None:
        return Comparison(file, same_values=False, same_bytes=False)
    same_bytes = hashlib.sha256(parquet(rows)).hexdigest() == digests["sha256"]
    return Comparison(file, values_sha256(rows) == digests["values_sha256"], same_bytes)


def _read(path: Path) -> dict[str, Any]:
    recorded = read_manifest_file(path)
    if recorded["engine"] == "kernel" and recorded.get("guest") is None:
        raise ManifestError(f"{path}: a run in real time (engine kernel) cannot be repeated to the byte")
    if recorded["engine"] == "kernel" and recorded.get("kernel") not in ("classic", "stock"):
        raise ManifestError(f"{path}: `kernel` is neither classic nor stock")
    if recorded["engine"] not in ("sim", "kernel"):
        raise ManifestError(f"{path}: `engine` is {recorded['engine']}, which this varicap does not have")
    series, packets = recorded["series"], recorded["packets"]
    every = ["flows", "links", *(["flow_series", "link_series"] if series else []), *(["packets"] if packets else [])]
    # A manifest that leaves a table out would vouch for less than the run left.
    missing = [f"{name}.parquet" for name in every if f"{name}.parquet" not in recorded["tables"]]
    if missing:
        raise ManifestError(f"{path}: `tables` lacks {', '.join(missing)}, so there is nothing to compare with")
    return recorded
