"""What every chart of a page has, whichever module draws it: a title, a text in its place, and its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varicap.report.table import significant
from varicap.report.web.markup import Markup

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """A column of a chart's numbers, and how the browser draws it."""

    label: str
    unit: str
    values: Sequence[Any]
    role: str = "line"
    """line, step, area, or ticks (counts, drawn as marks on the axis of time)."""
    flow: int | None = None
    """The number of the flow, which gives it its colour; what is no flow's is grey."""
    dash: int = 0
    """Which style of line it has, if there are several of one colour."""
    measured: Sequence[Any] | None = None
    """What the numbers beside the chart are of, where it draws other values."""

    @property
    def heading(self) -> str:
        """As a file's heading."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


@dataclass(frozen=True)
class Chart:
    """A chart: over time if it has no drawing, else drawn already."""

    key: str
    title: str
    unit: str
    columns: tuple[Column, ...]
    text: str
    """What the chart shows, in words and numbers."""
    note: str = ""
    """How it was computed, where that is not plain."""
    drawing: Markup | None = None
    table: tuple[tuple[str, ...], ...] = field(default=())
    """Headings and rows to read in the chart's place."""
    wide: bool = False
    """Whether it needs the whole width of the page."""


def listed(values: Array, digits: int = 5) -> list[float | None]:
    """Numbers for JSON: no more digits than a screen shows, None for what is not there."""
    known = np.isfinite(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(np.where(known & (values != 0), values, 1.0)))))
        rounded = np.round(np.where(known, values, 0.0) * scale) / scale
    # A whole number is shorter without its point.
    return [
        None if not there else int(value) if value == int(value) else value
        for value, there in zip(rounded.tolist(), known.tolist(), strict=True)
    ]


def spread(values: Array) -> tuple[str, ...]:
    """Mean, least, median, 95th percentile and greatest, as text."""
    known = values[np.isfinite(values)]
    if known.size == 0:
        return ("–",) * 5
    numbers = (known.mean(), known.min(), *np.percentile(known, (50, 95)), known.max())
    return tuple(significant(float(number), 3) for number in numbers)


SPREAD = ("mean", "least", "median", "95 %", "greatest")
"""The headings of `spread`."""
