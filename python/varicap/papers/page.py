"""A paper as a page: tables and figures beside the paper's words, with verdicts and bounds; and an index of papers."""

import base64
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from varicap.interface import Folder, FolderError, parsed, read_whole
from varicap.papers import conclusions, statements
from varicap.papers.bar import bar, counts
from varicap.papers.conclusions import Concluded
from varicap.papers.reproduce import Reproduction
from varicap.papers.run import Grid
from varicap.papers.verdict import Judged
from varicap.report.table import with_interval
from varicap.report.web.document import document, footer
from varicap.report.web.markup import Markup, joined, tag
from varicap.report.web.path import rows
from varicap.results.stored import Each, Maybe, Whole, check

RECORD = "claims.json"
"""The file beside a page from which the index is made: what ``varicap reproduce KEY --json`` prints."""

_MANY = Whole(0, 1_000_000)
_SHAPE = {
    "paper": str,
    "title": str,
    "figures": Each(str),
    "verdicts": dict.fromkeys(("reproduced", "differs", "unsettled"), _MANY),
    "quick": Maybe(bool),
    "conclusions": Maybe([{"says": str, "verdict": str, "why": str, "id": str}]),
}
"""What the index needs of a record."""
_MOST_PICTURE = 100_000_000

_KEY = (
    "The band is what the paper's words allow, the ring the paper's number; the dot is ours with its 95 % interval. "
    "Reproduced: the whole interval lies within the band; differs: outside; unsettled: it reaches over the edge."
)
_RULE = (
    "A claim stands if it is reproduced as read and differs under no other reading, falls if the reverse is true, and "
    "depends if both occur. A conclusion stands if all claims that it rests on stand, falls if all fall, depends if "
    "one depends or some stand and others fall, and is open otherwise."
)
_INDEX = (
    "Each figure leads to its page: what the paper says, what varicap measures, with intervals and bounds, and a "
    "verdict that follows from these alone."
)
_STYLE = """
svg.bound { width: 220px; height: 26px; }
svg.bound .accepted { fill: var(--shade); }
svg.bound .ours { stroke: currentColor; stroke-width: 2; fill: currentColor; }
svg.bound .paper { fill: var(--panel); stroke: var(--ink); stroke-width: 1.4; }
.stands { color: #00795a; } .falls { color: var(--loss); } .depends { color: #a06a00; } .open { color: var(--soft); }
.conclusions th:first-child { width: 30%; } .conclusions tbody th { font-weight: 500; }
.counts { display: block; width: 240px; height: 12px; }
.reproduced { color: #00795a; } .differs { color: var(--loss); } .unsettled { color: #a06a00; }
@media (prefers-color-scheme: dark) { .reproduced { color: #3ecf9f; } .unsettled { color: #f0b73f; }
  .stands { color: #3ecf9f; } .depends { color: #f0b73f; } }
.claims th:first-child { width: 30%; } .claims th:nth-child(3) { width: 21%; } .claims tbody th { font-weight: 500; }
.claims td:last-child { min-width: 9.5rem; }
th .quote { display: block; color: var(--soft); font-style: italic; }
td .note { display: block; margin: 0; }
img.figure { display: block; max-width: 100%; height: auto; margin: 0 0 12px; background: #fff; border-radius: 6px; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(230px, 1fr)); gap: 14px; padding: 0;
  list-style: none; }
.gallery img { width: 100%; height: 170px; object-fit: contain; background: #fff; border-radius: 6px; }
"""


def write(done: Reproduction, folder: Path, *, name: str = "index.html") -> Path:
    """Write the page of what was reproduced, and its record, into a folder; returns the page."""
    with Folder.inner(folder, make=True) as there:
        return there.write(name, html(done).encode())


def html(done: Reproduction) -> str:
    """The page as text."""
    paper = done.paper
    shown = [figure for figure in paper.figures if figure in done.figures]
    sections = [_figure(done, figure) for figure in shown]
    links = (tag("li", tag("a", _short(paper.figures[figure]), href=f"#{figure}")) for figure in shown)
    body = joined(
        tag(
            "header",
            tag("h1", paper.title),
            *(tag("p", line, class_="description") for line in counted_lines(done)),
            counts(done.counts),
            tag("p", f"[{paper.key}] · {'quick' if done.is_quick else 'full'} run", class_="facts"),
            tag("nav", tag("ul", *links), aria_label="Figures"),
        ),
        tag("main", _conclusions(done.conclusions), tag("p", _KEY, class_="note"), *sections, _scenarios(done)),
        footer(),
    )
    return document(paper.title, body, styles=(_STYLE,))


