"""One meaning for a word: the bounds that the words of papers stand for, read from ``words.toml``."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from varicap.papers.claims import Claim


@dataclass(frozen=True)
class Word:
    """Words with one meaning."""

    name: str
    words: tuple[str, ...]
    margin: float
    """How far from nothing, or from one, a bound is, as a share."""
    says: str

    def bounds(self) -> frozenset[float]:
        """Every number that may bound a claim with such a word: of a share, a ratio or a percentage."""
        of = self.margin
        return frozenset(round(end, 9) for end in (of, -of, 1 + of, 1 - of, 100 * of, -100 * of))

    def is_in(self, quote: str) -> bool:
        """Whether a quotation has one of the words."""
        return any(re.search(rf"\b{re.escape(word)}\b", quote) for word in self.words)


@cache
def table() -> Mapping[str, Word]:
    """All words, by the name of their meaning."""
    file = resources.files("varicap.papers") / "words.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return {name: Word(name, tuple(one["words"]), float(one["margin"]), str(one["says"])) for name, one in data.items()}


def unlike(claim: Claim) -> Iterator[str]:
    """Bounds of a claim that are of none of the words it quotes; nothing if it quotes none, or a number goes before."""
    found = [word for word in table().values() if word.is_in(claim.quote)]
    if not found or isinstance(claim.paper, int | float) or re.search(r"\d", str(claim.paper)) or claim.unlike:
        return
    known = frozenset().union(*(word.bounds() for word in found))
    for end in claim.accept:
        if math.isfinite(end) and round(end, 9) not in known and end not in _ENDS:
            yield f"{end:g}, which is none of {', '.join(word.name for word in found)}"


_ENDS = frozenset((0.0, 1.0, -1.0, 100.0, -100.0, 1.000001))
"""Where what is measured ends by itself, and orderings."""
