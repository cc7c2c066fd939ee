"""Where results come from: what was asked, what computed it, and digests of what came out.

The manifest in a folder of results carries all that a repetition needs: the scenario with every default written out,
the seeds, and the digests of the traces, which lie beside it in ``traces/``.
"""

import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

import varicap._core as _core
from varicap._files import MOST_HANDED_OVER, UnreadableError, opened, read_whole, sha256
from varicap._folders import MOST_TEXT, Folder, FolderError
from varicap.results.names import TABLES
from varicap.results.stored import Each, Maybe, ShapeError, Whole, check, check_version, object_in, read_json

MANIFEST_VERSION = 1

_SHAPE = {
    "engine": str,
    "kernel": Maybe(str),
    "guest": Maybe({"name": str, "release": str, "digest": str}),
    "modules": Maybe(Each(str)),
    "scenario": dict,
    "seed": Whole(0, 2**64 - 1),
    "runs": Whole(1, 2**32 - 1),
    "series": bool,
    "packets": bool,
    "python_controls": [str],
    "plugins": Maybe(Each(Maybe({"file": str, "sha256": str}))),
    "traces": Each({"file": str, "sha256": str}),
    "tables": Each({"sha256": str, "values_sha256": str}),
    "software": {"varicap": str, "git": Maybe({"revision": Maybe(str), "modified": Maybe(bool)})},
}

Which: TypeAlias = bool | Literal["first"]
"""Which runs record: all, none, or only the first, which is enough for a figure or a capture."""


_TRACE = re.compile(r"traces/(?!\.\.?$)[^/\\\0]+")
"""The file of a trace, as `copy_traces` names it: one that lies in the folder ``traces/`` beside the manifest."""

FILES = frozenset(f"{name}.parquet" for name in TABLES)
"""The files of tables that runs leave."""


class ManifestError(FolderError):
    """A manifest that cannot be read or replayed, and why."""


@dataclass(frozen=True)
class GuestKernel:
    """A kernel in whose simulated time runs went."""

    name: str
    release: str
    digest: str
    """Of what it was built from."""


@dataclass(frozen=True)
class Request:
    """What makes a run: the same request gives the same results on any machine, if it is simulated."""

    scenario: _core.Scenario
    seed: int
    runs: int
    series: Which = False
    packets: Which = False
    controls: tuple[str, ...] = ()
    """What was written in Python, by its names in the scenario."""
    origins: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    """The file that defines each of them and its digest, as far as one does (`varicap.plugins`)."""
    engine: Literal["sim", "kernel"] = "sim"
    kernel: str | None = None
    """How much of itself the kernel kept, if it ran the flows."""
    guest: GuestKernel | None = None
    """The kernel, if they went in its simulated time."""
    modules: tuple[tuple[str, str], ...] = ()
    """The controls in C that it loaded: what the scenario calls each, and the digest of its source."""
    files: tuple[tuple[str, Path, str], ...] = ()
    """What `small_files` found when the runs began."""


_KIND = "a manifest that `varicap run -o` wrote"


def small_files(scenario: _core.Scenario) -> tuple[tuple[str, Path, str], ...]:
    """The files that a scenario names: name, whole path and digest; none where a page could not hand them over."""
    try:
        named = [(name, Path(path).resolve()) for name, path in scenario.trace_files()]
        if sum(path.stat().st_size for _, path in named) > MOST_HANDED_OVER:
            return ()
        return tuple((name, path, sha256(path)) for name, path in named if path.is_file())
    except (OSError, UnreadableError):  # removed since it was read
        return ()


def values_sha256(rows: pa.Table) -> str:
    """Digest of a table's names and values, whatever version of Parquet holds them."""
    digest = hashlib.sha256()
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        digest.update(f"{name}:{column.type}:{len(column)}\n".encode())
        for value in column.combine_chunks().buffers():
            digest.update(b"\0" if value is None else bytes(value))
    return digest.hexdigest()


