"""Repeat a run from its manifest, and compare every value."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from varicap.engines.scenarios import load
from varicap.engines.sim import run
from varicap.results.manifest import MANIFEST_VERSION, ManifestError, sha256, values_sha256, with_traces_beside
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
        """Whether every value of every table is the same."""
        return all(table.same_values for table in self.tables)


def replay(manifest: str | Path, *, jobs: int | None = None, progress: Progress | None = None) -> Replay:
    """Run what a manifest describes again, and say of each table whether it is identical."""
    path = Path(manifest)
    recorded = _read(path)
    scenario = load(with_traces_beside(path, recorded), base_dir=path.parent)
    result = run(
        scenario,
        seed=recorded["seed"],
        seeds=recorded["runs"],
        series=recorded["series"],
        packets=recorded["packets"],
        jobs=jobs,
        progress=progress,
    )
    tables = result.tables()
    comparisons = []
    with tempfile.TemporaryDirectory() as folder:
        for file, digests in recorded["tables"].items():
            rows = tables.get(Path(file).stem)
            if rows is None:
                comparisons.append(Comparison(file, same_values=False, same_bytes=False))
                continue
            written = Path(folder) / file
            pq.write_table(rows, written, compression="zstd")
            same_values = values_sha256(rows) == digests["values_sha256"]
            comparisons.append(Comparison(file, same_values, sha256(written) == digests["sha256"]))
    return Replay(path, tuple(comparisons), recorded["software"]["varicap"])


def _read(path: Path) -> dict[str, Any]:
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        version = recorded["manifest_version"]
        recorded["engine"], recorded["scenario"], recorded["tables"], recorded["software"]["varicap"]
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError):
        raise ManifestError(f"{path}: not a manifest that `varicap run -o` wrote") from None
    if version != MANIFEST_VERSION:
        raise ManifestError(f"{path}: manifest version {version}; this varicap reads version {MANIFEST_VERSION}")
    if recorded["engine"] != "sim":
        raise ManifestError(f"{path}: a run in real time (engine {recorded['engine']}) cannot be repeated to the byte")
    if recorded["python_controls"]:
        names = ", ".join(recorded["python_controls"])
        raise ManifestError(f"{path}: it used controls written in Python ({names}), which a manifest cannot hold")
    return dict(recorded)
