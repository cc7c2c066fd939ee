"""Fig. 9: downloads through a proxy that splits connections, over a satellite link."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.ratcp.kinds import CUBIC, RATCP, SACK, TCP, Kind
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_CAPACITY_KBPS = 250.0
_CASES = ((200.0, 0.1), (1000.0, 0.1), (5000.0, 0.1), (1000.0, 0.5))
_LARGE = _CASES.index((5000.0, 0.1))
_KINDS = (RATCP, TCP, SACK, CUBIC)


def reproduce(run: Run) -> Outcome:
    """Throughput of a download from the server to the client, by the TCP on the satellite side."""
    ours: dict[Kind, list[Array]] = {kind: [] for kind in _KINDS}
    for size, load in _CASES:
        for kind in _KINDS:
            changes = kind.changes("flows.client.tcp") | {
                "flows.download.app.arrivals.rate": f"{load * _CAPACITY_KBPS / size:g} /s",
                "flows.download.app.arrivals.size.exponential": f"{size:g} kB",
                "duration": f"{50 + run.pick(4000, 1000) * max(1.0, size / 1000.0):g} s",
            }
            rows = run.simulate("satellite", changes, seeds=run.pick(10, 4)).flows
            ours[kind].append(samples(rows, "client", "transfer_throughput_bps") / 8e3)
    values = {"F9-large": Value(sim=Interval.of(ours[RATCP][_LARGE] / ours[TCP][_LARGE]))}
    columns = [f"{size:g} kB, load {load:g}" for size, load in _CASES]
    rows_of = {kind.name: [Interval.of(cell) for cell in cells] for kind, cells in ours.items()}
    grid = Grid("Fig. 9: throughput of a download", "kB/s", "mean size and load", columns, rows_of)
    today = {
        "F9-large": {f"over {kind.name}": Value.of(ours[RATCP][_LARGE] / ours[kind][_LARGE]) for kind in (SACK, CUBIC)}
    }
    return Outcome(values, partial(_draw, rows_of, columns), [grid], today=today)


def _draw(ours: dict[str, list[Interval]], columns: list[str]) -> Figure:
    names = [column.replace(", ", ",\n") for column in columns]
    return bars("Fig. 9: downloads over a satellite link with 1 % loss", names, list(ours.items()), "throughput [kB/s]")
