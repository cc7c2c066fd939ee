"""What model, simulator and kernel say of a trace and of its fit: tables, sentences, a figure, a page."""

import base64
import io
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from varicap._files import write_whole
from varicap.engines.fitted import ANSWERS, MEASURES, STEPS, Answer, FitComparison, Step
from varicap.report import fit as of_fit
from varicap.report import style
from varicap.report.table import titled, with_interval
from varicap.report.web.document import document, footer
from varicap.report.web.markup import Markup, joined, tag
from varicap.report.web.path import rows
from varicap.report.web.toml import to_toml

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from varicap.report.look import Look

_TITLES: dict[Answer, str] = {
    "model, fit": "model on the fit",
    "sim, fit": "simulator on the fit",
    "sim, trace": "simulator on the trace",
    "kernel, trace": "kernel on the trace",
}
_DRAWN = ("goodput_of_capacity", "rtt_p95_ms")
_JUDGED = ("goodput_of_capacity", "goodput_bps")
_MOST_FLOWS = 6
_STYLE = """
img.figure { display: block; max-width: 100%; height: auto; margin: 0 0 12px; background: #fff; border-radius: 6px; }
"""


def grids(found: FitComparison) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Two tables, each with its title: what is said, and how neighbours differ."""
    asked = [name for name in ANSWERS if not isinstance(found.answers.get(name, ""), str)]
    said = []
    for flow in found.flows:
        for measure, (name, unit, scale) in MEASURES.items():
            cells = [_interval(found, each, flow, measure, scale) for each in asked]
            said.append([flow, f"{name} [{unit}]", *cells])
    yield "What is said, mean ± 95 % interval", ["flow", "measure", *(_TITLES[each] for each in asked)], said
    apart = []
    for flow in found.flows:
        for measure, (name, _, _) in MEASURES.items():
            steps = {one.what: one for one in found.steps if (one.flow, one.measure) == (flow, measure)}
            if steps:
                apart.append([flow, name, *(_step(steps.get(what)) for what, _, _ in STEPS)])
    headings = ["flow", "measure", *(f"{what} [%]" for what, _, _ in STEPS)]
    yield "Where the error comes from: each against the next", headings, apart


def _interval(found: FitComparison, answer: Answer, flow: str, measure: str, scale: float) -> str:
    interval = found.interval(answer, flow, measure)
    return "–" if interval is None else with_interval(interval.mean, interval.lo, interval.hi, scale)


def _step(one: Step | None) -> str:
    return "–" if one is None else f"{_percent(one)} ({one.verdict})"


def _percent(one: Step) -> str:
    text = with_interval(one.percent.mean, one.percent.lo, one.percent.hi)
    return text if text.startswith("-") else f"+{text}"


def tables(found: FitComparison) -> list[Table]:
    """The same for the terminal."""
    drawn = []
    for title, headings, body in grids(found):
        table = titled(f"{found.scenario}: {title}", headings, left=headings[:2])
        for row in body:
            table.add_row(*map(Text, row))
        if body:
            drawn.append(table)
    return drawn


def sentences(found: FitComparison) -> list[str]:
    """Of each flow, which step costs most of its goodput, as far as intervals tell, and what cannot be said."""
    said = [f"{link}: {line}" for link, fit in found.fits.items() for line in of_fit.sentences(fit)[:2]]
    for flow in found.flows:
        for measure in _JUDGED:
            steps = [one for one in found.steps if (one.flow, one.measure) == (flow, measure)]
            if steps and (line := verdict(steps)):
                said.append(f"{flow}, {MEASURES[measure][0]}: {line}")
        if any(one.verdict == "one run" for one in found.steps if one.flow == flow):
            said.append(f"{flow}: one run has no interval; more say what is chance")
    return said


def verdict(steps: Sequence[Step]) -> str:
    """Which of the steps of one measure costs most; empty if none has an interval.

    It is called most only if no other may be as large, by their 95 % intervals: a step without
    interval may, and one that was not asked for.
    """
    clear = [one for one in steps if one.verdict in ("too high", "too low")]
    if not clear:
        names = ", ".join(one.what for one in steps if one.verdict == "chance")
        return f"no step ({names}) is more than chance" if names else ""
    worst = max(clear, key=lambda one: abs(one.percent.mean))
    least, _ = _reach(worst)
    if len(steps) > 1 and all(_reach(one)[1] <= least for one in steps if one is not worst):
        return f"most of the error is the {worst.what}'s: {_percent(worst)} %"
    if len(clear) == 1:
        return f"the only step that is more than chance is the {worst.what}: {_percent(worst)} %"
    costs = ", ".join(f"{one.what} {_percent(one)} %" for one in clear)
    return f"more than chance, and which is most is not certain: {costs}"


def _reach(one: Step) -> tuple[float, float]:
    """Least and greatest size of an error by its interval [%]; the least is of no use if zero lies within."""
    low, high = one.percent.lo, one.percent.hi
    if low is None or high is None:
        return 0.0, inf
    ends = sorted((abs(low), abs(high)))
    return ends[0], ends[1]


def missing(found: FitComparison) -> list[str]:
    """Why answers are missing, a line each, and what to know of the others before trusting them."""
    lines = []
    for name, answer in found.answers.items():
        if isinstance(answer, str):
            lines += [f"{_TITLES[name]}: {line}" for line in answer.splitlines()]
            continue
        fidelity = answer.summary["fidelity"]
        if faults := fidelity.get("faults"):
            lines.append(f"{_TITLES[name]}: this result is not valid: {'; '.join(faults)}")
        known = (*fidelity.get("strained", ()), *fidelity.get("warnings", ()), *answer.summary.get("notes", ()))
        lines += [f"{_TITLES[name]}: {line}" for line in known]
    return lines


def figure(found: FitComparison, look: "Look | None" = None) -> "Figure":
    """A panel for each measure; for each flow what each answer says, in the engine's colour: hollow on the fit."""
    from varicap.report.look import Look  # needs matplotlib, which tables do without

    look = look or Look()
    flows = found.flows[:_MOST_FLOWS]
    with look.figure(9.0, 0.9 + 0.55 * len(flows), "") as drawn:
        for axes, measure in zip(drawn.subplots(1, len(_DRAWN), sharey=True), _DRAWN, strict=True):
            _panel(axes, found, flows, measure, look)
        handles, labels = drawn.axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, frameon=False, ncols=len(ANSWERS), loc="outside upper left")
    return drawn


