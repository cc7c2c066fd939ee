"""Columns of tables of runs as samples, a value for each replication."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varicap.statistics import Array


def samples(table: pa.Table, name: str, column: str) -> Array:
    """A column of one flow or group, a value for each replication."""
    rows = table.filter(pc.equal(table["name"], name))
    if rows.num_rows == 0:
        raise KeyError(name)
    return np.asarray(rows[column].to_numpy(zero_copy_only=False), dtype=np.float64)