def counted(verdicts: Mapping[str, int]) -> str:
    """The counts of the three verdicts in words.

    >>> counted({"reproduced": 25, "differs": 5, "unsettled": 9})
    '25 of 39 claims reproduced, 5 differ, 9 unsettled'
    """
    total = sum(verdicts.values())
    return (
        f"{verdicts['reproduced']} of {total} claims reproduced, {verdicts['differs']} differ, "
        f"{verdicts['unsettled']} unsettled"
    )


def counted_lines(done: Reproduction) -> list[str]:
    """How many conclusions, statements and claims have each verdict, in this order."""
    of_conclusions = [conclusions.counted(conclusions.counts(done.conclusions))] if done.conclusions else []
    apart = [f"apart, {why}: {counted(of)}" for why, of in done.apart.items()]
    return [*of_conclusions, statements.counted(statements.counts(done.statements)), counted(done.counts), *apart]


def _conclusions(drawn: Sequence[Concluded]) -> Markup:
    """What the paper concludes, whether it stands and why: above all figures."""
    if not drawn:
        return Markup()
    headings = ("conclusion", "verdict", "why", "number", "readings", "today")
    head = tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings)))
    table = tag("table", head, tag("tbody", *map(_concluded, drawn)), class_="conclusions")
    return tag(
        "section",
        tag("h2", "What the paper concludes"),
        tag("p", _RULE, class_="note"),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="Conclusions"),
        id="conclusions",
    )


def _concluded(one: Concluded) -> Markup:
    of = one.conclusion
    rests = [joined(tag("a", judged.claim.id, href=f"#{judged.claim.id}"), " ") for judged in one.rests_on]
    readings = [
        tag("span", f"{head}: {', '.join(names)}", class_="note")
        for head, names in (("holds", one.under), ("not", one.not_under))
        if names
    ]
    today = [
        tag("span", f"{under.name}: {conclusions.said(under.value)}, {under.verdict}", class_="note")
        for _, under in one.today
    ]
    return tag(
        "tr",
        tag(
            "th",
            tag("span", f"{of.says} ({of.where})"),
            tag("span", f"“{of.quote}”", class_="quote"),
            scope="row",
        ),
        tag("td", tag("strong", one.stands, class_=one.stands)),
        tag("td", one.why, tag("span", "rests on ", *rests, class_="note")),
        tag("td", conclusions.number(one.number), tag("span", one.number.claim.id, class_="note")),
        tag("td", *readings),
        tag("td", *today),
        id=f"conclusion-{of.id}",
    )


def _figure(done: Reproduction, figure: str) -> Markup:
    """A table or figure: the picture, the claims, and our tables beside it."""
    title = done.paper.figures[figure]
    of_it = [one for one in done.claims if one.claim.figure == figure]
    grids = [grid for of, grid in done.grids if of == figure]
    plot = next((path for path in done.plots if path.stem == figure), None)
    picture = tag("img", src=_embedded(plot), alt=title, class_="figure") if plot is not None else Markup()
    used = done.scenarios.get(figure, ())
    links = [joined(tag("a", f"{name}.toml", href=f"#scenario-{name}"), " ") for name in used]
    return tag(
        "section",
        tag("h2", title),
        picture,
        _claims(of_it),
        *map(_grid, sorted(grids, key=lambda grid: not grid.title.startswith("Readings"))),
        tag("p", "Scenarios: ", *links, class_="note") if links else Markup(),
        id=figure,
    )


def _claims(claims: Iterable[Judged]) -> Markup:
    """Claims with what the paper says, ours, and the bar; a quote or a reason that the next ones share stands once."""
    headings = ("claim", "paper", "accepted", "ours", "", "verdict")
    head = tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings)))
    lines = []
    said: tuple[str, str] = ("", "")
    for one in claims:
        lines.append(_claim(one, *(new if new != old else "" for new, old in zip(_words(one), said, strict=True))))
        said = _words(one)
    if not lines:
        return Markup()
    table = tag("table", head, tag("tbody", *lines), class_="claims")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="Claims")


def _words(judged: Judged) -> tuple[str, str]:
    """What the claims of a table have in common."""
    return judged.claim.quote, judged.claim.reason


def _claim(judged: Judged, quote: str, reason: str) -> Markup:
    claim, ours = judged.claim, judged.ours
    unit = "" if claim.unit in ("", "1") else f" {claim.unit}"
    said = f"{claim.paper}{unit}" if isinstance(claim.paper, int | float) else claim.paper
    return tag(
        "tr",
        tag(
            "th",
            tag("span", f"{claim.id} ({claim.where}): {claim.statement}"),
            tag("span", f"“{quote}”", class_="quote") if quote else Markup(),
            scope="row",
        ),
        tag("td", said),
        tag("td", claim.tolerance, tag("span", reason, class_="note") if reason else Markup()),
        tag("td", with_interval(ours.mean, ours.lo, ours.hi), class_="short"),
        tag("td", bar(judged)),
        tag(
            "td",
            tag("strong", judged.verdict, class_=judged.verdict),
            tag("span", judged.note, class_="note") if judged.note else Markup(),
        ),
        id=claim.id,
    )


