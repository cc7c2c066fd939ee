"""The page of the tables of results, from the engine's own description of their columns."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated import keep
from sphinx.application import Sphinx

from varicap import _core

HEAD = """\
# Results

The tables of a result (`varicap.Result`) and of a folder of results. `groups` has a row for each run and group of
several flows, with the columns of `flows`. *In JSON* is where the number is in `varicap run --json`, a mean over the
runs; its interval is beside it, or in `ci95`. Units are in the metadata of each column, too; `varicap columns` prints
all this.

"""

TABLES = {
    "flows": "A row for each run and flow.",
    "links": "A row for each run and link.",
    "flow_series": "A row for each sample of each flow; needs `--series`.",
    "link_series": "A row for each sample of each link; needs `--series`.",
    "packets": "A row for each thing that happened to a packet; needs `--packets`.",
}


def rows(columns: list[dict[str, Any]], in_json: bool) -> Iterator[str]:
    """The columns of a table."""
    heads = ["column", "unit", *(["in JSON"] if in_json else []), "meaning"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for column in columns:
        told = column["description"] + (f" One of {', '.join(column['names'])}." if "names" in column else "")
        is_mean = column["name"] not in ("replication", "seed")
        path = [f"`{column['path']}`" if is_mean else ""] if in_json else []
        yield "| " + " | ".join([f"`{column['name']}`", column["unit"], *path, told]) + " |"


def page() -> Iterator[str]:
    """The whole page, line by line."""
    yield HEAD
    for table, columns in json.loads(_core.columns()).items():
        if isinstance(columns, list) and table != "groups":
            yield f"## {table}\n\n{TABLES.get(table, '')}\n"
            yield from rows(columns, table in ("flows", "links"))
            yield ""


def write(app: Sphinx) -> None:
    """Write the page."""
    keep(Path(app.srcdir) / "reference/results.md", "\n".join(page()))


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
