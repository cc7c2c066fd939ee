"""What a paper concludes, read from its ``conclusions.toml``, and whether that stands: computed from its claims.

::

    [[conclusions]]
    id = "slow"
    where = "Abstract, §VIII"
    says = "…"                      # the conclusion in our own words
    quote = "…"                     # at most a line of the paper
    claims = ["ABR-slow"]           # what it rests on
    number = "ABR-C1"               # the claim whose number is shown; the first it rests on, if not said
    [[conclusions.why]]             # the first one whose verdicts are those of the run is shown
    when = { ABR-slow = "reproduced" }
    says = "… {ABR-C1} …"           # the number of a claim, with its interval and unit

In `when` and in braces ``ABR-C1@a buffer of 5 packets`` is the claim under that reading.

A claim *stands* if it is reproduced as read and differs under no other reading; it *falls* if it differs as read and is
reproduced under no other; it *depends* if both occur; else it is *open*.  A conclusion stands if all its claims stand,
falls if all fall, depends if one depends or some stand and others fall, and is open otherwise.  Nobody writes a verdict
down: a sentence names the verdicts without which it is not said.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeAlias, get_args

from varicap.papers.claims import ClaimsError, Verdict
from varicap.papers.verdict import Judged, Under
from varicap.report.table import with_interval
from varicap.statistics import Interval

Stands: TypeAlias = Literal["stands", "falls", "depends", "open"]

MOST_QUOTED = 140
"""Characters of a quotation: a line."""
_SKEWED = 1.5
"""How many times as far one end of an interval is as the other, for both to be told."""
_KEYS = frozenset(("id", "where", "says", "quote", "claims", "number", "why"))
_NAMED = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Why:
    """A sentence that is true under these verdicts."""

    when: Mapping[str, Verdict]
    says: str

    @property
    def numbers(self) -> list[str]:
        """The claims whose numbers it has."""
        return _NAMED.findall(self.says)


@dataclass(frozen=True)
class Conclusion:
    """What a paper concludes, and the claims that it rests on."""

    id: str
    where: str
    says: str
    quote: str
    claims: tuple[str, ...]
    number: str
    why: tuple[Why, ...]

    @property
    def named(self) -> set[str]:
        """All claims that it names."""
        of_why = (name for why in self.why for name in (*why.when, *why.numbers))
        return {*self.claims, self.number, *(name.partition("@")[0] for name in of_why)}


@dataclass(frozen=True)
class Concluded:
    """A conclusion with what the runs say of it."""

    conclusion: Conclusion
    stands: Stands
    why: str
    rests_on: tuple[Judged, ...]
    number: Judged

    @property
    def under(self) -> tuple[str, ...]:
        """Readings under which one of its claims is reproduced."""
        return self._readings("reproduced")

    @property
    def not_under(self) -> tuple[str, ...]:
        """Readings under which one of its claims differs."""
        return self._readings("differs")

    @property
    def today(self) -> tuple[tuple[str, Under], ...]:
        """The same questions asked of a TCP of today, with the claim that asks."""
        return tuple((one.claim.id, under) for one in self._asked for under in one.today)

    @property
    def _asked(self) -> tuple[Judged, ...]:
        return self.rests_on if self.number in self.rests_on else (*self.rests_on, self.number)

    def _readings(self, verdict: Verdict) -> tuple[str, ...]:
        found = (
            under.name if len(self.rests_on) == 1 else f"{under.name} ({one.claim.id})"
            for one in self.rests_on
            for under in one.readings
            if under.verdict == verdict
        )
        return tuple(dict.fromkeys(found))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        of = self.conclusion
        return {
            "id": of.id,
            "where": of.where,
            "says": of.says,
            "quote": of.quote,
            "verdict": self.stands,
            "why": self.why,
            "number": {"claim": of.number, "unit": self.number.claim.unit, "value": self.number.ours.to_dict()},
            "claims": {one.claim.id: one.verdict for one in self.rests_on},
            "holds_under": list(self.under),
            "not_under": list(self.not_under),
            "today": [{"claim": claim} | under.to_dict() for claim, under in self.today],
        }


def of_paper(key: str) -> tuple[Conclusion, ...]:
    """What a paper concludes in its abstract and its closing section; nothing if that is not on record."""
    source = resources.files("varicap.papers") / key / "conclusions.toml"
    return read(key, source.read_text(encoding="utf-8")) if source.is_file() else ()


def read(key: str, text: str) -> tuple[Conclusion, ...]:
    """Read the conclusions of a paper.  Raises `ClaimsError`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ClaimsError(f"{key}: {error}") from None
    return tuple(_conclusion(key, one) for one in data.get("conclusions", ()))


