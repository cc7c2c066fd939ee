"""The points of a study: as rows of a table, and as places on an axis."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from varicap.report.table import with_interval

if TYPE_CHECKING:
    from varicap.results.study import Study

_SHOWN = {"goodput_bps": ("Mb/s", 1e-6), "utilisation": ("%", 100.0), "sojourn_p95_ms": ("ms", 1.0)}

_NAMES = {"goodput_bps": "goodput", "utilisation": "utilisation", "sojourn_p95_ms": "queueing delay p95"}


def table(study: "Study", most: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: goodput of each flow, utilisation and delay of each link, a row for each first point."""
    import pyarrow.compute as pc

    summary = study.summary
    wanted = pc.and_(pc.is_in(summary["measure"], pa.array(list(_SHOWN))), pc.not_equal(summary["kind"], "groups"))
    if most is not None:
        wanted = pc.and_(wanted, pc.less(summary["point"], most))
    rows = _of_limited([row for row in summary.filter(wanted).to_pylist() if row["mean"] == row["mean"]])
    columns = dict.fromkeys((row["name"], row["measure"]) for row in rows)
    cells = {}
    for row in rows:
        low, high = (None if row[end] != row[end] else row[end] for end in ("lo", "hi"))
        cell = with_interval(row["mean"], low, high, _SHOWN[row["measure"]][1])
        cells[row["point"], row["name"], row["measure"]] = cell
    headings = [path.rsplit(".", 1)[-1] for path, _ in study.points[0]]
    headings += [f"{name}{_delay(measure)} [{_SHOWN[measure][0]}]" for name, measure in columns]
    return headings, [
        [*(value for _, value in point), *(cells.get((number, *column), "–") for column in columns)]
        for number, point in enumerate(study.points[:most])
    ]


def _of_limited(rows: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
    """The rows without those of links without a limit, where nothing waits."""
    limited = {row["name"] for row in rows if row["measure"] == "utilisation" and row["mean"] == row["mean"]}
    return [row for row in rows if row["kind"] != "links" or row["name"] in limited]


def _delay(measure: str) -> str:
    """What a column says of its link, where the unit does not."""
    return f" {_NAMES[measure]}" if measure == "sojourn_p95_ms" else ""


def tall(study: "Study", most: int | None = None) -> tuple[list[str], list[list[str]]]:
    """The same as `table` for many flows: a row for each point and flow, and for each link that several flows share.

    A flow with links of its own has the utilisation of that which it uses most; a value of an axis is written once.
    """
    import pyarrow.compute as pc

    wanted = pc.and_(pc.is_in(study.summary["measure"], pa.array(list(_SHOWN))), pc.is_valid(study.summary["mean"]))
    cells: dict[int, dict[str, dict[str, tuple[float, str]]]] = {}
    for row in _of_limited(study.summary.filter(wanted).to_pylist()):
        if row["kind"] == "groups" or row["mean"] != row["mean"] or (most is not None and row["point"] >= most):
            continue
        # A flow's own link is called after both; names of flows may have a stroke, too.
        name = row["name"] if row["kind"] == "flows" else row["name"].rpartition("/")[0] or row["name"]
        low, high = (None if row[end] != row[end] else row[end] for end in ("lo", "hi"))
        cell = row["mean"], with_interval(row["mean"], low, high, _SHOWN[row["measure"]][1])
        of_name = cells.setdefault(row["point"], {}).setdefault(name, {})
        of_name[row["measure"]] = max(of_name.get(row["measure"], cell), cell)
    rows = []
    for number, point in enumerate(study.points[:most]):
        values = [value for _, value in point]
        for name, found in cells.get(number, {}).items():
            rows.append([*values, name, *(found.get(measure, (0.0, "–"))[1] for measure in _SHOWN)])
            values = [""] * len(values)
    headings = [path.rsplit(".", 1)[-1] for path, _ in study.points[0]]
    return [*headings, "flow or link", *(f"{name} [{_SHOWN[key][0]}]" for key, name in _NAMES.items())], rows


@dataclass(frozen=True)
class Numbers:
    """Values of an axis that are numbers of one unit."""

    of: Mapping[str, float]
    unit: str

    @classmethod
    def among(cls, values: Iterable[str]) -> Self | None:
        """These values, if every one of them is a finite number, and all have the same unit or none has one.

        >>> Numbers.among(["1e-3 s", "2e-3 s"])
        Numbers(of={'1e-3 s': 0.001, '2e-3 s': 0.002}, unit='s')
        >>> Numbers.among(["sack", "reno"]), Numbers.among(["1 s", "2 ms"]), Numbers.among(["nan"])
        (None, None, None)
        """
        split = {value: value.partition(" ") for value in values}
        units = {unit for _, _, unit in split.values()}
        try:
            numbers = {value: float(number) for value, (number, _, _) in split.items()}
        except ValueError:
            return None
        return cls(numbers, units.pop()) if len(units) == 1 and all(map(isfinite, numbers.values())) else None


def colours(study: "Study", names: Sequence[str]) -> Mapping[str, int]:
    """The number of the colour of each flow or link: a link that one flow has to itself has that flow's."""
    flows = {name: number for number, name in enumerate(dict.fromkeys(_flows(study)))}
    if all(name in flows for name in names):
        return {name: flows[name] for name in names}
    return {name: flows.get(name.rpartition("/")[0], number) for number, name in enumerate(names)}


def _flows(study: "Study") -> list[str]:
    rows = study.flows
    return [str(name) for name in rows["name"].unique().to_pylist()] if "name" in rows.column_names else []


def places(values: Iterable[str]) -> Mapping[str, float]:
    """Where each value stands: at its number if all have the same unit, else in their order.

    >>> places(["5 ms", "20 ms"]), places(["sack", "reno"])
    ({'5 ms': 5.0, '20 ms': 20.0}, {'sack': 0.0, 'reno': 1.0})
    """
    there = list(dict.fromkeys(values))
    numbers = Numbers.among(there)
    return numbers.of if numbers else {value: float(place) for place, value in enumerate(there)}


def linked(study: "Study", path: str) -> list[str]:
    """The axes that go together with one, itself first: of each value of one all have one value, in the same order."""
    return [path, *(other for other, _ in study.points[0] if other != path and _goes_with(study, path, other))]


def free(study: "Study") -> list[str]:
    """The axes of a study; of those that go together the first."""
    found: list[str] = []
    for path, _ in study.points[0]:
        if not any(path in linked(study, before) for before in found):
            found.append(path)
    return found


def _goes_with(study: "Study", path: str, other: str) -> bool:
    pairs = list(dict.fromkeys((dict(point)[path], dict(point)[other]) for point in study.points))
    ones, others = (list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1))
    if not len(ones) == len(others) == len(pairs) > 1:
        return False
    at, beside = places(ones), places(others)
    order = [beside[pair[1]] for pair in sorted(pairs, key=lambda pair: at[pair[0]])]
    # Numbers that go up and down beside each other are those of a random design.
    named = Numbers.among(ones) is None or Numbers.among(others) is None
    return named or order in (sorted(order), sorted(order, reverse=True))


