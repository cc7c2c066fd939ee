"""What runs found: a summary, tables of runs and of time series, and files that say where they came from.

A folder of results holds Parquet tables (units in the metadata of each column), ``summary.json`` and ``manifest.json``.
The manifest carries all that a repetition needs: the scenario with every default written out, the seeds and the
digests of the traces, which lie beside it in ``traces/``.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import varicap._core as _core
from varicap._files import writing
from varicap._folders import Folder, as_json
from varicap.results.capture import SNAPLEN, snap_length
from varicap.results.manifest import Request, copy_traces, describe, values_sha256
from varicap.results.names import refuse_foreign
from varicap.results.tables import Recorded, arrow, parquet


def _of_flow(file: Path, flow: str, place: int) -> Path:
    """A file for a flow beside one for all, in whose name no other place can be."""
    if not flow:
        return file
    plain = "".join("-" if letter in "/\\:" or not letter.isprintable() else letter for letter in flow)
    plain = plain if plain == flow else f"{plain}-{place}"
    return file.with_name(f"{file.stem}.{plain}{file.suffix or '.pcapng'}")


@dataclass(frozen=True, repr=False)
class Result(Recorded):
    """Results of one or more runs of a scenario."""

    request: Request
    data: _core.Results

    @property
    def summary(self) -> dict[str, Any]:
        """Means over the runs with their 95 % confidence intervals, as ``varicap run --json`` prints them."""
        summary: dict[str, Any] = json.loads(self.data.summary())
        return summary

    @property
    def runs(self) -> int:
        """How many replications there are."""
        return self.data.runs

    def table(self, name: str) -> pa.Table:
        """A table by its name, such as ``flows``; empty if the runs did not record it."""
        return self._packets() if name == "packets" else arrow(getattr(self.data, name)())

    def _packets(self) -> pa.Table:
        tables = [arrow(columns) for columns in self.data.packets()]
        if not tables:
            return pa.table({})
        rows = pa.concat_tables(tables).unify_dictionaries()
        # By run, then by time; a link reports its departures when it is looked at, hence the sorting.
        return rows.take(np.lexsort((rows["time_ns"].to_numpy(), rows["replication"].to_numpy())))

    def write_pcapng(self, path: str | Path, snaplen: str = SNAPLEN) -> list[Path]:
        """Write the packets of the first run for Wireshark, a file for each isolated flow; returns the files.

        Of each packet the file has its first `snaplen` bytes, as tcpdump's ``-s``; ``"0 B"`` stands for all.
        All headers fit into the default, and what follows them is zeros.
        Empty unless the run recorded packets.  Raises ``ValueError`` for a `snaplen` that is no size.
        """
        length = snap_length(snaplen)
        files = [_of_flow(Path(path), flow, place) for place, flow in enumerate(self.data.captures())]
        for place, file in enumerate(files):
            with writing(file) as capture:
                self.data.write_capture(place, capture, length)
        return files

    def tables(self) -> dict[str, pa.Table]:
        """Every table that was recorded, by the name of its file."""
        tables = {"flows": self.flows, "links": self.links}
        if (groups := self.groups).num_rows > 0:
            tables["groups"] = groups
        if self.request.series is True:
            tables |= {"flow_series": self.flow_series, "link_series": self.link_series}
        if self.request.packets is True:
            tables["packets"] = self.packets
        return tables

    def save(self, folder: str | Path) -> Path:
        """Write tables, summary and manifest into `folder`, and return the manifest's path.

        They are all written, or none where there is no room.  Raises `FolderError` where a link or a device has the
        name of one.
        """
        with Folder(folder, make=True) as there:
            refuse_foreign(there)
            traces = copy_traces(self.request.scenario.trace_files(), there)
            digests, files = {}, {}
            for name, rows in self.tables().items():
                files[f"{name}.parquet"] = content = parquet(rows)
                digests[f"{name}.parquet"] = {
                    "rows": rows.num_rows,
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "values_sha256": values_sha256(rows),
                }
            files["summary.json"] = as_json(self.summary)
            files["manifest.json"] = as_json(describe(self.request, traces, digests))
            there.write_all(files)
        return Path(folder) / "manifest.json"
