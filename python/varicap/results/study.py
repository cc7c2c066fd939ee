"""What a study found: the tables of all its runs, by the point that each run visited."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from varicap.results import shown
from varicap.results.differences import differences
from varicap.results.summary import KINDS, Point, Tables, missing_transfers, summarise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDY_VERSION = 1


@dataclass(frozen=True, repr=False)
class Study:
    """A finished study."""

    name: str
    points: tuple[Point, ...]
    tables: Tables
    folder: Path | None
    exact: frozenset[int] = frozenset()
    """The points at which nothing is drawn, so that all runs are one."""

    @property
    def flows(self) -> pa.Table:
        """One row for each point, run and flow."""
        return self.tables["flows"]

    @property
    def links(self) -> pa.Table:
        """One row for each point, run and link."""
        return self.tables["links"]

    @cached_property
    def summary(self) -> pa.Table:
        """Each measure at each point with its interval, and its difference from point 0."""
        return summarise(self.tables, self.points, self.exact)

    @cached_property
    def notes(self) -> list[str]:
        """What a reader should know before relying on its numbers."""
        return missing_transfers(self.flows, len(self.points))

    def differences(self, reference: str | None = None) -> pa.Table:
        """How flows differ from the `reference`, the first unless named, at each point: run by run.

        The columns are those of a result's differences, with the number of the point and the values of the axes first.
        """
        found = []
        for number, point in enumerate(self.points):
            at = {kind: self.tables[kind].filter(pc.equal(self.tables[kind]["point"], number)) for kind in KINDS}
            rows = differences(at["flows"], at["links"], reference)
            keys = [("point", pa.array([number] * rows.num_rows, pa.int64()))]
            keys += [(path, pa.array([value] * rows.num_rows, pa.string())) for path, value in point]
            for place, (name, column) in enumerate(keys):
                rows = rows.add_column(place, name, column)
            found.append(rows)
        return pa.concat_tables(found)

    def figure(self, **looks: Unpack[shown.Looks]) -> "Figure":
        """Goodput over the first axis, with intervals; a panel for each value of the further axes.

        Keywords choose the measure, panels and flows, and how they look, as the options of ``varicap plot`` do.
        """
        return shown.figure(self, **looks)

    def __repr__(self) -> str:
        return shown.text(self)

    def _repr_html_(self) -> str:
        return shown.html(self)
