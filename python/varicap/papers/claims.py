"""What a paper states, read from its ``claims.toml``.

::

    title = "…"                     # of the paper
    reference = "ratcp"             # its key in REFERENCES.bib

    [figures]                       # what can be run, with a title; each is a module of the paper's folder
    fig04 = "Throughput against the loss probability"
    fig05 = { title = "…", by = "bars", flows = ["a"] }  # one of a family: `by` is the module, the rest its arguments

    [drawings]                      # figures of the paper that are drawings, with what they show
    fig01 = "…"

    [[claims]]
    id = "F4-reno-1pct"
    figure = "fig04"                # which of the figures measures it
    where = "Fig. 4"                # in the paper
    statement = "…"
    engine = "sim"                  # whose value is judged, "sim" or "model"
    unit = "kB/s"
    paper = 48.7                    # the paper's number, or its words where it gives none
    quote = "…"                     # the sentence or cell of the paper that sets the bound
    tolerance = "5 %"               # of the paper's number, or an amount in the unit: "0.5"
    accept = [-inf, 50.0]           # instead of `tolerance` where the paper gives a bound, or words
    reason = "…"                    # how the bound follows from the quote
    by = "runs"                     # the sentence is put to each run, if a mean over runs says little (two modes)
    unlike = "…"                    # why the bound is not that of the words it quotes (words.toml)
    apart = "…"                     # why it counts apart: something that the paper does not have, or another's words
    expect = "differs"              # verdict of a full run, if not "reproduced"; or "unsettled"
    note = "…"                      # why it differs, or a reading

    [[tables]]                      # claims in bulk, with ids TABLE.ROW.COLUMN; rows have the keys of claims
    id = "T1"
    figure = "table1"
    where = "Table I"
    unit = "kB/s"
    column = "arrivals per second"  # what the columns are
    columns = [0.0, 0.01]
    tolerance = ["5 %", "5 %"]      # one for all, or one for each column; a row may have its own
    reason = "…"
    [[tables.rows]]
    id = "tcp-sim"
    statement = "TCP: simulation"
    engine = "sim"
    paper = [82.44, 79.95]
    expect = { "0.01" = "differs" } # by column, or one for all
    note = { "0.01" = "…" }
"""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Literal, TypeAlias, get_args

from varicap.interface import PrintableError
from varicap.statistics.verdict import Bounds

Verdict: TypeAlias = Literal["reproduced", "differs", "unsettled"]
Engine: TypeAlias = Literal["sim", "model"]

_CLAIM_KEYS = frozenset(
    (
        "id",
        "figure",
        "where",
        "statement",
        "engine",
        "unit",
        "paper",
        "quote",
        "tolerance",
        "accept",
        "reason",
        "by",
        "apart",
        "unlike",
        "expect",
        "note",
    )
)
_TABLE_KEYS = frozenset(("id", "figure", "where", "unit", "column", "columns", "quote", "tolerance", "reason", "rows"))
_ROW_KEYS = frozenset(("id", "statement", "engine", "paper", "quote", "tolerance", "reason", "expect", "note"))


class ClaimsError(PrintableError, ValueError):
    """A ``claims.toml`` that is not well-formed."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of a paper, with what counts as its reproduction."""

    id: str
    figure: str
    where: str
    statement: str
    engine: Engine
    unit: str
    paper: float | str
    tolerance: str
    """The tolerance as written, for readers."""
    accept: tuple[float, float]
    """The range of values that reproduce the claim, in its unit."""
    quote: str
    """The paper's words or number that set the range."""
    reason: str
    """How the range follows from them."""
    by_runs: bool = False
    """Whether the sentence is put to each run instead of to their mean."""
    apart: str = ""
    """Why it counts apart from what the paper states; empty if it does not."""
    unlike: str = ""
    """Why its bound is not that of the words which it quotes."""
    expect: Verdict = "reproduced"
    note: str = ""
    cell: tuple[str, str] | None = None
    """Row and column, if the claim is a cell of a table."""

    @property
    def bounds(self) -> Bounds:
        """The accepted range as what is asked of a mean."""
        return Bounds(low=self.accept[0], high=self.accept[1])


