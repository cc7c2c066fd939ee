"""The tables that runs leave, by the same names wherever they are."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import varicap._core as _core
from varicap.results import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def parquet(rows: pa.Table) -> bytes:
    """A table as the bytes of a file, the same for the same rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


class Recorded(ABC):
    """Runs that are over: their summary and their tables, in memory or in a folder."""

    summary: Any
    """Means over the runs with their 95 % confidence intervals, as ``varicap run --json`` prints them."""

    @property
    @abstractmethod
    def runs(self) -> int:
        """How many replications there are."""

    @abstractmethod
    def table(self, name: str) -> pa.Table:
        """A table by its name, such as ``flows``; empty if it was not recorded."""

    @property
    def flows(self) -> pa.Table:
        """One row for each run and flow."""
        return self.table("flows")

    @property
    def groups(self) -> pa.Table:
        """One row for each run and group of several flows."""
        return self.table("groups")

    @property
    def links(self) -> pa.Table:
        """One row for each run and link."""
        return self.table("links")

    @property
    def flow_series(self) -> pa.Table:
        """Windows, RTT and goodput of each flow over time; empty unless the runs recorded series."""
        return self.table("flow_series")

    @property
    def link_series(self) -> pa.Table:
        """Capacity, throughput and backlog of each link over time; empty unless the runs recorded series."""
        return self.table("link_series")

    @property
    def packets(self) -> pa.Table:
        """What happened to every packet, in order of time; empty unless the runs recorded packets."""
        return self.table("packets")

    def differences(self, reference: str | None = None) -> pa.Table:
        """How each flow differs from the `reference` (the first flow unless named), measure by measure.

        Differences are taken run by run, and have their 95 % interval.
        """
        from varicap.results.differences import differences

        return differences(self.flows, self.links, reference)

    def figure(self, **looks: Unpack[shown.Looks]) -> "Figure":
        """Capacity, throughput and queue over time in the first run, which must have recorded series.

        Keywords choose the run, panels and flows, and how they look, as the options of ``varicap plot`` do.
        """
        return shown.figure(self, **looks)

    def __repr__(self) -> str:
        return shown.text(self)

    def _repr_html_(self) -> str:
        return shown.html(self.summary)


def arrow(columns: "list[_core.Column]") -> pa.Table:
    """An Arrow table of the engine's columns; units and descriptions go into the metadata of each field."""
    fields = []
    arrays = []
    for name, unit, description, values in columns:
        array = _array(values)
        fields.append(pa.field(name, array.type, metadata={"unit": unit, "description": description}))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def plain(columns: "list[_core.Column]") -> "list[_core.Column]":
    """Columns with names as plain text, which is the same in every table, instead of places in a list of them."""
    return [
        (name, unit, said, [values[1][place] for place in values[0].tolist()] if isinstance(values, tuple) else values)
        for name, unit, said, values in columns
    ]


def _array(values: Any) -> pa.Array:
    # Names with their type: to find it, Arrow would import what it needs for months and days.
    if isinstance(values, tuple):
        places, names = values
        return pa.DictionaryArray.from_arrays(_array(places), pa.array(names, pa.string()))
    if isinstance(values, list):
        return pa.array(values, pa.string())
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        return pa.array(values)
    # As it lies in memory: asked for an array, Arrow would import pandas and NumPy's masks to see what it is.
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))], null_count=0)
