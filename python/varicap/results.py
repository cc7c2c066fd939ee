"""What a simulation found: a summary, tables of runs and of time series, and files that say where they came from.

A folder of results holds Parquet tables (units in the metadata of each column), ``summary.json`` and ``manifest.json``.
The manifest carries all that a repetition needs: the scenario with every default written out, the seeds and the
digests of the traces, which lie beside it in ``traces/``.
"""

import hashlib
import json
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from varicap import _core

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MANIFEST_VERSION = 1

Which: TypeAlias = bool | Literal["first"]
"""Which runs record: all, none, or only the first, which is enough for a figure or a capture."""


@dataclass(frozen=True)
class Request:
    """What makes a run: the same request gives the same results on any machine, if it is simulated."""

    scenario: _core.Scenario
    seed: int
    runs: int
    series: Which = False
    packets: Which = False
    controls: tuple[str, ...] = ()
    engine: Literal["sim", "kernel"] = "sim"
    kernel: str | None = None
    """How much of itself the kernel kept, if it ran the flows."""


@dataclass(frozen=True)
class Result:
    """Results of one or more runs of a scenario."""

    request: Request
    data: _core.Results = field(repr=False)

    @property
    def summary(self) -> dict[str, Any]:
        """Means over the runs with their 95 % confidence intervals, as ``varicap run --json`` prints them."""
        summary: dict[str, Any] = json.loads(self.data.summary())
        return summary

    @property
    def runs(self) -> int:
        """How many replications there are."""
        return self.data.runs

    @property
    def flows(self) -> pa.Table:
        """One row for each run and flow."""
        return table(self.data.flows())

    @property
    def groups(self) -> pa.Table:
        """One row for each run and group of several flows."""
        return table(self.data.groups())

    @property
    def links(self) -> pa.Table:
        """One row for each run and link."""
        return table(self.data.links())

    @property
    def flow_series(self) -> pa.Table:
        """Windows, RTT and goodput of each flow over time; empty unless the run recorded series."""
        return table(self.data.flow_series())

    @property
    def link_series(self) -> pa.Table:
        """Capacity, throughput and backlog of each link over time; empty unless the run recorded series."""
        return table(self.data.link_series())

    @property
    def packets(self) -> pa.Table:
        """What happened to every packet, in order of time; empty unless the run recorded packets."""
        tables = [table(columns) for columns in self.data.packets()]
        if not tables:
            return pa.table({})
        rows = pa.concat_tables(tables).unify_dictionaries()
        # By run, then by time; a link tells of its departures when it is looked at, hence the sorting.
        return rows.take(np.lexsort((rows["time_ns"].to_numpy(), rows["replication"].to_numpy())))

    def write_pcapng(self, path: str | Path) -> list[Path]:
        """Write the packets of the first run for Wireshark, a file for each isolated flow; returns the files.

        Empty unless the run recorded packets.
        """
        return self.data.write_pcapng(Path(path))

    def tables(self) -> dict[str, pa.Table]:
        """Every table that was recorded, by the name of its file."""
        tables = {"flows": self.flows, "links": self.links}
        if self.groups.num_rows > 0:
            tables["groups"] = self.groups
        if self.request.series is True:
            tables |= {"flow_series": self.flow_series, "link_series": self.link_series}
        if self.request.packets is True:
            tables["packets"] = self.packets
        return tables

    def figure(self) -> "Figure":
        """Capacity, throughput and queue over time in the first run, which must have recorded series."""
        from varicap.report.figure import overview

        return overview(self)

    def save(self, folder: str | Path) -> Path:
        """Write tables, summary and manifest into `folder`, and return the manifest's path."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        traces = _copy_traces(self.request.scenario, folder)
        digests = {}
        for name, rows in self.tables().items():
            path = folder / f"{name}.parquet"
            pq.write_table(rows, path, compression="zstd")
            digests[path.name] = {
                "rows": rows.num_rows,
                "sha256": sha256(path),
                "values_sha256": values_sha256(rows),
            }
        _write_json(folder / "summary.json", self.summary)
        manifest = folder / "manifest.json"
        _write_json(manifest, describe(self.request, traces, digests))
        return manifest

    def _repr_html_(self) -> str:
        from varicap.report.table import html

        return html(self.summary)


def table(columns: "list[_core.Column]") -> pa.Table:
    """An Arrow table of the engine's columns; units and descriptions go into the metadata of each field."""
    fields = []
    arrays = []
    for name, unit, description, values in columns:
        array = pa.DictionaryArray.from_arrays(*values) if isinstance(values, tuple) else pa.array(values)
        fields.append(pa.field(name, array.type, metadata={"unit": unit, "description": description}))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def sha256(path: Path) -> str:
    """Digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
        "scenario": json.loads(request.scenario.to_json()),
        "seed": request.seed,
        "runs": request.runs,
        "series": request.series is True,
        "packets": request.packets is True,
        "python_controls": list(request.controls),
        "traces": traces,
        "tables": tables,
        "software": software(),
        "host": host(),
    }


def software() -> dict[str, Any]:
    """Versions of what computed the results."""
    packages = ("numpy", "pyarrow")
    return {
        "varicap": _core.__version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
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
    root = Path(__file__).resolve().parents[2]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    try:
        revision = _output([git, "-C", str(root), "rev-parse", "HEAD"])
        changed = _output([git, "-C", str(root), "status", "--porcelain", "--untracked-files=no"])
    except (OSError, subprocess.SubprocessError):
        return None
    return {"revision": revision, "modified": bool(changed)}


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=10)  # noqa: S603 - our own arguments
    return done.stdout.strip()


def _copy_traces(scenario: _core.Scenario, folder: Path) -> dict[str, Any]:
    """Put the traces beside the manifest, so that the folder can be moved; the same file is kept once."""
    traces = {}
    for name, path in scenario.trace_files():
        digest = sha256(path)
        copy = Path("traces") / f"{digest[:12]}-{path.name}"
        target = folder / copy
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)
        traces[name] = {"file": copy.as_posix(), "sha256": digest}
    return traces


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


if sys.byteorder != "little":  # the digests of tables are of little-endian values
    raise ImportError("varicap's results are for little-endian machines")
