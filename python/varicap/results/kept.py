"""Results kept without having been asked for: those of other runs in the same folder are moved, never overwritten."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from varicap.results.manifest import ManifestError, read_manifest, values_sha256
from varicap.results.pieces import UNFINISHED, free
from varicap.results.result import Result


def keep(result: Result, folder: Path) -> tuple[Path, Path | None]:
    """Save into `folder`; other results there are moved beside it.  Returns the manifest, and where they are now."""
    moved = None if not _has_results(folder) or _is_part_of(folder, result) else folder.rename(free(folder))
    if moved is not None and (moved / UNFINISHED).is_dir():
        folder.mkdir()
        (moved / UNFINISHED).rename(folder / UNFINISHED)
    return result.save(folder), moved


def _has_results(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("manifest.json", "summary.json", "plan.json"))


def _is_part_of(folder: Path, result: Result) -> bool:
    """Whether the folder's results are the first runs of `result`, or all of them, so that nothing is lost."""
    try:
        recorded = read_manifest(folder / "manifest.json")
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
