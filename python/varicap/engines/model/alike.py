"""Scenarios that differ in numbers alone, as those of a sweep mostly do: what is found at one of them holds for all.

Which keys are in force, and what each would be without, follows from the words of a scenario: which keys are given, and
which choices are made.  To list them, with their places and meanings, takes longer than most closed forms.  So they are
listed once for all points whose settings are the same but for their numbers; values are looked up at each point.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import varicap._core as _core
from varicap.engines.model.keys import NOT_READ, Key, defaults, in_force, words

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def pattern(point: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What the settings of a point are but for their numbers; points of one pattern may share an `Alike`.

    >>> pattern([("delay", "50 ms"), ("timer", "rfc6298"), ("rates", "['1.5 Mb/s', '2e6 b/s']")])
    ('# ms', 'rfc6298', "['# Mb/s', '# b/s']")
    """
    return tuple(_NUMBER.sub("#", text) for _, text in point)


class _Number(str):
    """A number as a scenario has it, digit by digit."""

    __slots__ = ()


_read = json.JSONDecoder(parse_float=_Number, parse_int=_Number).decode


class Alike:
    """What scenarios have in common whose settings are the same but for their numbers."""

    def __init__(self) -> None:
        self._of: _core.Scenario | None = None
        self._document: Any = None
        self._rows: Any = None
        self._keys: dict[tuple[object, ...], _Keys] = {}
        self._defaults: dict[tuple[str, ...], Mapping[str, str | None]] = {}

    def document(self, scenario: _core.Scenario) -> Any:
        """A scenario as its file would hold it, numbers as texts."""
        if self._of is not scenario:
            self._of, self._document, self._rows = scenario, _read(scenario.to_json()), None
        return self._document

    def keys(self, scenario: _core.Scenario, links: Mapping[str, str], flow: str) -> tuple[Key, ...]:
        """The keys in force for a flow, as `keys.in_force` has them."""
        document = self.document(scenario)
        route = (flow, *links.items())  # the links that it names may differ in numbers, too
        try:
            return self._keys[route].of(document)
        except _NOT_THERE:  # of the first scenario on this route, or not alike after all
            pass
        if self._rows is None:
            self._rows = json.loads(scenario.explain())
        found = tuple(in_force(self._rows, links, flow))
        places = [_place(key, document) for key in found]
        if _ELSEWHERE not in places:
            self._keys[route] = _Keys(found, places, document)
        return found

    def defaults(self, scenario: _core.Scenario, paths: Sequence[str]) -> Mapping[str, str | None]:
        """What the standards' stack has where these keys are not given, as `keys.defaults` has it.

        What cannot be read without a key might be read with other numbers, and is not kept.
        """
        known = self._defaults.get(tuple(paths))
        if known is None:
            known = defaults(scenario, paths)
            if NOT_READ not in known.values():
                self._defaults[tuple(paths)] = known
        return known


class _Keys:
    """The keys in force on a route, with the values of the scenario that was seen last."""

    def __init__(self, keys: Sequence[Key], places: Sequence[tuple[str, ...] | None], document: Any) -> None:
        self._keys = list(keys)
        self._tables = list(dict.fromkeys(place[:-1] for place in places if place is not None))
        self._values: list[tuple[int, int, Any, Any]] = []
        """Of each key whose value may change: its number, and of its value the table, the place in it, and itself."""
        for number, place in enumerate(places):
            if place is not None:
                table = _at(document, place[:-1])
                word = int(place[-1]) if isinstance(table, list) else place[-1]
                self._values.append((number, self._tables.index(place[:-1]), word, table[word]))

    def of(self, document: Any) -> tuple[Key, ...]:
        """The keys with the values of this scenario."""
        tables = [_at(document, place) for place in self._tables]
        changed = [
            (place, number, table, word)
            for place, (number, table, word, value) in enumerate(self._values)
            if tables[table][word] != value
        ]
        for place, number, table, word in changed:
            key, value = self._keys[number], tables[table][word]
            self._values[place] = (number, table, word, value)
            self._keys[number] = Key(key.name, key.path, _text(value))
        return tuple(self._keys)


_NOT_THERE = (KeyError, IndexError, TypeError)
_ELSEWHERE: tuple[str, ...] = ()
"""Stands for the place of a value that is not in the scenario as it is shown."""


def _place(key: Key, document: Any) -> tuple[str, ...] | None:
    """Where a value stands; none if the same is shown whatever the numbers are."""
    place = words(key.path)
    try:
        value = _at(document, place)
    except _NOT_THERE:  # what happens without
        return None
    if isinstance(value, dict) and key.value in value:  # a choice, whose options are keys of their own
        return None
    return place if _text(value) == key.value else _ELSEWHERE


def _at(document: Any, place: Sequence[str]) -> Any:
    for word in place:
        document = document[int(word)] if isinstance(document, list) else document[word]
    return document


def _text(value: Any, *, inside: bool = False) -> str:
    """A value as ``varicap run --explain`` shows it; texts within others are in quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if inside and not isinstance(value, _Number) else str(value)
    if isinstance(value, list):
        return f"[{','.join(_text(one, inside=True) for one in value)}]"
    if not isinstance(value, dict):
        return json.dumps(value)
    if len(value) == 1 and not inside:
        ((name, options),) = value.items()
        return f"{name} {_text(options)}"
    return f"{{{','.join(f'{json.dumps(name)}:{_text(one, inside=True)}' for name, one in value.items())}}}"
