"""Table V: System 2 with the durations of the authors' fading simulator, 400 ms."""

from varicap.analyse.models.wireless import estimate_all
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.wireless.cells import outcome, percent
from varicap.papers.wireless.tables import TABLE_2, TABLE_5


def reproduce(run: Run) -> Outcome:
    """Its cells, and System 2 against System 1 in fast fading."""
    return outcome(run.key, TABLE_5, _statements)


def _statements(cell: dict[str, float]) -> dict[str, Value]:
    packets = percent(estimate_all(TABLE_2.links()))[-3:]  # 100 Hz, the last row
    cells = [cell[f"f100.{column.name}"] for column in TABLE_5.columns]
    return {"T5-cells": Value(model=min(one / other for one, other in zip(cells, packets, strict=True)))}