def _conclusion(key: str, data: Mapping[str, Any]) -> Conclusion:
    name = f"{key}: the conclusion `{data.get('id', '?')}`"
    if unknown := sorted(data.keys() - _KEYS):
        raise ClaimsError(f"{name} has no key `{unknown[0]}`; it knows {', '.join(sorted(_KEYS))}")
    for each in ("id", "where", "says", "quote"):
        if not isinstance(data.get(each), str) or not data[each].strip():
            raise ClaimsError(f"{name} wants `{each}`")
    if len(data["quote"]) > MOST_QUOTED:
        raise ClaimsError(f"{name} quotes {len(data['quote'])} characters; a line is {MOST_QUOTED} at most")
    if not data.get("claims"):
        raise ClaimsError(f"{name} rests on no claim")
    why = tuple(Why(dict(one["when"]), str(one["says"])) for one in data.get("why", ()))
    for one in why:
        if not one.when or not set(one.when.values()) <= set(get_args(Verdict)):
            raise ClaimsError(f"{name}: `when` has a verdict for each claim that `{one.says[:40]}…` relies on")
    return Conclusion(
        id=data["id"],
        where=data["where"],
        says=data["says"],
        quote=data["quote"],
        claims=tuple(data["claims"]),
        number=str(data.get("number", data["claims"][0])),
        why=why,
    )


def conclude(conclusions: Iterable[Conclusion], judged: Iterable[Judged]) -> tuple[Concluded, ...]:
    """What the runs say of each conclusion all of whose claims were judged."""
    by_id = {one.claim.id: one for one in judged}
    return tuple(_concluded(one, by_id) for one in conclusions if one.named <= by_id.keys())


def _concluded(conclusion: Conclusion, by_id: Mapping[str, Judged]) -> Concluded:
    rests_on = tuple(by_id[name] for name in conclusion.claims)
    stands = together(map(of_claim, rests_on))
    known = [by_id[name] for name in conclusion.named]
    verdicts = {one.claim.id: one.verdict for one in known} | {
        f"{one.claim.id}@{under.name}": under.verdict for one in known for under in one.readings
    }
    true = next((one for one in conclusion.why if one.when.items() <= verdicts.items()), None)
    why = _generic(rests_on) if true is None else _NAMED.sub(lambda name: _of_name(name[1], by_id), true.says)
    return Concluded(conclusion, stands, why, rests_on, by_id[conclusion.number])


def of_claim(judged: Judged) -> Stands:
    """Whether a claim stands over all readings for which it was measured."""
    found = {judged.verdict, *(one.verdict for one in judged.readings)}
    if {"reproduced", "differs"} <= found:
        return "depends"
    return "open" if judged.verdict == "unsettled" else "stands" if judged.verdict == "reproduced" else "falls"


def together(of: Iterable[Stands]) -> Stands:
    """Whether a conclusion stands whose claims do so.

    >>> together(["stands", "open", "falls"]), together(["stands", "open"]), together(["falls", "falls"])
    ('depends', 'open', 'falls')
    """
    found = set(of)
    if "depends" in found or {"stands", "falls"} <= found:
        return "depends"
    return "open" if "open" in found else "stands" if "stands" in found else "falls"


def _generic(rests_on: tuple[Judged, ...]) -> str:
    """What the claims say where no sentence is on record for their verdicts."""
    parts = []
    for verdict in get_args(Verdict):
        of = [f"{one.claim.id} ({number(one)})" for one in rests_on if one.verdict == verdict]
        if of:
            parts.append(f"{verdict}: {', '.join(of)}")
    return "; ".join(parts) + "."


def _of_name(name: str, by_id: Mapping[str, Judged]) -> str:
    """The number of a claim, or of `CLAIM@READING`."""
    claim, _, reading = name.partition("@")
    under = {one.name: one.value for one in by_id[claim].readings}
    return number(by_id[claim], under[reading] if reading else None)


def number(judged: Judged, value: Interval | None = None) -> str:
    """The number of a claim with its interval and unit, in text; or another value in its unit."""
    unit = "" if judged.claim.unit in ("", "1") else f" {judged.claim.unit}"
    return said(judged.ours if value is None else value) + unit


def said(value: Interval) -> str:
    """A number with its interval, in text; with both ends where they are not about equally far.

    >>> said(Interval(2.0, 1.5, 2.5)), said(Interval(0.21, 0.026, 0.781))
    ('2.0 ± 0.5', '0.21 (0.03 to 0.78)')
    """
    if value.lo is None or value.hi is None or value.reach <= _SKEWED * value.near_reach:
        return with_interval(value.mean, value.lo, value.hi)
    places = min(max(0, 1 - math.floor(math.log10(value.reach))), 6) if value.reach > 0.0 else 3
    return f"{value.mean:.{places}f} ({value.lo:.{places}f} to {value.hi:.{places}f})"


def counts(found: Iterable[Concluded]) -> dict[str, int]:
    """How many conclusions stand, fall, depend, and are open."""
    of = [one.stands for one in found]
    return {stands: of.count(stands) for stands in get_args(Stands)}


def counted(of: Mapping[str, int]) -> str:
    """These counts in words.

    >>> counted({"stands": 3, "falls": 1, "depends": 2, "open": 0})
    '6 conclusions: 3 stand, 1 falls, 2 depend, 0 are open'
    """
    several = {"stands": ("stands", "stand"), "falls": ("falls", "fall"), "depends": ("depends", "depend")}
    parts = [f"{of[one]} {words[of[one] != 1]}" for one, words in several.items()]
    return f"{sum(of.values())} conclusions: {', '.join(parts)}, {of['open']} {'is' if of['open'] == 1 else 'are'} open"
