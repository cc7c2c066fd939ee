"""What is asked of a design: columns of the results, or varied keys, to minimise or maximise, and bounds on them."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import varicap._core as _core
from varicap import units
from varicap._names import unknown
from varicap.design.optimise.space import Space
from varicap.results.summary import KINDS, Tables, chances_of, items_of, range_of
from varicap.statistics import Bounds
from varicap.study.axes import DesignError

Sense: TypeAlias = Literal["minimise", "maximise"]

_DEMAND = re.compile(r"^\s*(?P<column>.+?)\s*(?P<sign>>=|<=|≥|≤|=>|=<|>|<)\s*(?P<bound>.+?)\s*$")
_READ = {
    "b/s": (units.bits_per_second, 1.0),
    "ms": (units.seconds, 1e3),
    "s": (units.seconds, 1.0),
    "B": (units.size, 1.0),
}
"""How a bound on a column of a unit is read, and what makes the unit of it."""


@dataclass(frozen=True)
class Column:
    """A column of the results: of a flow, a group of flows or a link."""

    measure: str
    unit: str
    name: str | None = None
    """Whose it is; none where the results have but one that may be meant."""

    @property
    def text(self) -> str:
        """As it is asked for."""
        return self.measure if self.name is None else f"{self.name}.{self.measure}"

    @classmethod
    def read(cls, text: str) -> "Column":
        """A column from ``COLUMN`` or ``NAME.COLUMN``, of a flow or a link.  Raises `DesignError`.

        >>> Column.read("reno.goodput_bps")
        Column(measure='goodput_bps', unit='b/s', name='reno')
        """
        name, dot, measure = text.strip().rpartition(".")
        known = measures()
        if measure not in known:
            raise DesignError(
                f"{unknown('column', measure, known, most=6)}, and no key that is varied ends in `{text}`"
            )
        return cls(measure, known[measure], name if dot else None)


@dataclass(frozen=True)
class Objective:
    """What is to be as small or as large as possible."""

    of: Column | int
    """A column, or the number of a varied key."""
    sense: Sense
    text: str

    @property
    def sign(self) -> float:
        """What makes smaller better."""
        return 1.0 if self.sense == "minimise" else -1.0


@dataclass(frozen=True)
class Constraint:
    """A bound on a column."""

    of: Column
    bounds: Bounds
    text: str

    @classmethod
    def read(cls, text: str) -> "Constraint":
        """A constraint such as ``reno.rtt_p95_ms <= 100 ms``.  Raises `DesignError`.

        >>> Constraint.read("utilisation >= 95 %").bounds
        Bounds(low=0.95, high=inf)
        """
        match = _DEMAND.match(text)
        if match is None:
            raise DesignError(f"`{text}` is not a demand such as 'utilisation >= 95 %'")
        column = Column.read(match["column"])
        bound = _bound(column, match["bound"], text)
        bounds = Bounds(low=bound) if ">" in match["sign"] or "≥" in match["sign"] else Bounds(high=bound)
        return cls(column, bounds, " ".join(text.split()))


@dataclass(frozen=True)
class Demands:
    """Everything that is asked."""

    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]

    @classmethod
    def read(
        cls, space: Space, minimise: Sequence[str], maximise: Sequence[str], subject_to: Sequence[str]
    ) -> "Demands":
        """The demands of these texts.  Raises `DesignError`."""
        asked: list[tuple[str, Sense]] = [(text, "minimise") for text in minimise]
        asked += [(text, "maximise") for text in maximise]
        if not asked:
            raise DesignError("nothing is to be minimised or maximised: name a column, or a key that is varied")
        if len({text for text, _ in asked}) < len(asked):
            raise DesignError("the same is to be minimised or maximised twice")
        objectives = []
        for text, sense in asked:
            number = space.named(text.strip())
            if number is not None:
                _ = space.variables[number].numeric
            objectives.append(Objective(Column.read(text) if number is None else number, sense, text.strip()))
        constraints = tuple(Constraint.read(text) for text in subject_to)
        demands = cls(tuple(objectives), constraints)
        demands = cls(tuple(objectives), (*constraints, *_of_survivors(demands.columns)))
        if not demands.columns:
            raise DesignError("no column of the results is asked for: then there is nothing to run")
        return demands

    @property
    def columns(self) -> list[Column]:
        """Each column that is asked for, once."""
        objectives = [one.of for one in self.objectives if isinstance(one.of, Column)]
        return list(dict.fromkeys([*objectives, *(one.of for one in self.constraints)]))


_SURVIVORS = ("fct_mean_ms", "fct_p50_ms", "fct_p95_ms", "transfer_throughput_bps")
"""Columns of the transfers that completed alone."""
_MISSING = ("missing_transfers", "refused_transfers", "unfinished_transfers")
"""Those of the others."""
_FEW = "5 %"


def _of_survivors(columns: Sequence[Column]) -> Iterator[Constraint]:
    """What is demanded besides of each flow whose completion times are asked for: that few transfers lack one.

    A path that turns away or never ends what takes long would be the best by those that are left.  Whoever demands
    something else of these columns is not asked to.
    """
    heard = {column.name for column in columns if column.measure in _MISSING}
    for name in dict.fromkeys(column.name for column in columns if column.measure in _SURVIVORS):
        if name not in heard:
            yield Constraint.read(f"{'' if name is None else f'{name}.'}{_MISSING[0]} <= {_FEW}")


def check_names(base: _core.Scenario, columns: Sequence[Column]) -> None:
    """Raise `DesignError` for a column of a flow or link that the scenario does not have."""
    flows: dict[str, int] = {}
    links: set[str] = set()
    for network in json.loads(base.facts()):
        flows |= {flow["name"]: flow["count"] for flow in network["flows"]}
        links |= {link["name"] for link in network["links"]}
    for column in columns:
        if column.name is None:
            continue
        last = column.name.rpartition("/")[2]
        # Flows of a group are called after it and their number.
        numbered = any(count > 1 and column.name.startswith(name) for name, count in flows.items())
        if not numbered and column.name not in flows and last not in links:
            raise DesignError(unknown("flow or link", column.name, [*flows, *sorted(links)]))


def values(
    tables: Tables, columns: Sequence[Column], meant: dict[Column, tuple[str, str]]
) -> Iterator[tuple[int, int, tuple[float, ...]]]:
    """Point, replication and the values of the columns, for each run of the tables; NaN where a run has none.

    After these come as many numbers: how many chances the run is of each column that is a share.

    `meant` keeps which table and item a column is of, so that it is the same one in all tables of a search.
    Raises `DesignError` where nothing in the results has the name of a column, or several might be meant.
    """
    links = tables["links"]
    there = zip(links["point"].to_pylist(), links["replication"].to_pylist(), strict=True)
    found = {one: [math.nan] * len(columns) + [1.0] * len(columns) for one in there}
    for place, column in enumerate(columns):
        kind = meant.get(column) or _kind(tables, column)
        if kind is None:
            continue
        meant[column] = kind
        rows = tables[kind[0]]
        points, runs = rows["point"].to_pylist(), rows["replication"].to_pylist()
        numbers = rows[column.measure].cast("double").to_pylist()
        chances = chances_of(column.measure)
        counted = rows[chances].to_pylist() if isinstance(chances, str) else [chances] * len(numbers)
        for point, run, item, number, many in zip(points, runs, items_of(rows), numbers, counted, strict=True):
            if item == kind[1] and number is not None:
                found[point, run][place] = number
                found[point, run][len(columns) + place] = float(many)
    for (point, run), each in found.items():
        yield point, run, tuple(each)


def _kind(tables: Tables, column: Column) -> tuple[str, str] | None:
    """The table and the item that a column is of; none where these tables have no value of it anywhere."""
    there: dict[str, list[str]] = {}
    for kind in KINDS:
        rows = tables[kind]
        if rows.num_rows and column.measure in rows.column_names:
            there[kind] = list(dict.fromkeys(items_of(rows)))
    every = [item for items in there.values() for item in items]
    if column.name is not None:
        for kind, items in there.items():
            if column.name in items:
                return kind, column.name
        names = ", ".join(f"`{item}.{column.measure}`" for item in dict.fromkeys(every))
        raise DesignError(f"nothing in the results is called `{column.name}`; there are {names}")
    known = {
        kind: [item for item in items if _is_known(tables, kind, item, column.measure)] for kind, items in there.items()
    }
    # A link without a limit has queues of no length, which nobody asks after where another one has a limit.
    limited = [item for item in known.get("links", ()) if _is_known(tables, "links", item, "utilisation")]
    if limited:
        known["links"] = limited
    for kind, items in known.items():
        # A flow may have no value in some runs and is meant all the same; a link without a limit has none in any.
        one = there[kind] if kind == "flows" else items
        if len(one) == 1:
            return kind, one[0]
    if not any(known.values()):
        return None
    names = ", ".join(f"`{item}.{column.measure}`" for item in dict.fromkeys(every))
    raise DesignError(f"`{column.measure}` may mean several: say {names}")


def _is_known(tables: Tables, kind: str, item: str, measure: str) -> bool:
    """Whether an item has this measure in any run: a link without a limit has no utilisation."""
    rows = tables[kind]
    pairs = zip(items_of(rows), rows[measure].to_pylist(), strict=True)
    return any(name == item and value is not None and value == value for name, value in pairs)


def measures(kinds: Sequence[str] = KINDS) -> Mapping[str, str]:
    """The columns that runs have in tables of these kinds, and their units."""
    described = json.loads(_core.columns())
    return {
        one["name"]: one["unit"]
        for kind in kinds
        for one in described[kind]
        if one["unit"] and one["name"] not in ("replication", "seed", "flows")
    }


def _bound(column: Column, text: str, demand: str) -> float:
    """A bound in the unit of its column."""
    words = text.strip()
    try:
        if column.unit in _READ:
            read, scale = _READ[column.unit]
            bound = read(words) * scale
        elif column.unit == "1" and words.endswith("%"):
            bound = float(words.removesuffix("%")) / 100
        elif column.unit == "1" and range_of(column.measure) == "share":
            bound = float(words)
            if math.isfinite(bound):
                meant = bound if bound > 1 else 100 * bound
                raise DesignError(f"`{demand}`: {column.measure} is a share: did you mean {meant:g} %?")
        else:
            bound = float(words.removesuffix(column.unit) if column.unit != "1" else words)
    except DesignError:
        raise
    except ValueError as error:
        why = str(error) if column.unit in _READ else f"`{words}` is not a number of [{column.unit}]"
        raise DesignError(f"`{demand}`: {why}") from None
    if not math.isfinite(bound):
        raise DesignError(f"`{demand}`: `{words}` is not a finite number")
    return bound
