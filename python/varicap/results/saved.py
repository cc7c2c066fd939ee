"""Folders of results, read back: they have the same properties as the results in memory.

```text
varicap run -o DIR   ──► DIR ──read──► SavedResult (summary, flows, links, flow_series, …, as a Result)
varicap sweep -o DIR ──► DIR ──read──► Study
```
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from varicap.results.manifest import read_manifest, sha256
from varicap.results.pieces import UNFINISHED
from varicap.results.shapes import fault_of_schema, fault_of_study, fault_of_summary, fault_of_table
from varicap.results.stored import FolderError, check_version, read_json
from varicap.results.study import STUDY_VERSION, Study
from varicap.results.summary import KINDS, blocks_of
from varicap.results.tables import Recorded

__all__ = ["FolderError", "SavedResult", "manifest_of", "read"]


@dataclass(frozen=True, repr=False)
class SavedResult(Recorded):
    """The results of runs in a folder that `varicap run -o` wrote."""

    folder: Path
    summary: dict[str, Any]
    """Means over the runs with their 95 % confidence intervals."""
    manifest: dict[str, Any]
    """Where the results come from; empty for an answer by analysis."""

    @property
    def runs(self) -> int:
        """How many replications there are."""
        return int(self.summary.get("runs", 1))

    def table(self, name: str) -> pa.Table:
        """A table by the name of its file, such as ``flows``; empty if there is none."""
        if not self._has(name):
            return pa.table({})
        path = self.folder / f"{name}.parquet"
        rows = _table(path, name, (self._listed.get(path.name) or {}).get("sha256"))
        _refuse(path, fault_of_table(name, rows, self.summary))
        return rows

    @property
    def _listed(self) -> dict[str, Any]:
        """The tables that the manifest vouches for."""
        return dict(self.manifest.get("tables", {}))

    def _has(self, name: str) -> bool:
        file = f"{name}.parquet"
        # Another file of that name may be left from an earlier run in the same folder.
        return file in self._listed if self.manifest else (self.folder / file).is_file()


def read(folder: str | Path) -> SavedResult | Study:
    """What a folder of `varicap run -o` or `varicap sweep -o` holds.  Raises `FolderError`.

    >>> import tempfile, varicap
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = varicap.run("examples/fixed.toml", seeds=2, overrides={"duration": "20 s"}).save(folder)
    ...     read(folder).flows.num_rows
    2
    """
    path = Path(folder)
    if not path.is_dir():
        hint = "; varicap.load reads scenarios" if path.suffix in (".toml", ".json") else ""
        raise FolderError(f"{path}: {'not a folder' if path.exists() else 'there is no such folder'}{hint}")
    if (path / "plan.json").is_file():
        return _study(path)
    if not (path / "summary.json").is_file():
        if (path / "models.json").is_file():
            raise FolderError(
                f"{path}: what models say at the points of a sweep; {path / 'models.parquet'} is the table"
            )
        if (path / UNFINISHED).is_dir():
            raise FolderError(f"{path}: a run that is not finished; the command that began it goes on where it was")
        raise FolderError(f"{path}: no results; `varicap run FILE -o {path}` and `varicap sweep` write such a folder")
    manifest = read_manifest(path / "manifest.json") if (path / "manifest.json").is_file() else {}
    file = path / "summary.json"
    summary = read_json(file, FolderError)
    check_version(file, summary, "schema_version", 1, FolderError)
    _refuse(file, fault_of_summary(summary))
    for name in manifest.get("tables", {}):
        _schema(path / name)
    return SavedResult(path, summary, manifest)


def _study(path: Path) -> Study:
    """A study whose runs are all done."""
    if not (path / "manifest.json").is_file():
        raise FolderError(f"{path}: a study that is not finished; the command that began it goes on where it was")
    manifest = _manifest(path)
    tables = {
        kind: _of_points(path / f"{kind}.parquet", kind, manifest)
        for kind in KINDS
        if f"{kind}.parquet" in manifest["tables"]
    }
    nothing = pa.table({"point": pa.array([], pa.int64()), "replication": pa.array([], pa.int64())})
    return Study(
        manifest["scenario"]["name"],
        tuple(tuple(point.items()) for point in manifest["points"]),
        {kind: tables.get(kind, nothing) for kind in KINDS},
        path,
        frozenset(manifest.get("exact", ())),  # of earlier versions nothing is known
    )


def manifest_of(study: Study) -> dict[str, Any]:
    """The manifest in a study's folder; empty if it has none."""
    return {} if study.folder is None else _manifest(study.folder)


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a study, checked."""
    path = folder / "manifest.json"
    manifest = read_json(path, FolderError)
    check_version(path, manifest, "study_version", STUDY_VERSION, FolderError)
    _refuse(path, fault_of_study(manifest))
    return manifest


def _of_points(path: Path, kind: str, manifest: Mapping[str, Any]) -> pa.Table:
    """A table of a study, each of whose runs has all its rows."""
    rows = _table(path, kind, manifest["tables"][path.name])
    if "point" not in rows.column_names or not pa.types.is_int64(rows["point"].type) or rows["point"].null_count:
        raise FolderError(f"{path}: the column `point` is missing or not of whole numbers")
    points = rows["point"].to_pylist()
    if points != sorted(points) or not set(points) <= set(range(len(manifest["points"]))):
        raise FolderError(f"{path}: the column `point` does not have the points of manifest.json in order")
    try:
        blocks_of(rows)
    except ValueError:
        raise FolderError(f"{path}: runs of one point have different rows") from None
    return rows


def _refuse(path: Path, fault: str) -> None:
    """Raise `FolderError` for a file that has a fault."""
    if fault:
        raise FolderError(f"{path}: {fault}")


def _schema(path: Path) -> None:
    """Check that a table is there, is whole as far as its end shows, and has the columns that are used."""
    try:
        schema = pq.read_schema(path)
    except OSError as error:
        raise FolderError(f"{path}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise FolderError(f"{path}: cannot be read: {error}") from None
    _refuse(path, fault_of_schema(path.stem, schema))


def _table(path: Path, kind: str, digest: str | None) -> pa.Table:
    """A table whose file has the digest that a manifest gives, if one does."""
    _schema(path)
    if digest is not None and sha256(path) != digest:
        raise FolderError(f"{path}: not the table that manifest.json vouches for: its digest is another one")
    try:
        # As written: what was one dictionary there is one dictionary here.
        rows = pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise FolderError(f"{path}: cannot be read: {error}") from None
    _refuse(path, fault_of_schema(kind, rows.schema))
    return rows
