"""What a path does to a control, in parts that can be put into a scenario, said in words, and made simpler."""

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

Scenario: TypeAlias = dict[str, Any]

_OPEN_MS = 1.0
"""How long a link that aggregates lets out what waited [ms]."""
_OPEN_RATE = "1 Gbit/s"


@dataclass(frozen=True)
class Piece:
    """A value and how long it lasts [s]; the last one of a course that does not repeat lasts to the end."""

    value: float
    hold_s: float


@dataclass(frozen=True)
class Course:
    """A capacity [b/s] or a delay [s] of a link in the course of time."""

    link: str
    kind: Literal["capacity", "delay"]
    pieces: tuple[Piece, ...]
    repeats: bool = False

    @property
    def weight(self) -> int:
        """How much there is to say."""
        # What lasts to the end, or at all times, needs no duration.
        spans = len(self.pieces) if self.repeats else len(self.pieces) - 1
        digits = sum(_digits(piece.value) for piece in self.pieces)
        return 10 * len(self.pieces) + 5 * self.repeats + digits + sum(_digits(p.hold_s) for p in self.pieces[:spans])

    def put(self, scenario: Scenario) -> None:
        """Write it into a scenario."""
        link = link_of(scenario, self.link)
        values = [self._text(piece.value) for piece in self.pieces]
        if len(values) == 1:
            link[self.kind] = values[0]
            return
        at, began = [], 0.0
        for piece in self.pieces:
            at.append(_span(began))
            began += piece.hold_s
        steps: dict[str, Any] = {"at": at, "rates" if self.kind == "capacity" else "delays": values}
        if self.repeats:
            steps["period"] = _span(began)
        link[self.kind] = {"steps": steps}

    def simpler(self) -> Iterator["Course"]:
        """The same with less to say, the greatest steps first."""
        if len(self.pieces) > 1:
            for piece in self.pieces:
                yield replace(self, pieces=(piece,), repeats=False)
            if self.repeats:
                yield replace(self, repeats=False)
            for number in range(len(self.pieces)):
                yield replace(self, pieces=self._without(number), repeats=self.repeats and len(self.pieces) > 2)
        for digits in (1, 2):
            yield replace(self, pieces=tuple(Piece(_rounded(p.value, digits), p.hold_s) for p in self.pieces))
            yield replace(self, pieces=tuple(Piece(p.value, _rounded(p.hold_s, digits)) for p in self.pieces))
            for number, piece in enumerate(self.pieces):
                yield self._with(number, Piece(_rounded(piece.value, digits), piece.hold_s))
                yield self._with(number, Piece(piece.value, _rounded(piece.hold_s, digits)))

    def _with(self, number: int, piece: Piece) -> "Course":
        return replace(self, pieces=(*self.pieces[:number], piece, *self.pieces[number + 1 :]))

    def _without(self, number: int) -> tuple[Piece, ...]:
        """Its pieces without one, whose time the one before has, or else the one after."""
        left = list(self.pieces)
        gone = left.pop(number)
        heir = max(0, number - 1)
        left[heir] = Piece(left[heir].value, left[heir].hold_s + gone.hold_s)
        return tuple(left)

    def _text(self, value: float) -> str:
        return _rate(value) if self.kind == "capacity" else _span(value)

    @property
    def words(self) -> str:
        """What it is, for people."""
        what = f"{self.kind} of {self.link}"
        values = [self._text(piece.value) for piece in self.pieces]
        if len(values) == 1:
            return f"{what} {values[0]}"
        lasting = [f"{value} for {_span(p.hold_s)}" for value, p in zip(values, self.pieces, strict=True)]
        if self.repeats:
            return f"{what} {', then '.join(lasting)}, again and again"
        return f"{what} {', then '.join([*lasting[:-1], values[-1]])}"


@dataclass(frozen=True)
class Aggregation:
    """Packets of a link of unlimited capacity come out together, after at most so long [s]."""

    link: str
    longest_s: float

    @property
    def weight(self) -> int:
        """How much there is to say."""
        return 10 + _digits(self.longest_s)

    def put(self, scenario: Scenario) -> None:
        """Write it into a scenario."""
        link = link_of(scenario, self.link)
        wait = _span(self.longest_s)
        steps = {
            "at": ["0 s", wait],
            "rates": ["0 bit/s", _OPEN_RATE],
            "period": _span(self.longest_s + _OPEN_MS / 1e3),
        }
        link |= {"capacity": {"steps": steps}, "queue": {"drop-tail": {"limit": "unlimited"}}}

    def simpler(self) -> Iterator["Aggregation"]:
        """The same with less to say."""
        yield from (replace(self, longest_s=_rounded(self.longest_s, digits)) for digits in (1, 2))

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"packets of {self.link} held for up to {_span(self.longest_s)} and let out together"


@dataclass(frozen=True)
class Loss:
    """Each packet of a link is lost with a probability [1]."""

    link: str
    probability: float

    @property
    def weight(self) -> int:
        """How much there is to say."""
        return 10 + _digits(self.probability)

    def put(self, scenario: Scenario) -> None:
        """Write it into a scenario."""
        link_of(scenario, self.link)["loss"] = f"{100 * self.probability:.6g} %"

    def simpler(self) -> Iterator["Loss"]:
        """The same with less to say."""
        yield from (replace(self, probability=_rounded(self.probability, digits)) for digits in (1, 2))

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"{100 * self.probability:.3g} % of the packets of {self.link} lost"