@dataclass(frozen=True)
class Maker:
    """What makes a table or figure: a module of the paper's folder, and its arguments in addition to the run."""

    module: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Paper:
    """A paper: its figures by name with their titles, and its claims."""

    key: str
    title: str
    reference: str
    figures: Mapping[str, str]
    makers: Mapping[str, Maker]
    """By figure."""
    claims: tuple[Claim, ...]
    drawings: Mapping[str, str] = field(default_factory=dict)
    """Figures of the paper that have no data: what they show, and where that is to be seen here."""

    def scenario(self, name: str) -> str:
        """The text of one of its scenario files."""
        file = resources.files("varicap.papers") / self.key / "scenarios" / f"{name}.toml"
        return file.read_text(encoding="utf-8")

    def of(self, figure: str) -> tuple[Claim, ...]:
        """The claims that this figure measures."""
        return tuple(claim for claim in self.claims if claim.figure == figure)


def read(key: str, text: str) -> Paper:
    """Read the paper that this text describes.  Raises `ClaimsError`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ClaimsError(f"{key}: {error}") from None
    figures: dict[str, str] = {}
    makers: dict[str, Maker] = {}
    for name, written in data.get("figures", {}).items():
        figures[name], makers[name] = _figure(key, name, written)
    claims = [
        *map(_claim, data.get("claims", ())),
        *(claim for table in data.get("tables", ()) for claim in _cells(table)),
    ]
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise ClaimsError(f"{key}: two claims have the id `{claim.id}`")
        if claim.figure not in figures:
            raise ClaimsError(f"{key}: `{claim.id}` is of the figure `{claim.figure}`, which `figures` does not list")
        seen.add(claim.id)
    drawings = {str(name): str(shows) for name, shows in data.get("drawings", {}).items()}
    if both := sorted(figures.keys() & drawings.keys()):
        raise ClaimsError(f"{key}: `{both[0]}` is a figure with data or a drawing, not both")
    return Paper(key, str(data["title"]), str(data["reference"]), figures, makers, tuple(claims), drawings)


def _figure(key: str, name: str, written: Any) -> tuple[str, Maker]:
    """The title of a figure, and what makes it."""
    if isinstance(written, str):
        return written, Maker(name, {})
    if not isinstance(written, Mapping) or not {"title", "by"} <= written.keys():
        raise ClaimsError(
            f"{key}: the figure `{name}` is a title, or a table with a `title` and the module it is made `by`"
        )
    arguments = {one: value for one, value in written.items() if one not in ("title", "by")}
    return str(written["title"]), Maker(str(written["by"]), arguments)


def _cells(table: Mapping[str, Any]) -> Iterator[Claim]:
    """The claims of a table, one per cell."""
    name = str(table.get("id", "?"))
    _only(name, table, _TABLE_KEYS)
    columns = table["columns"]
    for row in table["rows"]:
        place = f"{name}.{row.get('id', '?')}"
        _only(place, row, _ROW_KEYS)
        tolerance = row.get("tolerance", table.get("tolerance"))
        tolerances = tolerance if isinstance(tolerance, list) else [tolerance] * len(columns)
        if not len(row["paper"]) == len(tolerances) == len(columns):
            raise ClaimsError(f"{place}: {len(columns)} columns want as many numbers and tolerances")
        for column, value, tolerance in zip(columns, row["paper"], tolerances, strict=True):
            cell = f"{column:g}"
            claim = _claim(
                {
                    "id": f"{place}.{cell}",
                    "figure": table["figure"],
                    "where": table["where"],
                    "statement": f"{row['statement']}, {cell} {table['column']}",
                    "engine": row["engine"],
                    "unit": table["unit"],
                    "paper": value,
                    "tolerance": tolerance,
                    "quote": row.get("quote", table.get("quote")),
                    "reason": row.get("reason", table.get("reason")),
                    "expect": _of_cell(row.get("expect", {}), cell, "reproduced"),
                    "note": _of_cell(row.get("note", {}), cell, ""),
                }
            )
            yield replace(claim, cell=(row["statement"], cell))


def _of_cell(written: Any, cell: str, default: str) -> Any:
    """What a row says for all its columns, or for this one."""
    return written.get(cell, default) if isinstance(written, Mapping) else written


def _claim(data: Mapping[str, Any]) -> Claim:
    name = str(data.get("id", "?"))
    _only(name, data, _CLAIM_KEYS)
    for key in ("id", "figure", "where", "statement", "engine", "unit", "quote", "reason"):
        if not isinstance(data.get(key), str) or (not data[key].strip() and key != "unit"):
            raise ClaimsError(f"`{name}` wants a `{key}`")
    if data["engine"] not in ("sim", "model"):
        raise ClaimsError(f'`{name}`: `engine` is "sim" or "model", not {data["engine"]!r}')
    if data.get("expect", "reproduced") not in get_args(Verdict):
        raise ClaimsError(f"`{name}`: `expect` is one of {', '.join(get_args(Verdict))}, not {data['expect']!r}")
    if data.get("expect") == "differs" and not data.get("note"):
        raise ClaimsError(f"`{name}` is expected to differ: its `note` says why")
    if data.get("by", "runs") != "runs":
        raise ClaimsError(f'`{name}`: `by` is "runs" or left out, not {data["by"]!r}')
    value = data.get("paper")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ClaimsError(f"`{name}`: `paper` is a number, or the paper's words")
    tolerance, accept = _accepted(name, value, data.get("tolerance"), data.get("accept"))
    return Claim(
        id=name,
        figure=data["figure"],
        where=data["where"],
        statement=data["statement"],
        engine=data["engine"],
        unit=data["unit"],
        paper=value,
        tolerance=tolerance,
        accept=accept,
        quote=data["quote"],
        reason=data["reason"],
        by_runs="by" in data,
        apart=str(data.get("apart", "")),
        unlike=str(data.get("unlike", "")),
        expect=data.get("expect", "reproduced"),
        note=data.get("note", ""),
    )


def _accepted(
    name: str, paper: float | str, tolerance: str | None, accept: list[float] | None
) -> tuple[str, tuple[float, float]]:
    """The tolerance as text and as a range."""
    if (tolerance is None) == (accept is None):
        raise ClaimsError(f"`{name}` wants either a `tolerance` or a range to `accept`")
    if accept is not None:
        if len(accept) != 2 or not accept[0] < accept[1]:
            raise ClaimsError(f"`{name}`: `accept` is a range [least, most], not {accept!r}")
        low, high = map(float, accept)
        return _range(low, high), (low, high)
    if isinstance(paper, str):
        raise ClaimsError(f"`{name}`: words have no tolerance; give the range to `accept`")
    text = str(tolerance).strip()
    try:
        amount = float(text.removesuffix("%"))
    except ValueError:
        raise ClaimsError(f'`{name}`: `tolerance` is "5 %" or "0.5", not {tolerance!r}') from None
    half = abs(paper) * amount / 100.0 if text.endswith("%") else amount
    if not half > 0.0:
        raise ClaimsError(f"`{name}`: a tolerance is more than nothing")
    return text, (paper - half, paper + half)


def _range(low: float, high: float) -> str:
    """A range as text.

    >>> _range(-math.inf, 50.0), _range(1.0, math.inf), _range(0.9, 1.1)
    ('< 50', '> 1', '0.9..1.1')
    """
    if low == -math.inf:
        return f"< {high:g}"
    return f"> {low:g}" if high == math.inf else f"{low:g}..{high:g}"


def _only(name: str, data: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = sorted(set(data) - known)
    if unknown:
        raise ClaimsError(f"`{name}` has no key `{unknown[0]}`; it knows {', '.join(sorted(known))}")
