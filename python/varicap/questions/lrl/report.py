"""What `varicap design lrl` found, for the terminal and as a map."""

from rich.table import Table
from rich.text import Text

from varicap.questions.lrl.solve import Design, Point


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
    numbers = (
        f"{point.throughput_bps.mean / 1e3:.0f} / {point.capacity_bps.mean / 1e3:.0f}, {point.delay_s.mean * 1e3:.0f}"
    )
    if point.opens_s is None:
        return f"[dim]{numbers} shut[/dim]"
    if not point.stable:
        return f"[red]{numbers} unstable[/red]"
    return f"[bold green]{numbers} best[/bold green]" if point is design.best else numbers


def conclusion(design: Design) -> str:
    """The recommendation in words."""
    tried = f"of {len(design.points)} settings {sum(point.stable for point in design.points)} are stable"
    if design.best is None:
        return f"{tried}; none reaches the target"
    best, setting = design.best, design.best.setting
    return (
        f"{tried}; take low = {setting.low:g} {setting.unit}, high = {setting.high:g} {setting.unit}, steps of "
        f"{setting.increment_bps / 1e3:g} and {setting.decrement_bps / 1e3:g} kb/s: "
        f"{best.throughput_bps.mean / 1e3:.0f} kb/s with a mean capacity of {best.capacity_bps.mean / 1e3:.0f} kb/s, "
        f"open after {best.opens_s:.1f} s, queueing delay {best.delay_s.mean * 1e3:.0f} ms (p95)"
    )
