"""LeoReplayer's settings of random loss, and what its authors and others measured on Starlink."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.leo.ways import HIGH, LOW, replayed
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

# By LeoReplayer's README, in the section on parameters.
_UPLINK_LOW, _UPLINK_HIGH, _DOWNLINK = "0.2 %", "0.5 %", "0.01 %"


def reproduce(run: Run) -> Outcome:
    """Goodput of each control at the loss that is suggested for it, and of both versions of BBR at the others."""
    wanted = {_UPLINK_LOW: (*LOW, "bbr", "bbr3"), _UPLINK_HIGH: HIGH, _DOWNLINK: ("cubic", *HIGH)}
    measured = {
        (loss, control): samples(result.flows, control, "goodput_bps") / 1e6
        for loss, controls in wanted.items()
        for result in [replayed(run, loss, controls)]
        for control in controls
    }

    def newer(loss: str) -> Interval:
        return Interval.of(ratio(measured[loss, "bbr3"], measured[loss, "bbr"]))

    values = {
        "R-classes": Value(
            sim=least(ratio(measured[_UPLINK_HIGH, high], measured[_UPLINK_LOW, low]) for high in HIGH for low in LOW)
        ),
        "R-uplink-bbr3": Value(sim=newer(_UPLINK_HIGH)),
        "R-uplink-bbr3-low-loss": Value(sim=newer(_UPLINK_LOW)),
        "R-downlink-bbr3": Value(sim=newer(_DOWNLINK)),
        "W-uplink": Value(sim=Interval.of(ratio(measured[_UPLINK_HIGH, "bbr"], measured[_UPLINK_LOW, "cubic"]))),
        "W-downlink": Value(sim=Interval.of(ratio(measured[_DOWNLINK, "bbr"], measured[_DOWNLINK, "cubic"]))),
    }
    rows = {
        f"{control}, {loss} lost": [Interval.of(measured[loss, control])]
        for loss, controls in wanted.items()
        for control in controls
    }
    return Outcome(values, partial(_draw, measured), [Grid("Goodput by loss", "Mb/s", "", ["goodput"], rows)])


def _draw(measured: dict[tuple[str, str], Array]) -> Figure:
    names = [f"{control}\n{loss}" for loss, control in measured]
    goodput = [Interval.of(found) for found in measured.values()]
    return bars("Random loss beside handovers every 15 s", names, [("goodput", goodput)], "goodput [Mb/s]")
