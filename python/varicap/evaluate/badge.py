"""An evaluation as a badge: counts, version and digest, never a mark."""

import varicap._core as _core
from varicap.evaluate.solve import Evaluation
from varicap.report.web.markup import Markup, tag

_COLOURS = {"meets": "#00795a", "fails": "#b2182b", "unsettled": "#a06a00", "weigh": "#566171"}
_LETTER = 6.6
"""Width of a letter of 11 px in a sans-serif font, on average [px]."""


def svg(evaluation: Evaluation) -> str:
    """The badge as a file: what it is about, and how many measures have each verdict."""
    parts = [(f"RFC 9743 · {evaluation.control.name}", "#1c2430")]
    words = {"meets": "met", "fails": "failed", "unsettled": "unsettled", "weigh": "to be weighed"}
    parts += [(f"{count} {words[name]}", _COLOURS[name]) for name, count in evaluation.counts.items() if count]
    made = f"varicap {_core.__version__}"
    parts.append(
        (made if evaluation.control.digest is None else f"{made} · {evaluation.control.digest[:8]}", "#566171")
    )
    drawn, at = [], 0.0
    for text, colour in parts:
        width = round(len(text) * _LETTER + 14)
        drawn.append(tag("rect", x=at, width=width, height=20, fill=colour))
        drawn.append(tag("text", text, x=at + width / 2, y=14, text_anchor="middle"))
        at += width
    title = "; ".join(text for text, _ in parts)
    style = Markup("text{fill:#fff;font:11px Verdana,DejaVu Sans,sans-serif}")
    return tag(
        "svg",
        tag("title", title),
        tag("style", style),
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        width=at,
        height=20,
        role="img",
        aria_label=title,
    )
