"""Figure 2 of [goyal17]: utilisation and delay of each scheme on Verizon's LTE, up and down."""

from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from varicap.papers.abc.schemes import SCHEMES, Measured, folder, measure, missing
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import tradeoffs
from varicap.statistics import Interval

_TRACES = {1: "Verizon-LTE-short.up", 2: "Verizon-LTE-short.down"}
_JUDGED = ("abc", "cubiccodel", "cubicpie", "cubic", "bbr", "vegas")
_DRAWN = (*_JUDGED, "copa")


def reproduce(run: Run) -> Outcome:
    """Each scheme alone, queues of 100 packets, acknowledgements at 48 Mb/s."""
    if why := missing(_TRACES.values()):
        names = [
            f"F2-{what}.{scheme}.{number}" for what in ("use", "delay") for scheme in _JUDGED for number in _TRACES
        ]
        return Outcome({name: Value(absent=why) for name in names}, partial(_draw, {}))
    place = folder()
    measured = {
        (scheme, number): _measure(run, scheme, place / trace)
        for scheme in SCHEMES
        for number, trace in _TRACES.items()
    }
    values: dict[str, Value] = {}
    for (scheme, number), one in measured.items():
        if scheme in _JUDGED:
            values[f"F2-use.{scheme}.{number}"] = Value(sim=Interval.of(one.utilisation))
            values[f"F2-delay.{scheme}.{number}"] = Value(sim=Interval.of(one.delay))
    columns = [f"{trace}, {what}" for trace in _TRACES.values() for what in ("utilisation", "delay [ms]")]
    rows = {
        scheme.name: [
            Interval.of(array)
            for number in _TRACES
            for array in (measured[key, number].utilisation, measured[key, number].delay)
        ]
        for key, scheme in SCHEMES.items()
    }
    return Outcome(values, partial(_draw, measured), [Grid("All schemes", "", "", columns, rows)])


def _measure(run: Run, scheme: str, trace: Path) -> Measured:
    return measure(run, scheme, trace, limit=100, back="48 Mbit/s", seeds=run.pick(20, 4))


def _draw(measured: dict[tuple[str, int], Measured]) -> Figure:
    panels = [
        (
            trace,
            [
                (SCHEMES[scheme].name, Interval.of(one.delay), Interval.of(one.utilisation))
                for (scheme, of), one in measured.items()
                if of == number and scheme in _DRAWN
            ],
        )
        for number, trace in _TRACES.items()
    ]
    return tradeoffs("Verizon's LTE, 100 ms, 100 packets", panels, "95th percentile of the delay [ms]", "utilisation")
