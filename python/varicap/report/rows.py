"""The rows of a table that are about one run, flow or link."""

import pyarrow as pa


def where(rows: pa.Table, column: str, value: object) -> pa.Table:
    """The rows whose `column` has this value; the table itself if all have it: series of long runs are large.

    >>> where(pa.table({"flow": ["a", "b"], "n": [1, 2]}), "flow", "b").to_pylist()
    [{'flow': 'b', 'n': 2}]
    """
    import pyarrow.compute as pc

    if rows.num_rows == 0:
        return rows
    chosen = pc.equal(rows[column], value)
    return rows if pc.all(chosen).as_py() else rows.filter(chosen)
