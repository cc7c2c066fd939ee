"""An evaluation as a page: criteria as a matrix, behind each its figure, its numbers, and the scenario to replay."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isfinite
from typing import Any

from varicap.evaluate.changes import Change
from varicap.evaluate.criteria import judged, known
from varicap.evaluate.report import SAID, conclusion, shown
from varicap.evaluate.solve import Evaluation, Judged
from varicap.report.web.document import document, footer
from varicap.report.web.markup import Markup, joined, tag
from varicap.report.web.path import rows
from varicap.report.web.toml import to_toml
from varicap.statistics import Interval

_WIDTH, _ROW = 640, 26
_LEFT = 96
"""Room for names [px]."""
_SECTIONS = {
    "5.1": "One algorithm by itself",
    "5.2": "Beside other algorithms",
    "6": "General use",
    "7": "Special cases",
}
_STYLE = """
.meets { color: #00795a; } .fails { color: var(--loss); } .unsettled { color: #a06a00; } .weigh { color: var(--soft); }
@media (prefers-color-scheme: dark) { .meets { color: #3ecf9f; } .unsettled { color: #f0b73f; } }
.matrix td a { text-decoration: none; font-weight: 600; color: inherit; }
.matrix td.number { white-space: nowrap; text-align: right; }
details.criterion { border-top: 1px solid var(--rule); padding: 8px 0; }
details.criterion > summary { cursor: pointer; }
details.criterion .quote { font-style: italic; color: var(--soft); margin: 6px 0; }
svg.strip { max-width: 640px; height: auto; margin: 6px 0 10px; }
svg.strip .band { fill: var(--shade); } svg.strip line { stroke: currentColor; stroke-width: 2; }
svg.strip text { fill: currentColor; font-size: 12px; } svg.strip .other { color: var(--soft); }
"""
_HOW = (
    "This page is evidence, not a certificate, and adds nothing up to a mark: RFC 9743 gives hardly any thresholds "
    "and leaves weighing to the community. A verdict stands only where the RFC, another RFC or a draft says what is "
    "enough; it follows from the 95 % interval alone. All controls have the same random numbers. The quotations "
    "are those of draft-ietf-ccwg-rfc5033bis-08, from which the RFC was edited."
)


def html(evaluation: Evaluation, moved: Sequence[Change] | None = None) -> str:
    """The page as text; `moved` is what changed since another evaluation."""
    name = evaluation.control.name
    digest = evaluation.control.digest
    facts = f"{evaluation.seeds} runs of each scenario · seed {evaluation.seed}" + (
        f" · {digest[:16]}" if digest is not None else ""
    )
    body = joined(
        tag(
            "header",
            tag("h1", f"{name} by the criteria of RFC 9743"),
            *(tag("p", f"{sentence}.", class_="description") for sentence in conclusion(evaluation)),
            tag("p", facts + (" · quick" if evaluation.is_quick else ""), class_="facts"),
        ),
        tag(
            "main",
            tag("p", _HOW, class_="note"),
            _moved(moved) if moved is not None else Markup(),
            _matrix(evaluation),
            *(_section(evaluation, prefix, title) for prefix, title in _SECTIONS.items()),
            _words(),
            _untested(evaluation),
        ),
        footer(),
    )
    return document(f"{name} by RFC 9743", body, styles=(_STYLE,))


def _matrix(evaluation: Evaluation) -> Markup:
    """A row for each criterion; its verdict leads to what is behind it."""
    names = list(evaluation.judged[0].beside) if evaluation.judged else []
    headings = ("§", "criterion", evaluation.control.name, *names, "enough", "verdict")
    lines = []
    for one in evaluation.judged:
        criterion = one.criterion
        lines.append(
            tag(
                "tr",
                tag("td", criterion.section),
                tag("td", _titled(one)),
                *(tag("td", shown(value), class_="number") for value in (one.value, *one.beside.values())),
                tag("td", "" if criterion.bounds is None else judged(criterion.bounds)),
                tag("td", tag("a", SAID[one.verdict], href=f"#{criterion.id}"), _apart(one), class_=one.verdict),
            )
        )
    table = tag(
        "table",
        tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings))),
        tag("tbody", *lines),
        class_="matrix",
    )
    return tag(
        "section",
        tag("h2", "All measures"),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="All measures"),
    )


def _titled(one: Judged) -> str:
    criterion = one.criterion
    unit = "" if criterion.unit == "1" else f" [{criterion.unit}]"
    return (f"{criterion.title}: {criterion.point}" if criterion.point else criterion.title) + unit


def _apart(one: Judged) -> str:
    return f", {one.apart} than each" if one.apart else ""


def _section(evaluation: Evaluation, prefix: str, title: str) -> Markup:
    of_it = [one for one in evaluation.judged if f"{one.criterion.section}.".startswith(f"{prefix}.")]
    if not of_it:
        return Markup()
    parts = []
    for quote, group in groupby(of_it, key=lambda one: (one.criterion.section, one.criterion.quote)):
        parts.append(tag("p", f"§{quote[0]}: “{quote[1]}”", class_="note"))
        parts += [_criterion(evaluation, one) for one in group]
    return tag("section", tag("h2", f"{title} (§{prefix})"), *parts)


def _criterion(evaluation: Evaluation, one: Judged) -> Markup:
    """What is behind a verdict."""
    criterion = one.criterion
    every = {evaluation.control.name: one.value, **{f"beside: {name}": value for name, value in one.beside.items()}}
    said = [tag("strong", SAID[one.verdict], class_=one.verdict), f"{_apart(one)} · {_titled(one)}: {shown(one.value)}"]
    enough = (
        tag("p", "Nobody says what is enough: to be weighed.", class_="note")
        if criterion.bounds is None
        else tag("p", f"Enough: {judged(criterion.bounds)}, for {criterion.reason}.", class_="note")
    )
    file = f"{criterion.id}.toml"
    return tag(
        "details",
        tag("summary", *said),
        enough,
        _strip(every, one),
        tag("p", f"The scenario, as a file {file} that `varicap run {file}` takes:", class_="note"),
        tag("pre", to_toml({**one.scenario, "seeds": evaluation.seeds, "seed": evaluation.seed}), tabindex=0),
        _divisor(evaluation, one),
        class_="criterion",
        id=criterion.id,
    )


def _divisor(evaluation: Evaluation, one: Judged) -> Markup:
    """The run by whose measure this one is divided."""
    below = one.criterion.divisor(evaluation.control.written)
    if below is None:
        return Markup()
    return joined(
        tag("p", "Its measure is divided by that of:", class_="note"),
        tag("pre", to_toml({**below, "seeds": evaluation.seeds, "seed": evaluation.seed}), tabindex=0),
    )


def _strip(every: Mapping[str, Interval], one: Judged) -> Markup:
    """All controls on one axis: means as dots, intervals as lines, what is enough as a band."""
    bounds = one.criterion.bounds
    numbers = [end for value in every.values() for end in (value.mean, value.lo, value.hi)]
    numbers += [] if bounds is None else [bounds.low, bounds.high]
    known_ = [float(each) for each in numbers if each is not None and isfinite(each)]
    if not known_:
        return Markup()
    low, high = min(0.0, *known_), max(known_)
    span = (high - low) * 1.05 or 1.0

    def at(value: float) -> float:
        return round(_LEFT + min(max((value - low) / span, 0.0), 1.0) * (_WIDTH - _LEFT - 10), 1)

    height = _ROW * len(every) + 22
    drawn: list[Markup] = []
    if bounds is not None:
        left, right = at(max(bounds.low, low)), at(min(bounds.high, low + span))
        drawn.append(tag("rect", x=left, y=0, width=round(right - left, 1), height=height - 20, class_="band"))
    for number, (name, value) in enumerate(every.items()):
        y = _ROW * number + _ROW / 2
        mark = [tag("text", name.removeprefix("beside: "), x=0, y=y + 4)]
        if value.lo is not None and value.hi is not None and isfinite(value.lo) and isfinite(value.hi):
            mark.append(tag("line", x1=at(value.lo), x2=at(value.hi), y1=y, y2=y))
        if isfinite(value.mean):
            mark.append(tag("circle", cx=at(value.mean), cy=y, r=4.5, fill="currentColor"))
        else:
            mark.append(tag("text", "infinite", x=_WIDTH - 60, y=y + 4))
        drawn.append(tag("g", *mark, class_="own" if number == 0 else "other"))
    drawn.append(tag("text", f"{low:g}", x=at(low), y=height - 4))
    drawn.append(
        tag("text", f"{high:.4g} {one.criterion.unit}".removesuffix(" 1"), x=_WIDTH, y=height - 4, text_anchor="end")
    )
    text = "; ".join(f"{name}: {shown(value)}" for name, value in every.items())
    return tag("svg", tag("title", text), *drawn, viewBox=f"0 0 {_WIDTH} {height}", class_="strip", role="img")


def _moved(moved: Sequence[Change]) -> Markup:
    heading = tag("h2", "What changed")
    if not moved:
        return tag("section", heading, tag("p", "No verdict, and no number beyond its interval."))
    lines: list[Any] = [
        (
            one.id,
            shown(one.was),
            shown(one.now),
            f"{SAID[one.before]} → {SAID[one.after]}" if one.before != one.after else "",
        )
        for one in moved
    ]
    return tag("section", heading, rows(("criterion", "before", "now", "verdict"), lines))


def _words() -> Markup:
    lines = [(word, meaning) for word, meaning in known().words.items()]
    return tag("section", tag("h2", "Words that are read as numbers"), rows(("word", "here"), lines))


def _untested(evaluation: Evaluation) -> Markup:
    lines = [(f"§{one.section}", one.title, one.why) for one in evaluation.untested]
    return tag("section", tag("h2", "Not measured"), rows(("", "what the RFC asks", "why not"), lines))