def is_scattered(study: "Study", path: str) -> bool:
    """Whether nearly every point has a value of its own, as in latin and sobol designs."""
    values = {dict(point)[path] for point in study.points}
    return len(values) > max(4, 0.8 * len(study.points))


def worded(value: str) -> str:
    """A value in words: a choice with its keys without the notation of the file.

    >>> worded('{ drop-tail = { limit = "256 packets" } }'), worded('"cubic"'), worded("5 ms")
    ('drop-tail (limit 256 packets)', 'cubic', '5 ms')
    """
    try:
        read = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
    return ", ".join(_words(read)) if isinstance(read, dict) else str(read) if isinstance(read, str) else value


def _words(value: "dict[str, Any]") -> "Iterable[str]":
    for key, inner in value.items():
        name = key.replace("_", " ")
        if isinstance(inner, dict):
            of = ", ".join(_words(inner))
            yield f"{name} ({of})" if of else name
        else:
            yield f"{name} {inner}"


def short(path: str, paths: Sequence[str] = ()) -> str:
    """The end of a path in words, with as much before it as distinguishes it from the other `paths`.

    >>> short("topology.dumbbell.forward.queue.drop-tail.limit")
    'drop-tail limit'
    >>> short("flows.a.tcp.recovery", ["flows.a.tcp.recovery", "flows.b.tcp.recovery"])
    'a tcp recovery'
    """
    parts = path.split(".")
    length = min(2, len(parts))
    others = [other.split(".") for other in paths if other != path]
    while length < len(parts) and any(other[-length:] == parts[-length:] for other in others):
        length += 1
    return " ".join(part.replace("_", " ") for part in parts[-length:])


def label_of(path: str, values: Sequence[str], paths: Sequence[str] = ()) -> str:
    """A path in words, and the unit of its values if they have one.

    >>> label_of("topology.dumbbell.forward.capacity", ["1 Mbit/s", "2 Mbit/s"])
    'forward capacity [Mbit/s]'
    >>> label_of("topology.dumbbell.forward.delay", ["1e-3 s", "2e-3 s"])
    'forward delay [s]'
    """
    numbers = Numbers.among(values)
    return short(path, paths) + (f" [{numbers.unit}]" if numbers and numbers.unit else "")