def _panel(axes: "Axes", found: FitComparison, flows: list[str], measure: str, look: "Look") -> None:
    name, unit, scale = MEASURES[measure]
    for number, answer in enumerate(ANSWERS):
        engine, on = answer.split(", ")
        at, mean, left, right = [], [], [], []
        for row, flow in enumerate(flows):
            interval = found.interval(answer, flow, measure)
            if interval is None:
                continue
            low, high = (interval.mean if end is None else end for end in (interval.lo, interval.hi))
            at.append(row + 0.18 * (number - 1.5))
            mean.append(interval.mean * scale)
            left.append((interval.mean - low) * scale)
            right.append((high - interval.mean) * scale)
        face = "white" if on == "fit" else style.engine(engine)
        axes.errorbar(
            mean,
            at,
            xerr=[left, right],
            fmt="o",
            color=style.engine(engine),
            markerfacecolor=face,
            label=_TITLES[answer] if at or measure == _DRAWN[0] else None,
        )
    look.plain(axes, zero=False)
    axes.margins(x=0.05)
    axes.set_xlim(left=max(0.0, axes.get_xlim()[0]))  # an interval of few runs may reach below what can be
    axes.set_xlabel(f"{name} [{unit}]")
    axes.set_yticks(range(len(flows)), [style.literal(flow) for flow in flows])
    axes.set_ylim(len(flows) - 0.5, -0.5)


def page(found: FitComparison, file: str | Path) -> Path:
    """Write one HTML file: the sentences, figure and tables, and each trace beside its fit."""
    return write_whole(file, _html(found))


def _html(found: FitComparison) -> str:
    shown = [tag("li", line) for line in sentences(found)]
    gaps = [tag("p", line, class_="note") for line in missing(found)]
    scenario = next((each.summary["scenario"] for each in found.answers.values() if not isinstance(each, str)), None)
    sections = [
        _section("short", "In short", tag("ul", *shown, class_="story"), _picture(figure(found), "what each says")),
        *(_section(f"table-{number}", title, rows(head, body)) for number, (title, head, body) in _numbered(found)),
        _section("missing", "What has no answer, or is strained", *gaps),
        *(
            _section(
                f"fit-{number}",
                f"The fit of {link}",
                _picture(of_fit.figure(fit, "trace"), f"trace and fit of {link}"),
                tag("ul", *(tag("li", line) for line in of_fit.sentences(fit))),
                rows(*of_fit.table(fit), numeric=True),
            )
            for number, (link, fit) in enumerate(found.fits.items())
        ),
        _section("scenario", "Scenario", tag("pre", to_toml(scenario)) if scenario is not None else Markup()),
    ]
    there = [each for each in sections if each]
    facts = f"fits with slots of {found.slot_s:g} s"
    body = joined(
        tag("header", tag("h1", f"{found.scenario}: from a trace to an answer"), tag("p", facts, class_="facts")),
        tag("main", *there),
        footer(),
    )
    return document(found.scenario, body, styles=(_STYLE,))


def _numbered(found: FitComparison) -> Iterator[tuple[int, tuple[str, list[str], list[list[str]]]]]:
    yield from enumerate(grids(found))


def _section(identity: str, title: str, *children: Markup) -> Markup:
    """A section, if there is anything in it."""
    return tag("section", tag("h2", title), *children, id=identity) if any(children) else Markup()


def _picture(drawn: "Figure", what: str) -> Markup:
    held = io.BytesIO()
    drawn.savefig(held, format="png")
    source = "data:image/png;base64," + base64.b64encode(held.getvalue()).decode()
    return tag("img", src=source, alt=what, class_="figure")
