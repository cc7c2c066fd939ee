"""The folder of a study: what was asked, the finished runs, and the tables once all are finished.

```text
plan.json, parts/    what was asked, and the finished runs (`varicap.results.pieces`)
flows.parquet …      the tables of all runs, written when all are done, the same bytes after any interruptions
manifest.json        the same facts for readers, with versions, host and digests
```
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from varicap.results.pieces import Pieces, StudyError, reported
from varicap.results.summary import KINDS, Tables

__all__ = ["Folder", "StudyError", "pack", "unpack"]


class Folder(Pieces):
    """A study's folder, locked for one process at a time."""

    def __init__(self, path: Path, notify: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(path, ".arrow", notify)

    def read(self) -> Tables:
        """All finished runs, in the order of points and replications; empty tables if there are none.

        A part that is not as it was written, or has runs that another has, is set aside as if it had never been.
        """
        pieces: list[Tables] = []
        known: set[tuple[int, int]] = set()
        for file, piece in self.whole():
            tables = unpack(piece)
            runs = _runs(tables)
            if known & runs:
                self.set_aside(file, "has runs that another part has")
                continue
            known |= runs
            pieces.append(tables)
        return {kind: _sorted([piece[kind] for piece in pieces]) for kind in KINDS}

    def write_table(self, name: str, table: pa.Table) -> Path:
        """Write a table of the results."""
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        with reported(self.path):
            return self.write(self.path / f"{name}.parquet", sink.getvalue().to_pybytes())

    def write_json(self, name: str, value: Any) -> Path:
        """Write an object as JSON."""
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        with reported(self.path):
            return self.write(self.path / name, text.encode())


def pack(tables: Tables) -> bytes:
    """Join several tables into one piece."""
    sink = pa.BufferOutputStream()
    for kind in KINDS:
        with pa.ipc.new_stream(sink, tables[kind].schema) as stream:
            stream.write_table(tables[kind])
    return bytes(sink.getvalue().to_pybytes())


def unpack(piece: bytes) -> Tables:
    """The tables of a piece."""
    source = pa.BufferReader(piece)
    return {kind: pa.ipc.open_stream(source).read_all() for kind in KINDS}


def _sorted(tables: list[pa.Table]) -> pa.Table:
    """Sort rows by point and replication; within a run they keep their order."""
    if not tables:
        return pa.table({"point": pa.array([], pa.int64()), "replication": pa.array([], pa.int64())})
    rows = pa.concat_tables(tables)
    place = pa.array(range(rows.num_rows), pa.int64())
    keys = [("point", "ascending"), ("replication", "ascending"), ("place", "ascending")]
    return rows.append_column("place", place).sort_by(keys).drop_columns(["place"]).combine_chunks()


def _runs(tables: Tables) -> set[tuple[int, int]]:
    """The point and the replication of each run."""
    links = tables["links"]
    return set(zip(links["point"].to_pylist(), links["replication"].to_pylist(), strict=True))
