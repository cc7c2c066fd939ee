"""Folders of results, read back: they have the same properties as the results in memory.

```text
varicap run -o DIR   ──► DIR ──read──► SavedResult (summary, flows, links, flow_series, …, as a Result)
varicap sweep -o DIR ──► DIR ──read──► Study
```
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from varicap._files import read_whole
from varicap._folders import MOST_TEXT, Folder, FolderError, parsed
from varicap.results.manifest import read_manifest
from varicap.results.names import UNFINISHED
from varicap.results.shapes import fault_of_schema, fault_of_study, fault_of_summary, fault_of_table
from varicap.results.stored import check_version, read_json
from varicap.results.study import STUDY_VERSION, Study
from varicap.results.summary import KINDS, blocks_of
from varicap.results.tables import Recorded
from varicap.results.unpacked import read_parquet

__all__ = ["SavedResult", "manifest_of", "read"]


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
        file = f"{name}.parquet"
        with Folder(self.folder) as folder:
            rows = _table(folder, file, (self._listed.get(file) or {}).get("sha256"))
        _refuse(self.folder / file, fault_of_table(name, rows, self.summary))
        return rows

    @property
    def _listed(self) -> dict[str, Any]:
        """The tables that the manifest vouches for."""
        return dict(self.manifest.get("tables", {}))

    def _has(self, name: str) -> bool:
        file = f"{name}.parquet"
        # Another file of that name may be left from an earlier run in the same folder.
        if self.manifest:
            return file in self._listed
        with Folder(self.folder) as folder:
            return folder.is_file(file)


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
    with Folder(path) as there:
        return _read(there)


def _read(folder: Folder) -> SavedResult | Study:
    path = folder.path
    if folder.is_file("plan.json"):
        return _study(folder)
    if not folder.is_file("summary.json"):
        if folder.is_file("models.json"):
            raise FolderError(
                f"{path}: what models say at the points of a sweep; {path / 'models.parquet'} is the table"
            )
        if folder.is_folder(UNFINISHED):
            raise FolderError(f"{path}: a run that is not finished; the command that began it goes on where it was")
        raise FolderError(f"{path}: no results; `varicap run FILE -o {path}` and `varicap sweep` write such a folder")
    manifest = read_manifest(folder) if folder.is_file("manifest.json") else {}
    file = path / "summary.json"
    summary = read_json(folder, file.name, FolderError)
    check_version(file, summary, "schema_version", 1, FolderError)
    _refuse(file, fault_of_summary(summary))
    for name in manifest.get("tables", {}):
        _schema(folder, name)
    return SavedResult(path, summary, manifest)


def _study(folder: Folder) -> Study:
    """A study whose runs are all done."""
    path = folder.path
    if not folder.is_file("manifest.json"):
        raise FolderError(f"{path}: a study that is not finished; the command that began it goes on where it was")
    manifest = _manifest(folder)
    tables = {kind: _of_points(folder, kind, manifest) for kind in KINDS if f"{kind}.parquet" in manifest["tables"]}
    nothing = pa.table({"point": pa.array([], pa.int64()), "replication": pa.array([], pa.int64())})
    return Study(
        manifest["scenario"]["name"],
        tuple(tuple(point.items()) for point in manifest["points"]),
        {kind: tables.get(kind, nothing) for kind in KINDS},
        path,
        frozenset(manifest.get("exact", ())),  # of earlier versions nothing is known
    )


def is_study(manifest: Path) -> bool:
    """Whether a manifest is that of a study, as far as it can be read."""
    try:
        found = parsed(read_whole(manifest, MOST_TEXT))
    except ValueError:
        return False
    return isinstance(found, dict) and "study_version" in found


def manifest_of(study: Study) -> dict[str, Any]:
    """The manifest in a study's folder; empty if it has none."""
    if study.folder is None:
        return {}
    with Folder(study.folder) as folder:
        return _manifest(folder)


def _manifest(folder: Folder) -> dict[str, Any]:
    """The manifest of a study, checked."""
    path = folder.path / "manifest.json"
    manifest = read_json(folder, path.name, FolderError)
    check_version(path, manifest, "study_version", STUDY_VERSION, FolderError)
    _refuse(path, fault_of_study(manifest))
    return manifest


def _of_points(folder: Folder, kind: str, manifest: Mapping[str, Any]) -> pa.Table:
    """A table of a study, each of whose runs has all its rows."""
    path = folder.path / f"{kind}.parquet"
    rows = _table(folder, path.name, manifest["tables"][path.name])
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


def _schema(folder: Folder, name: str) -> None:
    """Check that a table is there, is whole as far as its end shows, and has the columns that are used."""
    with _readable(folder, name) as file:
        schema = pq.read_schema(file)
        _refuse(folder.path / name, fault_of_schema(name.removesuffix(".parquet"), schema))


def _table(folder: Folder, name: str, digest: str | None) -> pa.Table:
    """A table whose file has the digest that a manifest gives, if one does."""
    _schema(folder, name)
    with _readable(folder, name) as file:
        if digest is not None and hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise FolderError(
                f"{folder.path / name}: not the table that manifest.json vouches for: its digest is another one"
            )
        file.seek(0)
        rows = read_parquet(file)
        rows.validate(full=True)
        _refuse(folder.path / name, fault_of_schema(name.removesuffix(".parquet"), rows.schema))
    return rows


@contextmanager
def _readable(folder: Folder, name: str) -> Iterator[BufferedReader]:
    """The file of a table; what is wrong with it is reported with its name."""
    try:
        with folder.reading(name) as file:
            yield file
    except FolderError:
        raise
    except OSError as error:
        raise FolderError(f"{folder.path / name}: {error.strerror or error}") from None
    except (pa.ArrowException, ValueError) as error:  # names that are not UTF-8
        raise FolderError(f"{folder.path / name}: cannot be read: {error}") from None