@dataclass(frozen=True)
class Buffer:
    """The drop-tail limit of a link, in a unit such as ``bdp``."""

    link: str
    limit: float
    unit: str

    @property
    def weight(self) -> int:
        """How much there is to say."""
        return 10 + _digits(self.limit)

    def put(self, scenario: Scenario) -> None:
        """Write it into a scenario."""
        link_of(scenario, self.link)["queue"] = {"drop-tail": {"limit": self._text}}

    @property
    def _text(self) -> str:
        whole = self.unit in ("packets", "packet", "B")
        return f"{max(1, round(self.limit)) if whole else f'{self.limit:.6g}'} {self.unit}"

    def simpler(self) -> Iterator["Buffer"]:
        """The same with less to say."""
        yield from (replace(self, limit=_rounded(self.limit, digits)) for digits in (1, 2))

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"a buffer of {self._text} at {self.link}"


@dataclass(frozen=True)
class Rivals:
    """Flows of a control beside those of the scenario, from an instant on [s]."""

    control: str
    count: int
    start_s: float

    @property
    def name(self) -> str:
        """Of the flows in results."""
        return f"rival-{self.control}"

    @property
    def weight(self) -> int:
        """How much there is to say."""
        return 10 + self.count + (_digits(self.start_s) if self.start_s else 0)

    def put(self, scenario: Scenario) -> None:
        """Write it into a scenario, on the path of its first flow."""
        first = next(iter(scenario["flows"].values()))
        way = {key: first[key] for key in ("from", "to", "via", "via_back", "backward") if key in first}
        rival = {**way, "count": self.count, "start": _span(self.start_s), "tcp": {"congestion": self.control}}
        scenario["flows"] = {**scenario["flows"], self.name: rival}

    def simpler(self) -> Iterator["Rivals"]:
        """The same with less to say."""
        yield from (replace(self, count=count) for count in range(1, self.count))
        if self.start_s:
            yield replace(self, start_s=0.0)
            yield from (replace(self, start_s=_rounded(self.start_s, digits)) for digits in (1, 2))

    @property
    def words(self) -> str:
        """What it is, for people."""
        flows = f"{self.count} {self.control} flow{'s' if self.count > 1 else ''} beside it"
        return f"{flows} from {_span(self.start_s)} on" if self.start_s else flows


Condition: TypeAlias = Course | Aggregation | Loss | Buffer | Rivals
Conditions: TypeAlias = tuple[Condition, ...]
"""Everything that a path does; nothing is what the file says."""


def placed(base: Mapping[str, Any], conditions: Conditions) -> Scenario:
    """A scenario under these conditions."""
    scenario: Scenario = copy.deepcopy(dict(base))
    for one in conditions:
        one.put(scenario)
    return scenario


def simpler(conditions: Conditions) -> Iterator[Conditions]:
    """The same conditions with less to say: without one of them, then with a simpler one for one of them."""
    for number in range(len(conditions)):
        yield (*conditions[:number], *conditions[number + 1 :])
    for number, one in enumerate(conditions):
        for other in one.simpler():
            if other.weight < one.weight:
                yield (*conditions[:number], other, *conditions[number + 1 :])


def words(conditions: Conditions) -> str:
    """All of them for people."""
    return "; ".join(one.words for one in conditions) or "the path as the file has it"


def link_of(scenario: Mapping[str, Any], name: str) -> Scenario:
    """The table of a link, by its name in results.  Raises `KeyError` with the names that there are."""
    links = links_of(scenario)
    if name not in links:
        raise KeyError(", ".join(links))
    return links[name]


def links_of(scenario: Mapping[str, Any]) -> dict[str, Scenario]:
    """The tables of all links, by their names in results; a dumbbell's reverse link is made if it is not written."""
    topology = scenario["topology"]
    if "dumbbell" in topology:
        dumbbell = topology["dumbbell"]
        if "reverse" not in dumbbell:
            dumbbell["reverse"] = {}
        found = {side: dumbbell[side] for side in ("forward", "reverse")}
    elif "graph" in topology:
        found = dict(topology["graph"]["links"])
    else:
        found = {}
        for side, tables in topology["chain"].items():
            one = len(tables) == 1
            found |= {side if one else f"{side}.{number + 1}": table for number, table in enumerate(tables)}
    return {table.get("name") or name: table for name, table in found.items()}


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _digits(value: float) -> int:
    """The significant digits that a number is written with.

    >>> _digits(0.0), _digits(20.0), _digits(1.25)
    (0, 1, 3)
    """
    if value == 0 or not math.isfinite(value):
        return 0
    return len(f"{value:.6e}".partition("e")[0].replace(".", "").rstrip("0"))


def _rate(bps: float) -> str:
    """A rate as a file has it.

    >>> _rate(2.5e6), _rate(64e3), _rate(0.0)
    ('2.5 Mbit/s', '64 kbit/s', '0 bit/s')
    """
    if bps >= 1e6:
        return f"{bps / 1e6:.6g} Mbit/s"
    return f"{bps / 1e3:.6g} kbit/s" if bps >= 1e3 else f"{bps:.0f} bit/s"


def _span(seconds: float) -> str:
    """A span as a file has it.

    >>> _span(14.0), _span(0.03), _span(0.0)
    ('14 s', '30 ms', '0 s')
    """
    return f"{seconds:.9g} s" if seconds >= 1 or seconds == 0 else f"{seconds * 1e3:.9g} ms"
