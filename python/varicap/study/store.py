"""The folder of a study: what was asked, the finished runs, and the tables once all are finished.

```text
plan.json, parts/    what was asked, and the finished runs (`varicap.results.pieces`)
points.json          the points so far, if they are chosen as the study goes; its parts say which points they are of
flows.parquet …      the tables of all runs, written when all are done, the same bytes after any interruptions
manifest.json        the same facts for readers, with versions, host and digests
```
"""

import hashlib
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from varicap._folders import as_json, parsed
from varicap.results.manifest import copy_traces
from varicap.results.pieces import Pieces, reported
from varicap.results.shapes import fault_of_schema
from varicap.results.study import Study
from varicap.results.summary import KINDS, Point, Tables
from varicap.results.tables import parquet

__all__ = ["Folder", "in_order", "pack", "unpack"]

_POINTS = "points.json"


class Folder(Pieces):
    """A study's folder, locked for one process at a time."""

    def __init__(
        self,
        path: Path,
        points: Sequence[Point],
        notify: Callable[[str], None] = lambda _: None,
        *,
        is_planned: bool = True,
    ) -> None:
        """The folder of a study of these points, to which more may be added if they are not all planned."""
        super().__init__(path, ".arrow", notify)
        self.points = points
        self._is_planned = is_planned

    def read(self) -> Tables:
        """All finished runs, in the order of points and replications; empty tables if there are none.

        A part that is not as it was written, or has runs that another has, is set aside as if it had never been.
        """
        pieces: list[Tables] = []
        known: set[tuple[int, int]] = set()
        for name, tables in self.whole(self._read):
            runs = _runs(tables)
            if known & runs:
                self.set_aside(self.parts, name, "has runs that another part has")
            elif pieces and any(pieces[0][kind].schema != tables[kind].schema for kind in KINDS):
                self.set_aside(self.parts, name, "has other columns than the parts before it")
            else:
                known |= runs
                pieces.append(tables)
        return {kind: in_order([piece[kind] for piece in pieces]) for kind in KINDS}

    def keep(self, name: str, piece: bytes) -> None:
        """Keep a piece of finished runs: all of it or nothing."""
        self.add(name, piece if self._is_planned else self._head(unpack(piece)) + b"\n" + piece)

    def _read(self, piece: bytes) -> Tables:
        """The tables of a part.  Raises ``ValueError`` for what is none, or is of other points."""
        head, end, rest = (b"", b"", piece) if self._is_planned else piece.partition(b"\n")
        tables = unpack(rest)
        if any(not (0 <= point < len(self.points) and run >= 0) for point, run in _runs(tables)):
            raise ValueError("has a point that the study does not have")
        if end and head != self._head(tables):
            raise ValueError("not of the points that points.json has")
        return tables

    def _head(self, tables: Tables) -> bytes:
        """The points of a part, of which the plan does not speak."""
        return json.dumps([self.points[number] for number in sorted({point for point, _ in _runs(tables)})]).encode()

    def read_points(self) -> list[Point]:
        """The points so far; a file that does not have them is set aside, and so are the runs of what it had."""
        with reported(self.path):
            if not self.folder.is_file(_POINTS):
                return []
            try:
                return [tuple(_pair(each) for each in point) for point in parsed(self.folder.read(_POINTS))]
            except (ValueError, TypeError):
                self.set_aside(self.folder, _POINTS, "not the points of a study; its runs are repeated")
                return []

    def write_points(self) -> None:
        """Write the points so far."""
        self.write_json(_POINTS, self.points)

    def publish(self, study: Study, facts: Callable[[dict[str, str]], Any]) -> None:
        """Write the tables, then the manifest that vouches for them: `facts` of their digests."""
        tables = {kind: study.tables[kind] for kind in KINDS if study.tables[kind].num_rows}
        contents = {f"{name}.parquet": parquet(rows) for name, rows in (tables | {"summary": study.summary}).items()}
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        contents["manifest.json"] = as_json(facts(digests))
        with reported(self.path):
            self.folder.write_all(contents, lasting=True)

    def copy_traces(self, traces: Mapping[str, Path]) -> dict[str, str]:
        """Put the traces beside the manifest; returns where each of them is, for it."""
        with reported(self.path):
            return {name: each["file"] for name, each in copy_traces(list(traces.items()), self.folder).items()}

    def write_json(self, name: str, value: Any) -> None:
        """Write an object as JSON."""
        with reported(self.path):
            self.folder.write(name, as_json(value), lasting=True)


