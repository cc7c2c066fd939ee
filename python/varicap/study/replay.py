"""Repeat the runs of a study from its folder, and compare every value of its tables.

Of a design the runs are repeated that its folder has, and not the search that chose them.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

import varicap._core as _core
from varicap import plugins
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.replay import Comparison, Replay, refuse_others
from varicap.plugins import Make
from varicap.results.manifest import ManifestError, refuse_other_places, values_sha256, with_traces_beside
from varicap.results.saved import manifest_of, read
from varicap.results.study import Study
from varicap.results.summary import KINDS, Point, Tables
from varicap.results.tables import parquet
from varicap.statistics import Progress
from varicap.statistics.progress import shown
from varicap.study.budget import Limits
from varicap.study.growing import ABSENT
from varicap.study.store import in_order, unpack
from varicap.study.work import Piece, Span, Task, execute, workers_on


def replay(
    folder: str | Path,
    *,
    controls: Mapping[str, Make] | None = None,
    queues: Mapping[str, Make] | None = None,
    on: str | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    progress: Progress | None = None,
) -> Replay:
    """Run all that a folder of `varicap.sweep` or a design has again, and say of each table whether it is identical.

    `controls` and `queues` bring what was written in Python, which has to be what it was.  Raises `ManifestError`.
    """
    study = read(folder)
    path = Path(folder) / "manifest.json"
    if not isinstance(study, Study):
        raise ManifestError(f"{path}: the runs of a scenario, and no study")
    recorded = manifest_of(study)
    if recorded.get("engine") == "kernel":
        raise ManifestError(f"{path}: its runs were in a kernel, and only those of the simulator are repeated")
    before = {name: each if "sha256" in each else None for name, each in (recorded.get("plugins") or {}).items()}
    refuse_others(path, recorded, before, controls, queues)
    values = [pair for point in study.points for pair in point]
    own = plugins.used(recorded["scenario"], controls, queues, values)
    digests, files = recorded.get("traces") or {}, recorded.get("trace_files") or {}
    if missing := digests.keys() - files.keys():
        raise ManifestError(f"{path}: the trace {min(missing)} is not beside it: an earlier version kept none")
    refuse_other_places(path, files)
    traces = {name: {"file": files[name], "sha256": digests[name]} for name in files}
    with with_traces_beside(path, {"scenario": recorded["scenario"], "traces": traces}) as (written, base_dir):
        text = json.dumps(written)
        points = [_renamed(point, files) for point in study.points]
        used = tuple((files[name], digests[name]) for name in files)
        limits = Limits(max_memory, max_time, uuid.uuid4().hex)

        def make(spans: tuple[Span, ...]) -> Task:
            at = tuple(points[span.point] for span in spans)
            return Task(text, str(base_dir), recorded["seed"], spans, at, used, limits, own=own)

        spans = list(_runs(study))
        total, pieces = sum(span.count for span in spans), []
        with (
            shown(progress, study.name) as watched,
            workers_on(on, jobs or (1 if own and on is None else None)) as them,
        ):

            def keep(piece: Piece) -> None:
                pieces.append(unpack(piece.tables))
                if watched is not None:
                    done = sum(len(_pairs(each["links"])) for each in pieces)
                    watched(done / total, done, total)

            try:
                execute(make, spans, *them, 1.0, keep)
            except _core.ScenarioError as error:
                raise ManifestError(f"{path}: its scenario: {error}") from None
    found: Tables = {kind: in_order([each[kind] for each in pieces]) for kind in KINDS}
    tables = tuple(
        _compared(f"{kind}.parquet", found[kind], study.tables[kind], recorded["tables"][f"{kind}.parquet"])
        for kind in KINDS
        if f"{kind}.parquet" in recorded["tables"]
    )
    return Replay(path, tables, recorded["software"]["varicap"])


def _compared(file: str, rows: pa.Table, before: pa.Table, digest: str) -> Comparison:
    same_bytes = hashlib.sha256(parquet(rows)).hexdigest() == digest
    return Comparison(file, same_bytes or values_sha256(rows) == values_sha256(before), same_bytes)


def _pairs(links: pa.Table) -> set[tuple[int, int]]:
    return set(zip(links["point"].to_pylist(), links["replication"].to_pylist(), strict=True))


def _runs(study: Study) -> Iterator[Span]:
    """The runs that a study has."""
    numbers: dict[int, list[int]] = {}
    for point, replication in sorted(_pairs(study.links)):
        numbers.setdefault(point, []).append(replication)
    for point, replications in numbers.items():
        first = replications[0]
        if replications != list(range(first, first + len(replications))):
            yield from (Span(point, each, 1) for each in replications)
        else:
            yield Span(point, first, len(replications))


def _renamed(point: Point, files: Mapping[str, str]) -> Point:
    """A point whose values name the copies of traces; a key that it does not have is left out."""

    def of(text: str) -> str:
        for name, file in files.items():
            text = (
                file
                if text == name
                else text.replace(json.dumps(name), json.dumps(file)).replace(f"'{name}'", f"'{file}'")
            )
        return text

    return tuple((path, of(text)) for path, text in point if text != ABSENT)
