"""Results kept without having been asked for: those of other runs in the same folder are moved, never overwritten."""

from itertools import count
from pathlib import Path

from varicap.results.manifest import ManifestError, read_manifest, values_sha256
from varicap.results.result import Result


def keep(result: Result, folder: Path) -> tuple[Path, Path | None]:
    """Save into `folder`; other results there are moved beside it.  Returns the manifest, and where they are now."""
    moved = None if not _has_results(folder) or _has_all_of(folder, result) else _move_aside(folder)
    return result.save(folder), moved


def _has_results(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("manifest.json", "summary.json", "plan.json"))


def _has_all_of(folder: Path, result: Result) -> bool:
    """Whether the folder's results are those of the same request with the same values, so that nothing is lost."""
    try:
        recorded = read_manifest(folder / "manifest.json")
    except ManifestError:
        return False
    tables = result.tables()
    # A table that was recorded then, such as a time series, is not recorded now.
    return all(
        (rows := tables.get(file.removesuffix(".parquet"))) is not None
        and values_sha256(rows) == digests["values_sha256"]
        for file, digests in recorded["tables"].items()
    )


def _move_aside(folder: Path) -> Path:
    """Rename a folder to the first free name with a number."""
    place = next(path for number in count(1) if not (path := folder.with_name(f"{folder.name}-{number}")).exists())
    return folder.rename(place)
