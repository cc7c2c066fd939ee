"""What `varicap design ered` found, for the terminal."""

from rich.table import Table

from varicap.questions.ered.solve import Design
from varicap.questions.reserved import kilo, mega, percent
from varicap.report.table import titled, with_interval


def conclusion(design: Design) -> str:
    """The answer in words."""
    lines = [
        f"worst case: no marked packet is lost while the peak rates of all reservations together stay below "
        f"{mega(design.admissible_bps)} Mb/s"
    ]
    if design.peaks_bps:
        total = sum(design.peaks_bps)
        verdict = "can be admitted" if design.is_admitted else "are to be refused"
        lines.append(
            f"peak rates of {mega(total)} Mb/s {verdict}: they allow a maximum threshold below "
            f"{kilo(design.highest_threshold_bytes)} kB"
        )
    if design.points:
        if design.most is None:
            lines.append(
                f"by measurement: not even one reservation of {mega(design.points[0].rate_bps)} Mb/s keeps the loss "
                f"of marked packets at {100 * design.target:g} % or below"
            )
        else:
            most = design.most
            lines.append(
                f"by measurement: {most.reservations} reservations of {mega(most.rate_bps)} Mb/s "
                f"({mega(most.reservations * most.rate_bps)} Mb/s) keep the loss of marked packets at "
                f"{100 * design.target:g} % or below"
            )
    return "\n".join(lines)


def tables(design: Design) -> list[Table]:
    """What the simulations gave, a row for each number of reservations."""
    headings = [
        "reservations",
        "reserved [Mb/s]",
        "marked loss [%]",
        "least compliant / reserved [%]",
        "best effort [Mb/s]",
    ]
    table = titled("Reservations by simulation", headings, left=["reservations"])
    for point in design.points:
        table.add_row(
            str(point.reservations),
            mega(point.reservations * point.rate_bps),
            percent(point.loss),
            percent(point.compliant),
            with_interval(point.best_effort_bps.mean, point.best_effort_bps.lo, point.best_effort_bps.hi, 1e-6),
            style="bold" if point is design.most else "",
        )
    return [table]
