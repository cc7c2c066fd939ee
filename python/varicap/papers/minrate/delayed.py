"""Delayed against timed transmissions, with a free and with a congested return path.  Source: [minrate, §IV-A]."""

from functools import partial

from varicap.papers.minrate.network import ONE_WAY, RATES, TWO_WAY, Kind, interval, measure, senders
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import bars

_KINDS: tuple[Kind, ...] = ("plain", "delayed", "timed")
_WAYS = {"one-way": ONE_WAY, "two-way": TWO_WAY}


def reproduce(run: Run) -> Outcome:
    """Compliant throughput of each reserved flow, as a share of its reservation."""
    found = {
        f"{kind}, {way}": measure(run, senders(kind), flows, series=kind in ("plain", "timed") and way == "one-way")
        for kind in _KINDS
        for way, flows in _WAYS.items()
    }
    delayed, timed = found["delayed, two-way"].compliant("r4"), found["timed, two-way"].compliant("r4")
    values = {
        "T1-one-way": found["delayed, one-way"].compliant("r4") / 4,
        "T1-two-way": delayed / 4,
        "T1-timed": timed / delayed,
    }
    rows = {name: [interval(one.compliant(flow) / rate) for flow, rate in RATES.items()] for name, one in found.items()}
    columns = [f"{rate:g} Mb/s reserved" for rate in RATES.values()]
    grid = Grid("Compliant throughput, of the reservation", "1", "flow", columns, rows)
    shown = [(kind, [rows[f"{kind}, {way}"][-1] for way in _WAYS]) for kind in _KINDS]
    title = "Delayed and timed transmissions: the 4 Mb/s flow"
    return Outcome(
        {key: Value(sim=interval(value)) for key, value in values.items()},
        partial(bars, title, list(_WAYS), shown, "compliant throughput / reservation"),
        [grid],
    )
