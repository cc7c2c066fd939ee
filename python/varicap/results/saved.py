"""Folders of results, read back: they have the same properties as the results in memory.

```text
varicap run -o DIR   ──► DIR ──read──► SavedResult (summary, flows, links, flow_series, …, as a Result)
varicap sweep -o DIR ──► DIR ──read──► Study
```
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from varicap.results.manifest import MANIFEST_VERSION
from varicap.results.stored import FolderError
from varicap.results.study import STUDY_VERSION, Study
from varicap.results.summary import KINDS
from varicap.results.tables import Recorded

if TYPE_CHECKING:
    pass

__all__ = ["FolderError", "SavedResult", "manifest_of", "read"]


@dataclass(frozen=True)
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
        return _table(self.folder / f"{name}.parquet") if self._has(name) else pa.table({})

    def _has(self, name: str) -> bool:
        return (self.folder / f"{name}.parquet").is_file()


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
        raise FolderError(f"{path}: {'not a folder' if path.exists() else 'there is no such folder'}")
    if (path / "plan.json").is_file():
        return _study(path)
    if not (path / "summary.json").is_file():
        raise FolderError(f"{path}: no results; `varicap run FILE -o {path}` and `varicap sweep` write such a folder")
    has_manifest = (path / "manifest.json").is_file()
    manifest = _json(path / "manifest.json", "manifest_version", MANIFEST_VERSION) if has_manifest else {}
    return SavedResult(path, _json(path / "summary.json", "schema_version", 1), manifest)


def _study(path: Path) -> Study:
    """A study whose runs are all done."""
    if not (path / "manifest.json").is_file():
        raise FolderError(f"{path}: a study that is not finished; the command that began it goes on where it was")
    manifest = _json(path / "manifest.json", "study_version", STUDY_VERSION)
    tables = {kind: _table(path / f"{kind}.parquet") for kind in KINDS if f"{kind}.parquet" in manifest["tables"]}
    nothing = pa.table({"point": pa.array([], pa.int64()), "replication": pa.array([], pa.int64())})
    return Study(
        manifest["scenario"]["name"],
        tuple(tuple(point.items()) for point in manifest["points"]),
        {kind: tables.get(kind, nothing) for kind in KINDS},
        path,
    )


def manifest_of(study: Study) -> dict[str, Any]:
    """The manifest in a study's folder; empty if it has none."""
    if study.folder is None:
        return {}
    return _json(study.folder / "manifest.json", "study_version", STUDY_VERSION)


def _json(path: Path, key: str, version: int) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        found = value[key]
    except OSError as error:
        raise FolderError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise FolderError(f"{path}: not a file that varicap wrote") from None
    if found != version:
        raise FolderError(f"{path}: {key} {found}; this varicap reads {version}")
    return dict(value)


def _table(path: Path) -> pa.Table:
    try:
        # As written: what was one dictionary there is one dictionary here.
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise FolderError(f"{path}: cannot be read: {error}") from None
