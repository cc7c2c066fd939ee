"""What a design found, in words, as tables and as a figure."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from varicap.design.optimise.demands import Column
from varicap.design.optimise.found import Found, Tried
from varicap.report import style
from varicap.report.measures import Measure, measure_of
from varicap.report.points import label_of, short
from varicap.report.table import significant, titled, with_interval
from varicap.statistics import Interval, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

_MOST_ROWS = 20
_MOST_PANELS = 3
_COLOURS: Mapping[Verdict, int] = {"meets": 2, "undecided": 1, "misses": 3}
_WHY = {
    "converged": "nothing better lies between",
    "budget": "the budget was spent",
    "time": "the time was over",
}


def sentence(found: Found) -> str:
    """The answer, in one line or in a few."""
    return "\n".join(_lines(found))


def _lines(found: Found) -> Iterator[str]:
    if found.front:
        yield from _of_front(found)
    elif found.best is not None:
        again = (
            f"in {_runs(found)} other runs" if found.again else f"in {found.best.runs} runs, none left to confirm it"
        )
        measured = _measured(found, found.again or found.best.columns)
        yield f"verdict: take {values(found, found.best)}: {measured}, {again}"
        if found.confirmed == "misses":
            yield "the other runs miss the demands: the runs that chose it flattered it"
        yield from _edge(found, found.best)
        yield from _end_of_range(found, found.best)
    elif found.nearest is not None:
        near = found.nearest
        said = f"{values(found, near)}, with {_measured(found, near.columns)} in {near.runs} runs"
        if near.verdict == "misses":
            yield f"verdict: nothing within the ranges meets the demands; nearest: {said}"
        else:
            yield f"verdict: undecided; it may be {said}: more replications or a larger budget would tell"
    if found.without is not None:
        measured = _measured(found, found.without.columns, asked=False)
        yield f"without `{found.without.path}`: {measured}, in {found.without.runs} runs"
    yield from _analysis(found)
    refused = (
        f", {found.refused} more {'is no valid scenario' if found.refused == 1 else 'are no valid scenarios'}"
        if found.refused
        else ""
    )
    yield f"{found.runs} of {found.budget} runs, {len(found.tried)} points{refused}; {_WHY[found.stopped]}"
    for reason in found.refused_because[:1]:
        yield f"refused: {reason}"


def _of_front(found: Found) -> Iterator[str]:
    met = [one for one in found.front if one.verdict == "meets"]
    names = " and ".join(objective.text for objective in found.demands.objectives)
    if not met:
        yield "verdict: no point certainly meets the demands; the front has those that may"
    ends = [found.front[0], found.front[-1]]
    yield f"{len(found.front)} points are the best trade-offs of {names}, from"
    for end, word in zip(ends, ("to", ""), strict=True):
        yield f"  {values(found, end)}: {_measured(found, end.columns)} {word}".rstrip()


def _edge(found: Found, best: Tried) -> Iterator[str]:
    """Of a key that was to be as small or as large as possible: which better values miss, and which may do."""
    objective = found.demands.objectives[0]
    if not isinstance(objective.of, int) or not found.space.line or not found.demands.constraints:
        return
    better = [one for one in found.tried if objective.sign * (one.keys[objective.text] - best.keys[objective.text]) < 0]
    order = sorted(better, key=lambda one: objective.sign * one.keys[objective.text])
    missed = [one for one in order if one.verdict == "misses"]
    unsure = [one for one in order if one.verdict == "undecided"]
    if missed:
        yield f"{values(found, missed[-1])} misses: {_measured(found, missed[-1].columns)}"
    if unsure:
        named = " and ".join(values(found, one) for one in unsure[:2])
        yield f"{named} may do, which {unsure[0].runs} runs leave undecided"


def _end_of_range(found: Found, best: Tried) -> Iterator[str]:
    """Which keys of the answer are at an end of what was asked: beyond it nothing was tried."""
    paths = [variable.path for variable in found.space.variables]
    for variable in found.space.variables:
        value = dict(best.point).get(variable.path)
        if variable.range is None or value is None:
            continue
        for share, end, beyond in ((0.0, "low", "smaller"), (1.0, "high", "larger")):
            if value == variable.text(share):
                name = short(variable.path, paths)
                yield f"{name} = {value} is the {end} end of the range that was asked: {beyond} values were not tried"


def _analysis(found: Found) -> Iterator[str]:
    shown = found.best or found.nearest
    if shown is not None and shown.by_model is not None:
        said = ", ".join(
            f"{_named(found, name)} {_number(found, name, value)}" for name, value in shown.by_model.items()
        )
        yield f"by analysis: {said} there"


def values(found: Found, one: Tried) -> str:
    """The values of a point in words."""
    paths = [variable.path for variable in found.space.variables]
    return ", ".join(f"{short(path, paths)} = {value}" for path, value in one.point)


def _runs(found: Found) -> int:
    return next((value.samples or 0 for value in found.again.values()), 0)


def _measured(found: Found, columns: Mapping[str, Interval], *, asked: bool = True) -> str:
    demanded = {one.of.text: one.text for one in found.demands.constraints}
    each = []
    for name, value in columns.items():
        bound = f" (asked: {demanded[name]})" if asked and name in demanded else ""
        each.append(f"{_named(found, name)} {_cell(found, name, value)}{_unit(found, name)}{bound}")
    return ", ".join(each)


def _column(found: Found, name: str) -> Column:
    return next(column for column in found.demands.columns if column.text == name)


def _measure(found: Found, name: str) -> Measure:
    column = _column(found, name)
    if column.unit == "1" and column.measure in ("utilisation", "goodput_of_capacity", "loss_ratio", "capacity_at_min"):
        return Measure("", column.measure, measure_of(column.measure, "1").title, "%", 100.0)
    return measure_of(column.measure, column.unit)


def _named(found: Found, name: str) -> str:
    of = _column(found, name).name
    title = _measure(found, name).label.rsplit(" [", 1)[0]
    return title if of is None else f"{title} of {of}"


def _unit(found: Found, name: str) -> str:
    unit = _measure(found, name).unit
    return "" if unit == "1" else f" {unit}"


def _cell(found: Found, name: str, value: Interval) -> str:
    return with_interval(value.mean, value.lo, value.hi, _measure(found, name).scale)


def _number(found: Found, name: str, value: float) -> str:
    return f"{significant(value * _measure(found, name).scale, 3)}{_unit(found, name)}"


def headings(found: Found) -> list[str]:
    """Those of `rows`."""
    paths = [variable.path for variable in found.space.variables]
    names = [f"{_named(found, column.text)}{_bracketed(found, column.text)}" for column in found.demands.columns]
    modelled = [f"{name} by analysis" for name in names] if _is_modelled(found) else []
    return [*(short(path, paths) for path in paths), "runs", *names, *modelled, "verdict"]


def _bracketed(found: Found, name: str) -> str:
    return f" [{_measure(found, name).unit}]"


def _is_modelled(found: Found) -> bool:
    return any(one.by_model is not None for one in found.tried)


def rows(found: Found, tried: "tuple[Tried, ...] | list[Tried]") -> list[list[str]]:
    """A row for each of these points."""
    modelled = _is_modelled(found)
    lines = []
    for one in tried:
        point = dict(one.point)
        said = one.by_model or {}
        by_model = [
            significant(said[name] * _measure(found, name).scale, 4) if name in said else "–" for name in one.columns
        ]
        lines.append(
            [
                *(point.get(variable.path, "–") for variable in found.space.variables),
                str(one.runs),
                *(_cell(found, name, value) for name, value in one.columns.items()),
                *(by_model if modelled else []),
                one.verdict,
            ]
        )
    return lines


def tables(found: Found) -> "list[Table]":
    """The points that matter: the front, or the best and those next to it."""
    chosen = list(found.front) or _ordered(found)[:_MOST_ROWS]
    title = (
        "Best trade-offs"
        if found.front
        else "Points tried"
        + (f", the best {_MOST_ROWS} of {len(found.tried)}" if len(found.tried) > _MOST_ROWS else "")
    )
    table = titled(f"{found.name}: {title}, mean ± 95 % interval", headings(found), left=["verdict"])
    for one, cells in zip(chosen, rows(found, chosen), strict=True):
        table.add_row(*cells, style="bold" if one is found.best else "")
    return [table]


def _ordered(found: Found) -> list[Tried]:
    """Along a line by the key, else the best first."""
    if found.space.line:
        path = found.space.variables[0].path
        near = sorted(found.tried, key=lambda one: found.space.variables[0].place(dict(one.point)[path]))
        if len(near) <= _MOST_ROWS or (found.best or found.nearest) is None:
            return near
        at = near.index(found.best or found.nearest)  # type: ignore[arg-type]
        begin = max(0, min(at - _MOST_ROWS // 2, len(near) - _MOST_ROWS))
        return near[begin : begin + _MOST_ROWS]
    order = {"meets": 0, "undecided": 1, "misses": 2}
    objective = found.demands.objectives[0]

    def rank(one: Tried) -> tuple[int, float]:
        value = one.keys[objective.text] if isinstance(objective.of, int) else one.columns[objective.of.text].mean
        return order[one.verdict], objective.sign * value

    return sorted(found.tried, key=rank)


def evidence(found: Found) -> dict[str, Any]:
    """What a page shows of a design: sentences, and a table of all points."""
    return {"sentences": sentence(found).splitlines(), "headings": headings(found), "rows": rows(found, _every(found))}


def _every(found: Found) -> list[Tried]:
    order = _ordered(found) if not found.space.line else list(found.tried)
    return [*found.front, *(one for one in order if one not in found.front)]


def figure(found: Found) -> "Figure":
    """Each column over the key, or over each key; of several objectives the front."""
    from matplotlib.figure import Figure

    panels = list(_panels(found))[:_MOST_PANELS]
    drawn = Figure(figsize=(4.4 * len(panels) + 0.4, 3.6), dpi=120, layout="constrained")
    for axes, panel in zip(drawn.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        style.plain(axes)
        _draw(axes, found, *panel)
    drawn.suptitle(style.literal(found.name), fontsize=10)
    return drawn


def _panels(found: Found) -> Iterator[tuple[str, str]]:
    """What is drawn over what: names of columns, and paths of keys."""
    columns = [column.text for column in found.demands.columns]
    objectives = [one.of.text for one in found.demands.objectives if isinstance(one.of, Column)]
    if len(objectives) > 1:
        yield objectives[1], objectives[0]
        return
    ranges = [variable.path for variable in found.space.variables if variable.range is not None]
    if found.space.line:
        yield from ((ranges[0], name) for name in columns)
        return
    over = ranges or [found.space.variables[0].path]
    yield from ((path, name) for path in over for name in (objectives or columns)[:1])


def _draw(axes: "Axes", found: Found, across: str, up: str) -> None:
    variables = {variable.path: variable for variable in found.space.variables}
    variable = variables.get(across)
    scale = _measure(found, up).scale
    measured = False
    for verdict, colour in _COLOURS.items():
        chosen = [
            one for one in found.tried if one.verdict == verdict and (variable is None or across in dict(one.point))
        ]
        if not chosen:
            continue
        if variable is None:
            x = [one.columns[across].mean * _measure(found, across).scale for one in chosen]
        else:
            x = [variable.place(dict(one.point)[across]) for one in chosen]
        y = [one.columns[up].mean * scale for one in chosen]
        measured = measured or any(map(math.isfinite, y))
        half = [_half(one.columns[up]) * scale for one in chosen]
        axes.errorbar(x, y, half, fmt="o", markersize=3, linewidth=0.8, color=style.colour(colour), label=verdict)
        said = [(at, one.by_model[up] * scale) for at, one in zip(x, chosen, strict=True) if one.by_model]
        if said:
            axes.plot(*zip(*said, strict=True), "x", color=style.engine("model"), markersize=4)
    for constraint in found.demands.constraints:
        for bound in (constraint.bounds.low, constraint.bounds.high):
            if constraint.of.text == up and abs(bound) != float("inf"):
                axes.axhline(bound * scale, color=style.QUEUE, linewidth=0.8, linestyle="--", label=constraint.text)
    if found.front and variable is None:
        line = [
            (one.columns[across].mean * _measure(found, across).scale, one.columns[up].mean * scale)
            for one in found.front
        ]
        axes.plot(*zip(*line, strict=True), "-", linewidth=0.8, color=style.CAPACITY, zorder=0, label="front")
    if variable is not None:
        listed = [dict(one.point).get(across, "") for one in found.tried]
        axes.set_xlabel(style.literal(label_of(across, [value for value in listed if value])), fontsize=9)
        if variable.range is not None and variable.range.logarithmic:
            if not measured:
                axes.set_xlim(variable.range.low, variable.range.high)  # without a point there is nothing to scale to
            axes.set_xscale("log")
        if variable.choices:
            axes.set_xticks(range(len(variable.choices)), variable.choices, fontsize=8)
    else:
        axes.set_xlabel(f"{_named(found, across)}{_bracketed(found, across)}", fontsize=9)
    axes.set_ylabel(f"{_named(found, up)}{_bracketed(found, up)}", fontsize=9)
    axes.legend(fontsize=7, frameon=False)


def _half(value: Interval) -> float:
    return 0.0 if value.hi is None else value.hi - value.mean