def describe(request: Request, traces: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """Where results come from: all that a repetition needs, and what computed them."""
    return {
        "manifest_version": MANIFEST_VERSION,
        "engine": request.engine,
        **({} if request.kernel is None else {"kernel": request.kernel}),
        **({} if request.guest is None else {"guest": asdict(request.guest)}),
        **({"modules": dict(request.modules)} if request.modules else {}),
        "scenario": json.loads(request.scenario.to_json()),
        "seed": request.seed,
        "runs": request.runs,
        "series": request.series is True,
        "packets": request.packets is True,
        "python_controls": list(request.controls),
        **({"plugins": dict(request.origins)} if request.origins else {}),
        "traces": traces,
        "tables": tables,
        "software": software(),
        "host": host(),
    }


def software() -> dict[str, Any]:
    """Versions of what computed the results."""
    return {
        "varicap": _core.__version__,
        "python": platform.python_version(),
        # Their metadata would say the same, but reading it takes longer than writing the tables.
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "git": _git_state(),
    }


def host() -> dict[str, Any]:
    """The machine, as far as a reader of the results may want to know it."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu": _cpu_name(),
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )


def _git_state() -> dict[str, Any] | None:
    """Revision of the sources that this module is part of, if they are a checkout."""
    root = Path(__file__).resolve().parents[3]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    try:
        # One process for both: it costs more than the rest of what is written.
        command = [git, "-C", str(root), "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=10)  # noqa: S603 - our own arguments
    except (OSError, subprocess.SubprocessError):
        return None
    return _state_in(done.stdout)


def _state_in(status: str) -> dict[str, Any] | None:
    r"""What ``git status --porcelain=v2 --branch`` says; nothing of a checkout without a commit.

    >>> _state_in("# branch.oid 1f2e\n# branch.head main\n1 .M N... 100644 100644 100644 1f 1f file")
    {'revision': '1f2e', 'modified': True}
    """
    lines = status.splitlines()
    revision = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    if revision == "(initial)":
        return None
    return {"revision": revision, "modified": any(not line.startswith("#") for line in lines)}


def copy_traces(files: Sequence[tuple[str, Path]], folder: Folder) -> dict[str, Any]:
    """Put traces, by their names, beside the manifest, so that the folder can be moved; the same file is kept once."""
    traces: dict[str, Any] = {}
    if not files:
        return traces
    with folder.within("traces", make=True) as copies:
        for name, path in files:
            digest = sha256(path)
            copy = f"{digest[:12]}-{path.name}"
            if not copies.is_file(copy) or copies.sha256(copy) != digest:
                with opened(path) as source, copies.writing(copy) as target:
                    shutil.copyfileobj(source, target)
            traces[name] = {"file": f"traces/{copy}", "sha256": digest}
    return traces


def read_manifest(folder: Folder) -> dict[str, Any]:
    """The manifest in a folder of runs, checked.

    Each key has the type that `describe` gives it, and names only files of ours.
    """
    return _checked(folder.path / "manifest.json", read_json(folder, "manifest.json", ManifestError, _KIND))


def read_manifest_file(path: Path) -> dict[str, Any]:
    """The same of a manifest that somebody named."""
    try:
        text = read_whole(path, MOST_TEXT)
    except UnreadableError as error:
        raise ManifestError(f"{path}: {error}") from None
    return _checked(path, object_in(path, text, ManifestError, _KIND))


def _checked(path: Path, recorded: dict[str, Any]) -> dict[str, Any]:
    check_version(path, recorded, "manifest_version", MANIFEST_VERSION, ManifestError)
    try:
        check(recorded, _SHAPE)
    except ShapeError as error:
        raise ManifestError(f"{path}: {error}") from None
    for name in recorded["tables"]:
        if name not in FILES:
            raise ManifestError(f"{path}: `tables` names {name}, which is no table of varicap")
    refuse_other_places(path, {name: trace["file"] for name, trace in recorded["traces"].items()})
    return recorded


def refuse_other_places(path: Path, traces: Mapping[str, str]) -> None:
    """Raise `ManifestError` where a manifest says that a trace is not in the folder beside it."""
    for name, file in traces.items():
        if not _TRACE.fullmatch(file):
            raise ManifestError(f"{path}: `traces.{name}.file` is not a file of traces/")


@contextmanager
def with_traces_beside(path: Path, recorded: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Path]]:
    """The scenario of a manifest, and where its traces are: copies of those beside it, checked.

    Nobody can put something else in their place between the check and the use.
    """
    with tempfile.TemporaryDirectory() as scratch, Folder(path.parent) as folder, Folder(scratch) as copies:
        for trace in recorded["traces"].values():
            digest = _copied(folder, trace["file"], copies)
            if digest is None:
                raise ManifestError(f"{path}: the trace {trace['file']} is missing beside it")
            if digest != trace["sha256"]:
                raise ManifestError(f"{path}: the trace {trace['file']} is not the one that the run used")
        files = {name: trace["file"] for name, trace in recorded["traces"].items()}
        written = _renamed(recorded["scenario"], files)
        if missing := _named(written) - set(files.values()):
            raise ManifestError(f"{path}: `traces` lacks {min(missing)}, which the scenario names")
        yield dict(written), Path(scratch)


def _copied(folder: Folder, trace: str, into: Folder) -> str | None:
    """The digest of a trace of the folder ``traces/``, which is copied; None if it is not there."""
    name = trace.removeprefix("traces/")
    if not folder.is_folder("traces"):
        return None
    with folder.within("traces") as traces, into.within("traces", make=True) as copies:
        if not traces.is_file(name):
            return None
        with traces.reading(name) as source, copies.writing(name) as target:
            shutil.copyfileobj(source, target)
        return copies.sha256(name)


_OF_FILES = ("file", "table")
"""The keys that name files: ``table`` is that of a distribution of netem's."""


def _named(value: Any) -> set[str]:
    """The files that a scenario names."""
    if isinstance(value, dict):
        own = {item for key, item in value.items() if key in _OF_FILES and isinstance(item, str)}
        return own.union(*map(_named, value.values()))
    return set().union(*map(_named, value)) if isinstance(value, list) else set()


def _renamed(value: Any, files: dict[str, str]) -> Any:
    """`value` with each ``file = NAME``, or table of netem's, pointing to the copy of that file."""
    if isinstance(value, dict):
        return {
            key: files.get(item, item) if key in _OF_FILES and isinstance(item, str) else _renamed(item, files)
            for key, item in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_renamed(item, files) for item in value]
    return value


if sys.byteorder != "little":  # the digests of tables are of little-endian values
    raise ImportError("varicap's results are for little-endian machines")
