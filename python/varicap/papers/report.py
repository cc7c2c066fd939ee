"""The claims of a paper beside ours, for the terminal."""

from collections.abc import Sequence
from itertools import groupby
from typing import get_args

from rich.table import Table
from rich.text import Text

from varicap.papers import conclusions, statements
from varicap.papers.claims import Verdict
from varicap.papers.conclusions import Concluded
from varicap.papers.page import counted
from varicap.papers.reproduce import Reproduction
from varicap.papers.run import Grid
from varicap.papers.verdict import Judged
from varicap.report.table import with_interval
from varicap.statistics import Interval

_MARKS = {"reproduced": "", "differs": " ✗", "unsettled": " ?"}
_STYLES = {"reproduced": "green", "differs": "red", "unsettled": "yellow"}
_STANDS = {"stands": "green", "falls": "red", "depends": "yellow", "open": "dim"}


def rich_tables(reproduction: Reproduction) -> list[Table]:
    """What the paper concludes, its tables cell by cell, its statements, and what it does not have."""
    cells = [claim for claim in reproduction.claims if claim.claim.cell is not None]
    explained = [one for one in reproduction.claims if one.claim.cell is None or one.verdict != "reproduced"]
    drawn = [_conclusions(reproduction.conclusions)] if reproduction.conclusions else []
    tables = drawn + [_cells(list(group)) for _, group in groupby(cells, key=lambda claim: claim.claim.where)]
    if explained:
        tables.append(
            _statements(explained, "Statements, and cells that are not reproduced" if cells else "Statements")
        )
    return tables + [_grid(grid) for _, grid in reproduction.grids]


def summary(name: str, *done: Reproduction) -> str:
    """How many conclusions, statements and claims of a paper, or of several together, have each verdict."""
    parts = []
    drawn = [one for of in done for one in of.conclusions]
    if drawn:
        parts.append(conclusions.counted(conclusions.counts(drawn)))
    parts.append(statements.counted(statements.counts(one for of in done for one in of.statements)))
    parts.append(counted({verdict: sum(of.counts[verdict] for of in done) for verdict in get_args(Verdict)}))
    for of in done:
        parts += [f"apart, {why}: {counted(count)}" for why, count in of.apart.items()]
    return "\n".join(f"{name}: {part}" for part in parts)


def _conclusions(drawn: Sequence[Concluded]) -> Table:
    """Each conclusion in words, whether it stands, why, and for which readings."""
    table = Table(title="What the paper concludes", title_justify="left", title_style="bold", show_lines=True)
    for heading, ratio in (("conclusion", 4), ("", None), ("why", 4), ("readings", 3), ("today", 2)):
        table.add_column(heading, ratio=ratio, no_wrap=ratio is None)
    for one in drawn:
        number = conclusions.number(one.number)
        readings = [f"{head}: {', '.join(of)}" for head, of in (("holds", one.under), ("not", one.not_under)) if of]
        today = [f"{under.name}: {conclusions.said(under.value)}, {under.verdict}" for _, under in one.today]
        table.add_row(
            Text(f"{one.conclusion.says} ({one.conclusion.where})"),
            Text(one.stands, style=_STANDS[one.stands]),
            Text(f"{one.why} [{one.number.claim.id}: {number}]"),
            Text("\n".join(readings) or "–"),
            Text("\n".join(today) or "–"),
        )
    return table


def _cells(claims: Sequence[Judged]) -> Table:
    """For each row of the paper's table its values, and ours below."""
    first = claims[0].claim
    columns = list(dict.fromkeys(claim.claim.cell[1] for claim in claims if claim.claim.cell))
    table = _table(
        f"{first.where} [{first.unit}]: the paper's values, below them ours (✗ differs, ? unsettled)", ("", *columns)
    )
    for row, group in groupby(claims, key=lambda claim: claim.claim.cell and claim.claim.cell[0]):
        of_row = list(group)
        table.add_row(str(row), *(f"{claim.claim.paper}" for claim in of_row), style="dim")
        table.add_row(f"  {of_row[0].claim.engine}", *map(_ours, of_row))
    return table


def _ours(judged: Judged) -> Text:
    value = _model(judged) if judged.claim.engine == "model" else _sim(judged)
    style = "" if judged.verdict == "reproduced" else _STYLES[judged.verdict]
    return Text(value + _MARKS[judged.verdict], style=style)


def _statements(claims: Sequence[Judged], title: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", show_lines=True)
    for heading in ("claim", "paper", "accepted", "model", "sim", "verdict", "note"):
        wraps = heading in ("claim", "note")
        table.add_column(heading, no_wrap=heading == "verdict", ratio=3 if wraps else None, min_width=8)
    for judged in claims:
        claim = judged.claim
        has_unit = claim.unit not in ("", "1") and any(letter.isdigit() for letter in str(claim.paper))
        unit = f" {claim.unit}" if has_unit else ""
        table.add_row(
            Text(f"{claim.id} ({claim.where}): {claim.statement}"),
            Text(f"{claim.paper}{unit}"),
            Text(claim.tolerance),
            Text(_model(judged)),
            Text(_sim(judged)),
            Text(judged.verdict, style=_STYLES[judged.verdict]),
            Text(judged.note),
        )
    return table


def _grid(grid: Grid) -> Table:
    table = _table(f"{grid.title} [{grid.unit}]; columns: {grid.column}", ("", *grid.columns))
    for name, values in grid.rows.items():
        table.add_row(name, *map(_interval, values))
    return table


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=Text(title), title_justify="left", title_style="bold", padding=(0, 0, 0, 1))
    for number, heading in enumerate(headings):
        table.add_column(Text(heading), justify="left" if number == 0 else "right", no_wrap=True)
    return table


def _model(judged: Judged) -> str:
    return "–" if judged.value.model is None else f"{judged.value.model:.4g}"


def _sim(judged: Judged) -> str:
    return "–" if judged.value.sim is None else _interval(judged.value.sim)


def _interval(value: Interval) -> str:
    return with_interval(value.mean, value.lo, value.hi).replace(" ± ", "±")
