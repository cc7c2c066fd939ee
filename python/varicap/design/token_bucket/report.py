"""What `varicap design token-bucket` found, for the terminal."""

from rich.table import Table

from varicap.design.reserved import kilo, mega, milli, percent
from varicap.design.token_bucket.solve import Design
from varicap.report.table import titled


def conclusion(design: Design) -> str:
    """The answer in words."""
    one = (
        f"a bucket of {kilo(design.depth_bytes)} kB ({milli(design.depth_s)} ms at {mega(design.rate_bps)} Mb/s) "
        f"loses no token if its timer expires every {milli(design.interval_s)} ms or more often"
    )
    room = (
        f"routers need room for {kilo(design.buffer_bytes)} kB of marked packets"
        + (f", the buckets of {design.connections} connections" if design.connections > 1 else "")
        + ", beside what unmarked packets take"
    )
    return f"{one}\n{room}\n{_verdict(design)}"


def _verdict(design: Design) -> str:
    """What the simulations say of the timer."""
    if design.verdict is None:
        return "evidence: the formula alone"
    at = f"a timer of {milli(design.evidence[0].interval_s)} ms"
    if design.verdict == "meets":
        return f"verdict: {at} loses no token in any simulation"
    if design.verdict == "undecided":
        return f"verdict: {at} loses no token in one run, which decides nothing: --seeds 2 or more"
    if design.recommended_s is None:
        return f"verdict: {at} loses tokens, and so do all shorter ones that were simulated"
    return f"verdict: {at} loses tokens; take {milli(design.recommended_s)} ms, with which none is lost"


def tables(design: Design) -> list[Table]:
    """What the simulations gave; without simulations there is none."""
    if not design.evidence:
        return []
    headings = ("traffic", "timer [ms]", "lost tokens [%]", "compliant / reserved [%]", "none lost")
    table = titled("Evidence by simulation", headings, left=["traffic", "none lost"])
    for row in design.evidence:
        table.add_row(row.traffic, milli(row.interval_s), percent(row.lost), percent(row.compliant), row.verdict())
    return [table]
