"""What would be otherwise, in sentences, as a table and as a figure."""

from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

from varicap.design.what_if.found import MORE, QUEUES, Answer, Variant
from varicap.report import style
from varicap.report.table import significant, titled, with_interval
from varicap.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

_MATTERS = 5.0
"""A change is a reason that surely moves something by more than this [%]."""


_LOPSIDED = 1.5
"""How many times the shorter side of an interval the longer one is, from which on both ends are said."""


def surely(change: Interval) -> bool:
    """Whether the interval says that something is moved, by more than what matters."""
    if change.lo is None or change.hi is None:
        return False
    return change.lo > _MATTERS or change.hi < -_MATTERS


def sentences(found: Answer) -> list[str]:
    """The verdict first, then what each change does."""
    rate = with_interval(found.goodput_bps.mean, found.goodput_bps.lo, found.goodput_bps.hi, 1e-6)
    wait = with_interval(found.delay_ms.mean, found.delay_ms.lo, found.delay_ms.hi)
    said = [f"As it is: {rate} Mb/s of goodput, round-trip times of {wait} ms (95th percentile), in {found.runs} runs."]
    verdict, told = _VERDICTS[found.question](found)
    said += verdict
    unmoved = [one.name for one in found.variants if not (surely(one.goodput_percent) or surely(one.delay_percent))]
    said += [f"{_begun(one.name)}: {_effects(one)}." for one in found.variants if one.name not in (*unmoved, told)]
    if left := [name for name in unmoved if name != told]:
        said.append(f"Neither goodput nor delay is surely moved by more than {_MATTERS:g} % {', or '.join(left)}.")
    return said


def _begun(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


Verdict: TypeAlias = tuple[list[str], str | None]
"""Sentences, and the change that they have told already, if it is one."""


def _why(found: Answer) -> Verdict:
    gains = [one for one in found.variants if one.goodput_percent.lo is not None]
    reasons = [one for one in gains if one.goodput_percent.lo is not None and one.goodput_percent.lo > _MATTERS]
    own = [one for one in reasons if one.name != MORE]
    waits = [one for one in found.variants if one.delay_percent.hi is not None and one.delay_percent.hi < -_MATTERS]
    waits = [one for one in waits if one.name != MORE and not _costs(one)]
    lines = []
    if own:
        most = max(own, key=lambda one: one.goodput_percent.mean)
        lines.append(f"What holds goodput back most: {most.name} it is {_change(most.goodput_percent)} %.")
    elif reasons:
        lines.append("What holds goodput back is the capacity alone: the flows use what there is.")
    else:
        lines.append("Nothing of this holds goodput back: it is what the flows offer.")
    if waits:
        most = min(waits, key=lambda one: one.delay_percent.mean)
        lines.append(f"What makes packets wait most: {most.name} round trips are {_change(most.delay_percent)} %.")
    return lines, None


def _costs(one: Variant) -> bool:
    """Whether it surely takes goodput."""
    return one.goodput_percent.hi is not None and one.goodput_percent.hi < -_MATTERS


def _l4s(found: Answer) -> Verdict:
    if not found.variants:
        return ["Nothing is left to change: L4S is there already."], None
    first = found.variants[0]
    return [f"{_begun(first.name)}: {_effects(first)}."], first.name


def _queue(found: Answer) -> Verdict:
    names = {f"with {name}" for name, _ in QUEUES}
    kept = [
        one
        for one in found.variants
        if one.name in names and one.goodput_percent.lo is not None and one.goodput_percent.lo > -_MATTERS
    ]
    better = [one for one in kept if one.delay_percent.hi is not None and one.delay_percent.hi < -_MATTERS]
    if not better:
        kept_as_is = f"no other takes surely {_MATTERS:g} % of the delay and keeps the goodput"
        return [f"The queue as it is may stay: {kept_as_is}."], None
    best = min(better, key=lambda one: one.delay_percent.mean)
    return [f"Take {best.name.removeprefix('with ')}: {_effects(best)}."], best.name


_VERDICTS = {"why": _why, "l4s": _l4s, "queue": _queue}


def _effects(one: Variant) -> str:
    return f"{_change(one.goodput_percent)} % goodput, {_change(one.delay_percent)} % round-trip time"


def _change(change: Interval) -> str:
    if not isfinite(change.mean):
        return "–"
    text = with_interval(change.mean, change.lo, change.hi)
    if change.lo is not None and change.hi is not None:
        below, above = change.mean - change.lo, change.hi - change.mean
        if max(below, above) > _LOPSIDED * min(below, above):
            # One number for both sides would hide on which of them zero is.
            text = f"{significant(change.mean, 3)} [{significant(change.lo, 3)}, {significant(change.hi, 3)}]"
    return text if text.startswith("-") else f"+{text}"


def tables(found: Answer) -> "list[Table]":
    """A row for each change."""
    headings = ["", "goodput [Mb/s]", "change [%]", "RTT p95 [ms]", "change [%]"]
    table = titled(f"{found.name}: {found.runs} runs of each, ± 95 % interval, changes run by run", headings, left=[""])
    rows: list[tuple[str, Interval, Interval | None, Interval, Interval | None]] = [
        ("as it is", found.goodput_bps, None, found.delay_ms, None)
    ]
    rows += [
        (one.name, one.goodput_bps, one.goodput_percent, one.delay_ms, one.delay_percent) for one in found.variants
    ]
    for name, rate, more, wait, longer in rows:
        table.add_row(
            name,
            with_interval(rate.mean, rate.lo, rate.hi, 1e-6),
            "" if more is None else _change(more),
            with_interval(wait.mean, wait.lo, wait.hi),
            "" if longer is None else _change(longer),
        )
    return [table]


def figure(found: Answer) -> "Figure":
    """Changes of goodput and of delay with their intervals, a line for each."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9.0, 1.2 + 0.35 * max(1, len(found.variants))), dpi=120, layout="constrained")
    panels = drawn.subplots(1, 2, sharey=True)
    names = [one.name for one in found.variants]
    sides = (("goodput", [one.goodput_percent for one in found.variants]),
             ("round-trip time, 95th percentile", [one.delay_percent for one in found.variants]))  # fmt: skip
    for axes, (title, changes) in zip(panels, sides, strict=True):
        style.plain(axes)
        for place, change in enumerate(changes):
            if not isfinite(change.mean):
                continue
            low = change.mean if change.lo is None else change.lo
            high = change.mean if change.hi is None else change.hi
            axes.plot([low, high], [place, place], color=style.colour(0), linewidth=1.6)
            axes.plot([change.mean], [place], "o", color=style.colour(0), markersize=4)
        axes.axvline(0.0, color=style.QUEUE, linewidth=0.8)
        axes.set_xlabel(f"change of {title} [%]", fontsize=9)
    panels[0].set_yticks(range(len(names)), [style.literal(name) for name in names], fontsize=8)
    panels[0].invert_yaxis()
    drawn.suptitle(style.literal(found.name), fontsize=10)
    return drawn
