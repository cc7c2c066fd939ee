"""What `varicap design lrl` found, for the terminal and as a map."""

from rich.table import Table
from rich.text import Text

from varicap.design.lrl.solve import Design, Point
from varicap.report.table import with_interval
from varicap.statistics import Interval


def tables(design: Design) -> list[Table]:
    """A map of high against low thresholds for each pair of steps."""
    steps = dict.fromkeys((point.setting.increment_bps, point.setting.decrement_bps) for point in design.points)
    return [_map(design, up, down) for up, down in steps]


def _map(design: Design, up: float, down: float) -> Table:
    points = {
        (point.setting.low, point.setting.high): point
        for point in design.points
        if (point.setting.increment_bps, point.setting.decrement_bps) == (up, down)
    }
    unit = design.points[0].setting.unit
    lows = sorted({low for low, _ in points})
    title = (
        f"{design.scenario}: steps of {up / 1e3:g} up and {down / 1e3:g} kb/s down; "
        f"throughput / mean capacity of {design.link} [kb/s], delay p95 [ms]"
    )
    table = Table(title=Text(title), title_justify="left")
    table.add_column(Text(f"high [{unit}]"), justify="right")
    for low in lows:
        table.add_column(f"low {low:g} {unit}", justify="right")
    for high in sorted({high for _, high in points}):
        table.add_row(f"{high:g}", *(_cell(design, points.get((low, high))) for low in lows))
    return table


def _cell(design: Design, point: Point | None) -> str:
    if point is None:
        return "–"
    rates = f"{_kilo(point.throughput_bps)} / {_kilo(point.capacity_bps)}"
    numbers = f"{rates}, {_with_interval(point.delay_s, 1e3)}"
    if point.opens_s is None:
        return f"[dim]{numbers} shut[/dim]"
    if not point.stable:
        return f"[red]{numbers} unstable[/red]"
    if point is design.best:
        return f"[bold green]{numbers} best[/bold green]"
    return f"{numbers} {point.verdict(design.target)}" if design.target.asks else numbers


def _with_interval(value: Interval, scale: float) -> str:
    return with_interval(value.mean, value.lo, value.hi, scale).replace(" ± ", "±")


def _kilo(value: Interval) -> str:
    return _with_interval(value, 1e-3)


def conclusion(design: Design) -> str:
    """The recommendation in words."""
    shut = sum(point.opens_s is None for point in design.points)
    unstable = sum(not point.stable for point in design.points) - shut
    lines = [
        f"of {len(design.points)} settings {unstable} are unstable: the link fell back to its minimum after it had "
        f"opened; {shut} did not open in every run"
    ]
    if design.added:
        lines.append(f"{design.added} of them were added because the best so far lay at an edge")
    if not design.target.asks:
        stable = [point for point in design.points if point.stable]
        lines.append("none is recommended without a target: say --least-throughput, --most-capacity or --most-delay")
        if stable:
            most = max(stable, key=lambda point: point.throughput_bps.mean)
            quick = min(stable, key=lambda point: point.delay_s.mean)
            lines += [f"most throughput: {_words(most)}", f"least delay: {_words(quick)}"]
        return "\n".join(lines)
    found = design.best or design.nearest
    if design.best is not None:
        lines.append(f"verdict: take {_words(found)}; all of its intervals are within the target")
    else:
        undecided = sum(point.verdict(design.target) == "undecided" for point in design.points)
        left = f" ({undecided} are undecided)" if undecided else ""
        lines.append(f"verdict: none meets the target{left}; nearest: {_words(found)}")
    if design.at_edge:
        lines.append("it lies at an edge of what was tried: values beyond it may do better")
    return "\n".join(lines)


def _words(point: Point) -> str:
    """A setting and what it gave."""
    setting = point.setting
    opens = "" if point.opens_s is None else f"open after {point.opens_s:.1f} s, "
    return (
        f"low = {setting.low:g} {setting.unit}, high = {setting.high:g} {setting.unit}, steps of "
        f"{setting.increment_bps / 1e3:g} and {setting.decrement_bps / 1e3:g} kb/s: {_kilo(point.throughput_bps)} kb/s "
        f"with a mean capacity of {_kilo(point.capacity_bps)} kb/s, {opens}queueing delay "
        f"{_with_interval(point.delay_s, 1e3)} ms (p95), {point.runs} runs"
    )
