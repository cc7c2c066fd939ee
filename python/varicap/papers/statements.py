"""Sentences of a paper, each with the claims that test it: a sentence has one verdict over all its points.

A claim is a point: a flow, a topology, a psi at which a sentence is tested.  Claims that quote the same sentence are
one statement, and so are the cells of a row of a table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from varicap.papers.claims import Claim, Verdict
from varicap.papers.verdict import Judged

Points: TypeAlias = Literal["all", "some", "none", "open"]
"""At which of its points a statement holds: `some` if it holds at one and not at another, `open` if that is not settled
and the settled ones do not part."""


@dataclass(frozen=True)
class Statement:
    """What a paper says in one place, and the claims that test it."""

    where: str
    quote: str
    claims: tuple[Judged, ...]

    @property
    def holds(self) -> Points:
        """At which of its points it holds."""
        return over(one.verdict for one in self.claims)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        ids = [one.claim.id for one in self.claims]
        return {"where": self.where, "quote": self.quote, "holds": self.holds, "claims": ids}


def over(verdicts: Iterable[Verdict]) -> Points:
    """What the verdicts of several points say together.

    >>> over(["reproduced", "reproduced"]), over(["reproduced", "differs", "unsettled"]), over(["differs", "unsettled"])
    ('all', 'some', 'open')
    """
    found = set(verdicts)
    if {"reproduced", "differs"} <= found:
        return "some"
    return "open" if "unsettled" in found else "all" if "reproduced" in found else "none"


def statements(judged: Iterable[Judged]) -> tuple[Statement, ...]:
    """The statements of a paper, in the order of their first claims; without those that count apart."""
    found: dict[tuple[str, ...], list[Judged]] = {}
    for one in judged:
        if not one.claim.apart:
            found.setdefault(_place(one.claim), []).append(one)
    return tuple(Statement(of[0].claim.where, of[0].claim.quote, tuple(of)) for of in found.values())


def counts(found: Iterable[Statement]) -> dict[str, int]:
    """How many statements hold at all of their points, at some, at none, and are open."""
    of = [one.holds for one in found]
    return {points: of.count(points) for points in get_args(Points)}


def counted(of: Mapping[str, int]) -> str:
    """These counts in words.

    >>> counted({"all": 25, "some": 3, "none": 2, "open": 9})
    '39 statements: 25 hold at all points, 3 at some, 2 at none, 9 are open'
    """
    return (
        f"{sum(of.values())} statements: {of['all']} hold at all points, {of['some']} at some, {of['none']} at none, "
        f"{of['open']} are open"
    )


def _place(claim: Claim) -> tuple[str, ...]:
    return (claim.where, claim.cell[0], claim.quote) if claim.cell else (claim.quote,)
