"""What was found in words, a table and a figure."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table

from varicap.falsify.conditions import Course, words
from varicap.falsify.found import Found
from varicap.falsify.statement import Statement
from varicap.report.table import titled, with_interval
from varicap.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from varicap.results.tables import Recorded


def tables(found: Found) -> list[Table]:
    """A row for each path that says something, and for each confirmation."""
    table = titled(f"{found.name} against `{found.statement.text}`", ("", "path", "value", "verdict"), ("", "path"))
    for row in _rows(found):
        table.add_row(*row)
    return [table]


def _rows(found: Found) -> Iterator[tuple[str, str, str, str]]:
    if found.as_written is not None:
        yield (
            "as written",
            "the path as the file has it",
            _value(found, found.as_written),
            _said(found, found.as_written),
        )
    yield "worst found", words(found.worst), _value(found, found.worst_value), _said(found, found.worst_value)
    if found.shrunk is not None and found.value is not None:
        yield "simplest", words(found.shrunk), _value(found, found.value), _said(found, found.value)
    for one in found.confirmations:
        value = "" if one.value is None else _value(found, one.value)
        yield one.how, one.why, value, one.verdict
    theory = found.theory
    if theory.worst is not None:
        pair = theory.worst
        yield "worst by a model", words(pair.conditions), _pair(found, pair.by_model, pair.by_simulation), ""
    if theory.farthest is not None:
        pair = theory.farthest
        yield "model farthest off", words(pair.conditions), _pair(found, pair.by_model, pair.by_simulation), ""
    if theory.bound is not None:
        yield "every path", theory.because, f"at least {found.statement.shown(theory.bound)}", ""


def _pair(found: Found, by_model: float, by_simulation: float) -> str:
    return f"model {found.statement.shown(by_model)}, simulated {found.statement.shown(by_simulation)}"


def _value(found: Found, value: Interval) -> str:
    if found.statement.unit == "1":
        return with_interval(value.mean, value.lo, value.hi)
    scale = 1e-6 if found.statement.unit == "b/s" else 1.0
    unit = "Mbit/s" if found.statement.unit == "b/s" else found.statement.unit
    return f"{with_interval(value.mean, value.lo, value.hi, scale)} {unit}"


def _said(found: Found, value: Interval) -> str:
    verdict = found.statement.bounds.verdict(value)
    return {"misses": "broken", "meets": "holds", "undecided": "unsettled"}[verdict]


def sentence(found: Found, scenario: Mapping[str, Any]) -> str:
    """What breaks the control, in one sentence; or that nothing was found, and what that means."""
    if found.shrunk is None or found.value is None:
        worst = found.statement.shown(found.worst_value.mean)
        return (
            f"No path within the bounds was found that surely breaks `{found.statement.text}`: {found.paths} paths in "
            f"{found.spent} runs, the worst with {worst} ({words(found.worst)}); that is no proof."
        )
    subject, (verb, rest) = _subject(found.statement, scenario), _does(found, found.value)
    only = found.shrunk[0] if len(found.shrunk) == 1 else None
    if isinstance(only, Course) and len(only.pieces) == 2 and not only.repeats:
        return f"{_change(only)} lets {subject} {verb} {rest}."
    holds = {"have": "has"}.get(verb, f"{verb}s")
    if not found.shrunk:
        return f"On the path as the file has it {subject} {holds} {rest}."
    return f"With {words(found.shrunk)}, {subject} {holds} {rest}."


def _change(course: Course) -> str:
    """One change, told as it happens."""
    before, after = course.pieces
    what = f"{course.kind} of {course.link} "
    was, becomes = (Course(course.link, course.kind, (piece,)).words.removeprefix(what) for piece in (before, after))
    held = f"{before.hold_s:.4g} s"
    if course.kind == "delay":
        by = f"{abs(after.value - before.value) * 1e3:.4g} ms"
        way = "up" if after.value > before.value else "down"
        return f"After {held} a step of the {what}{way} by {by}, from {was} to {becomes},"
    return f"After {held} of {was} a step of the {what}to {becomes}"


def _subject(statement: Statement, scenario: Mapping[str, Any]) -> str:
    """Which control it is."""
    flows = scenario["flows"]
    if statement.measure == "least_share":
        return "one of the flows"
    if statement.name in flows:
        control = flows[statement.name].get("tcp", scenario.get("tcp", {})).get("congestion", "reno")
        named = next(iter(control.values())) if isinstance(control, Mapping) and "custom" in control else control
        name = next(iter(named)) if isinstance(named, Mapping) else named
        return str(name) if name == statement.name else f"{statement.name} ({name})"
    return statement.name


def _does(found: Found, mean: Interval) -> tuple[str, str]:
    """What it does with the path, in words for its measure: a verb, and the rest."""
    value, measure = found.statement.shown(mean.mean), found.statement.measure
    window = f"{found.measured_s:.4g} s"
    if measure in ("utilisation", "goodput_of_capacity"):
        return "hold", f"{value} of the link for {window}"
    if measure == "share":
        return "have", f"{value} of all goodput for {window}"
    if measure == "least_share":
        return "have", f"{value} of an even share for {window}"
    if measure == "rebuffering":
        return "show", f"nothing for {value} of {window}"
    return "have", f"{measure} {value} over {window}"


def figure(result: "Recorded") -> "Figure":
    """The path and what the control does with it, of a run with its series."""
    from varicap.report import draw

    return draw(result, panels=["rates", "rtt", "queue"])