def _pair(value: Any) -> tuple[str, str]:
    """The path and the value of a key, as it was written."""
    path, text = value
    if not (isinstance(path, str) and isinstance(text, str)):
        raise ValueError("not a key and its value")
    return path, text


def pack(tables: Tables) -> bytes:
    """Join several tables into one piece."""
    sink = pa.BufferOutputStream()
    for kind in KINDS:
        with pa.ipc.new_stream(sink, tables[kind].schema) as stream:
            stream.write_table(tables[kind])
    return bytes(sink.getvalue().to_pybytes())


def unpack(piece: bytes) -> Tables:
    """The tables of a piece.  Raises ``ValueError`` for what is none."""
    source = pa.BufferReader(piece)
    try:
        _refuse_compressed(piece)
        tables = {kind: pa.ipc.open_stream(source).read_all() for kind in KINDS}
        for kind, rows in tables.items():
            rows.validate(full=True)
            if fault := fault_of_schema(kind, rows.schema) or _fault_of_runs(rows):
                raise ValueError(f"{kind}: {fault}")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"not tables of runs: {error}") from None
    return tables


_DICTIONARY, _ROWS = 2, 3
"""Kinds of messages that have buffers."""


def _refuse_compressed(piece: bytes) -> None:
    """Refuse buffers that unpack: those that `pack` writes do not, so that a piece is as large in memory as it is.

    Source: Apache Arrow, format/Message.fbs (the numbers of fields).
    """
    source = pa.BufferReader(piece)
    for _ in KINDS:
        for message in pa.ipc.MessageReader.open_stream(source):
            head = memoryview(message.metadata)
            try:
                root = _after(head, 0)
                kind, rows = _field(head, root, 1), _field(head, root, 2)
                if not kind or not rows or head[kind] not in (_DICTIONARY, _ROWS):
                    continue
                batch = _after(head, rows)
                if head[kind] == _DICTIONARY:
                    batch = _after(head, _field(head, batch, 1))
                is_compressed = _field(head, batch, 3) != 0
            except (struct.error, IndexError):
                raise ValueError("not tables of runs: a message that is none") from None
            if is_compressed:
                raise ValueError("not tables of runs: compressed, expected buffers as they are")


def _after(head: memoryview, at: int) -> int:
    """Where an offset of a flatbuffer leads."""
    return at + int(struct.unpack_from("<I", head, at)[0])


def _field(head: memoryview, table: int, number: int) -> int:
    """The place of a field of a table in a flatbuffer; 0: it has none."""
    offsets = table - struct.unpack_from("<i", head, table)[0]
    if offsets < 0:
        raise IndexError
    size = struct.unpack_from("<H", head, offsets)[0]
    at = 4 + 2 * number
    offset = struct.unpack_from("<H", head, offsets + at)[0] if at + 2 <= size else 0
    return table + offset if offset else 0


def _fault_of_runs(rows: pa.Table) -> str:
    """What is wrong with the columns that say of which run a row is."""
    for name in ("point", "replication"):
        at = rows.schema.get_all_field_indices(name)
        if len(at) != 1 or not pa.types.is_integer(rows.schema.field(at[0]).type) or rows[name].null_count:
            return f"the column `{name}` is not there once, of whole numbers"
    return ""


def in_order(tables: list[pa.Table]) -> pa.Table:
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
