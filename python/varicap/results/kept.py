"""Results kept without having been asked for: those of other runs in the same folder are moved, never overwritten."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from varicap._folders import Folder
from varicap.results.manifest import ManifestError, read_manifest, values_sha256
from varicap.results.names import UNFINISHED
from varicap.results.pieces import free
from varicap.results.result import Result


def keep(result: Result, folder: Path) -> tuple[Path, Path | None]:
    """Save into `folder`; other results there are moved beside it.  Returns the manifest, and where they are now."""
    moved = _moved(folder, result) if folder.is_dir() else None
    return result.save(folder), moved


def _moved(folder: Path, result: Result) -> Path | None:
    """Where the results are that were in a folder, if they had to give way."""
    with Folder(folder) as before:
        if not _has_results(before) or _is_part_of(before, result):
            return None
        moved = free(folder)
        with Folder(folder.parent) as above:
            above.move(folder.name, moved.name)
            if before.is_folder(UNFINISHED):
                with above.within(folder.name, make=True) as anew:
                    before.move(UNFINISHED, UNFINISHED, anew)
    return moved


def _has_results(folder: Folder) -> bool:
    return any(folder.is_file(name) for name in ("manifest.json", "summary.json", "plan.json"))


def _is_part_of(folder: Folder, result: Result) -> bool:
    """Whether the folder's results are the first runs of `result`, or all of them, so that nothing is lost."""
    try:
        recorded = read_manifest(folder)
    except ManifestError:
        return False
    tables = result.tables()
    # A table that was recorded then, such as a time series, is not recorded now.
    return all(
        (rows := tables.get(file.removesuffix(".parquet"))) is not None
        and values_sha256(_first(rows, recorded["runs"], result.runs)) == digests["values_sha256"]
        for file, digests in recorded["tables"].items()
    )


def _first(rows: pa.Table, runs: int, of: int) -> pa.Table:
    """The rows of the first `runs` of `of` runs."""
    if runs >= of:
        return rows
    return rows.take(np.flatnonzero(rows["replication"].to_numpy() < runs))
