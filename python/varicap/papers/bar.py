"""A claim as a bar: what the paper's words allow, the paper's number, and our interval."""

import math
from collections.abc import Mapping

from varicap.papers.verdict import Judged
from varicap.report.table import with_interval
from varicap.report.web.markup import Markup, joined, tag

_WIDTH, _HEIGHT = 220, 26
_MARGIN = 0.12
"""Room beside what is drawn, as a share of it."""


def bar(judged: Judged) -> Markup:
    """The bounds as a band, the paper's number as a ring, ours as a dot with its interval."""
    claim, ours = judged.claim, judged.ours
    low, high = claim.accept
    numbers = [low, high, ours.mean, ours.lo, ours.hi, claim.paper]
    known = [float(each) for each in numbers if isinstance(each, int | float) and math.isfinite(each)]
    if not math.isfinite(ours.mean):
        return Markup()
    left, right = _range(known)

    def at(value: float) -> float:
        return round(min(max((value - left) / (right - left), 0.0), 1.0) * _WIDTH, 1)

    band = tag("rect", x=at(low), y=4, width=round(at(high) - at(low), 1), height=18, class_="accepted")
    drawn = [band]
    if ours.lo is not None and ours.hi is not None:
        drawn.append(tag("line", x1=at(ours.lo), x2=at(ours.hi), y1=13, y2=13, class_="ours"))
    drawn.append(tag("circle", cx=at(ours.mean), cy=13, r=3.5, class_="ours"))
    if isinstance(claim.paper, int | float):
        drawn.append(tag("circle", cx=at(claim.paper), cy=13, r=5.5, class_="paper", fill_opacity=0))
    text = f"ours {with_interval(ours.mean, ours.lo, ours.hi)}, accepted {claim.tolerance}: {judged.verdict}"
    return tag(
        "svg",
        tag("title", text),
        joined(*drawn),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        class_=f"bound {judged.verdict}",
        role="img",
    )


def _range(known: list[float]) -> tuple[float, float]:
    """What the bar spans: all that is known, and some room."""
    low, high = min(known), max(known)
    room = _MARGIN * (high - low) or max(abs(low), 1.0) * _MARGIN
    return low - room, high + room


def counts(verdicts: Mapping[str, int]) -> Markup:
    """How many claims have each verdict, as parts of a whole."""
    total = sum(verdicts.values())
    if total == 0:
        return Markup()
    parts, at = [], 0.0
    for verdict, count in verdicts.items():
        width = 240 * count / total
        parts.append(
            tag("rect", x=round(at, 1), y=0, width=round(width, 1), height=12, fill="currentColor", class_=verdict)
        )
        at += width
    text = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    return tag("svg", tag("title", text), *parts, viewBox="0 0 240 12", class_="counts", role="img")