def _grid(grid: Grid) -> Markup:
    headings = (f"{grid.column} [{grid.unit}]" if grid.unit else grid.column, *grid.columns)
    body = [(name, *(with_interval(one.mean, one.lo, one.hi) for one in of)) for name, of in grid.rows.items()]
    return joined(tag("h3", grid.title), rows(headings, body, numeric=True))


def _scenarios(done: Reproduction) -> Markup:
    """The files of scenarios that were run."""
    names = sorted({name for used in done.scenarios.values() for name in used})
    if not names:
        return Markup()
    parts = []
    for name in names:
        text = done.paper.scenario(name)
        summary = tag("summary", f"{name}.toml")
        parts.append(tag("details", summary, tag("pre", text, tabindex=0), class_="text", id=f"scenario-{name}"))
    note = tag("p", "Each is a file that `varicap run` takes; figures change single keys of it.", class_="note")
    return tag("section", tag("h2", "Scenarios"), note, *parts, id="scenarios")


def _embedded(picture: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(read_whole(picture, _MOST_PICTURE)).decode()


def _short(title: str) -> str:
    """The number of a figure, if its title begins with one.

    >>> _short("Fig. 4: deeper buckets"), _short("Beyond the paper")
    ('Fig. 4', 'Beyond the paper')
    """
    return title.split(":")[0]


# ---- the index over papers ---------------------------------------------------------------------------------------


def record(done: Reproduction, folder: Path) -> None:
    """Keep what the index shows of a paper that was reproduced as a whole."""
    kept = done.to_dict() | {
        "title": done.paper.title,
        "figures": {figure: done.paper.figures[figure] for figure in done.figures},
        "quick": done.is_quick,
    }
    with Folder.inner(folder, make=True) as there:
        there.write(RECORD, (json.dumps(kept, ensure_ascii=False) + "\n").encode())


def write_index(folder: Path) -> Path | None:
    """Write the index over all papers that have a record in a subfolder; none if there is no such paper."""
    with Folder(folder) as there:
        papers = [_paper(*one) for name in there.names() if (one := _recorded(there, name)) is not None]
        if not papers:
            return None
        body = joined(
            tag("header", tag("h1", "The papers, measured again"), tag("p", _INDEX, class_="facts")),
            tag("main", *papers),
        )
        # The pictures are files of these folders; nothing comes from elsewhere.
        text = document("The papers", body, styles=(_STYLE,)).replace("img-src data: blob:", "img-src data: 'self'", 1)
        return there.write("index.html", text.encode())


def _recorded(folder: Folder, name: str) -> tuple[dict[str, Any], set[str]] | None:
    """The record of a paper in its folder, and the files there; None if it is of another version or something else."""
    if not folder.has_folder(name):
        return None
    try:
        with folder.within(name) as there:
            kept: dict[str, Any] = parsed(there.read(RECORD) if there.is_file(RECORD) else b"null")
            check(kept, _SHAPE)
            return (kept, set(there.names())) if kept["paper"] == name else None
    except FolderError:
        raise
    except (ValueError, PermissionError):
        return None


def _in_index(key: str, drawn: Mapping[str, Any]) -> Markup:
    """A conclusion of a paper in a sentence, for the page over all papers."""
    verdict = drawn["verdict"] if drawn["verdict"] in get_args(conclusions.Stands) else "open"
    link = tag("a", drawn["says"], href=f"{key}/index.html#conclusion-{drawn['id']}")
    return tag("li", tag("strong", verdict, class_=verdict), " ", link, " ", drawn["why"])


def _paper(kept: Mapping[str, Any], files: Container[str]) -> Markup:
    key = kept["paper"]
    pictures = []
    for figure, title in kept["figures"].items():
        if f"{figure}.png" not in files:
            continue
        image = tag("img", src=f"{key}/{figure}.png", alt="", loading="lazy")
        link = tag("a", image, tag("span", title), href=f"{key}/index.html#{figure}")
        pictures.append(tag("li", link))
    run = "quick run" if kept.get("quick") else "full run"
    drawn = [_in_index(key, one) for one in kept.get("conclusions") or []]
    return tag(
        "section",
        tag("h2", tag("a", kept["title"], href=f"{key}/index.html")),
        tag("ul", *drawn) if drawn else Markup(),
        tag("p", f"[{key}] {counted(kept['verdicts'])} · {run}", class_="note"),
        counts(kept["verdicts"]),
        tag("ul", *pictures, class_="gallery"),
    )
