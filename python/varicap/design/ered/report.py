"""What `varicap design ered` found, for the terminal."""

from rich.table import Table

from varicap.design.ered.solve import Design
from varicap.design.reserved import kilo, mega, percent
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
        lines.append(f"verdict: {_verdict(design)}")
    else:
        lines.append("evidence: the inequality alone; --rate asks for simulations")
    return "\n".join(lines)


def _verdict(design: Design) -> str:
    """What the simulations say of the target."""
    loss = f"the loss of marked packets at {100 * design.target:g} % or below"
    if design.most is None:
        first = design.points[0]
        return (
            f"not even one reservation of {mega(first.rate_bps)} Mb/s is sure to keep {loss}: {percent(first.loss)} %, "
            f"{first.verdict(design.target)} after {first.runs} runs"
        )
    most = design.most
    text = (
        f"{most.reservations} reservations of {mega(most.rate_bps)} Mb/s ({mega(most.reservations * most.rate_bps)} "
        f"Mb/s) keep {loss}, the whole interval"
    )
    beyond = [point for point in design.points if point.reservations > most.reservations]
    if not beyond:
        return f"{text}; more do not fit the capacity"
    next_one = beyond[0]
    words = {"misses": "exceed it", "undecided": "leave it undecided", "meets": "keep it"}
    return f"{text}; {next_one.reservations} {words[next_one.verdict(design.target)]} ({percent(next_one.loss)} %)"


def tables(design: Design) -> list[Table]:
    """What the simulations gave, a row for each number of reservations; without simulations there is none."""
    if not design.points:
        return []
    headings = [
        "reservations",
        "reserved [Mb/s]",
        "marked loss [%]",
        "least compliant / reserved [%]",
        "best effort [Mb/s]",
        "runs",
        "verdict",
    ]
    title = f"Reservations by simulation, against a loss of {100 * design.target:g} %"
    table = titled(title, headings, left=["reservations", "verdict"])
    for point in design.points:
        table.add_row(
            str(point.reservations),
            mega(point.reservations * point.rate_bps),
            percent(point.loss),
            percent(point.compliant),
            with_interval(point.best_effort_bps.mean, point.best_effort_bps.lo, point.best_effort_bps.hi, 1e-6),
            str(point.runs),
            point.verdict(design.target),
            style="bold" if point is design.most else "",
        )
    return [table]
