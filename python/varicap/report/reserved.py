"""What `varicap design token-bucket` and `varicap design ered` found, for the terminal."""

from rich.table import Table
from rich.text import Text

from varicap.design import ered, token_bucket
from varicap.papers.verdict import Interval
from varicap.report.table import significant, with_interval


def bucket_conclusion(design: token_bucket.Design) -> str:
    """The answer in words."""
    one = (
        f"a bucket of {_kilo(design.depth_bytes)} kB ({_milli(design.depth_s)} ms at {_mega(design.rate_bps)} Mb/s) "
        f"loses no token if its timer expires every {_milli(design.interval_s)} ms or more often"
    )
    room = (
        f"routers need room for {_kilo(design.buffer_bytes)} kB of marked packets"
        + (f", the buckets of {design.connections} connections" if design.connections > 1 else "")
        + ", beside what unmarked packets take"
    )
    return f"{one}\n{room}"


def bucket_table(design: token_bucket.Design) -> Table:
    """What the simulations gave."""
    table = _table("Evidence by simulation", ["timer [ms]", "lost tokens [%]", "compliant / reserved [%]"], "traffic")
    for row in design.evidence:
        table.add_row(row.traffic, _milli(row.interval_s), _percent(row.lost), _percent(row.compliant))
    return table


def ered_conclusion(design: ered.Design) -> str:
    """The answer in words."""
    lines = [
        f"worst case: no marked packet is lost while the peak rates of all reservations together stay below "
        f"{_mega(design.admissible_bps)} Mb/s"
    ]
    if design.peaks_bps:
        total = sum(design.peaks_bps)
        verdict = "can be admitted" if design.is_admitted else "are to be refused"
        lines.append(
            f"peak rates of {_mega(total)} Mb/s {verdict}: they allow a maximum threshold below "
            f"{_kilo(design.highest_threshold_bytes)} kB"
        )
    if design.points:
        if design.most is None:
            lines.append(
                f"by measurement: not even one reservation of {_mega(design.points[0].rate_bps)} Mb/s keeps the loss "
                f"of marked packets at {100 * design.target:g} % or below"
            )
        else:
            most = design.most
            lines.append(
                f"by measurement: {most.reservations} reservations of {_mega(most.rate_bps)} Mb/s "
                f"({_mega(most.reservations * most.rate_bps)} Mb/s) keep the loss of marked packets at "
                f"{100 * design.target:g} % or below"
            )
    return "\n".join(lines)


def ered_table(design: ered.Design) -> Table:
    """What the simulations gave, a row for each number of reservations."""
    headings = ["reserved [Mb/s]", "marked loss [%]", "least compliant / reserved [%]", "best effort [Mb/s]"]
    table = _table("Reservations by simulation", headings, "reservations")
    for point in design.points:
        table.add_row(
            str(point.reservations),
            _mega(point.reservations * point.rate_bps),
            _percent(point.loss),
            _percent(point.compliant),
            with_interval(point.best_effort_bps.mean, point.best_effort_bps.lo, point.best_effort_bps.hi, 1e-6),
            style="bold" if point is design.most else "",
        )
    return table


def _table(title: str, headings: list[str], first: str) -> Table:
    table = Table(title=Text(title), title_justify="left", title_style="bold", padding=(0, 0, 0, 1))
    table.add_column(Text(first))
    for heading in headings:
        table.add_column(Text(heading), justify="right")
    return table


def _percent(value: Interval) -> str:
    return with_interval(value.mean, value.lo, value.hi, 100.0)


def _mega(value: float) -> str:
    return f"{value / 1e6:.4g}"


def _kilo(value: float) -> str:
    return f"{value / 1e3:.5g}"


def _milli(value: float) -> str:
    return significant(value * 1e3, 4)
