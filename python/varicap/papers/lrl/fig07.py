"""Fig. 7: starting from zero capacity, where only timeouts fill the queue."""

from functools import partial

from varicap.papers.lrl.link import TODAY, Measured, Setting, Unit, Values, interval, judged, measure, under
from varicap.papers.lrl.panels import capacities
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.worst import most
from varicap.statistics import Array

_HIGHS = (1, 2, 3, 4)
_UNITS: tuple[Unit, Unit] = ("bytes", "packets")


def reproduce(run: Run) -> Outcome:
    """High thresholds of 1 to 4 kB or packets, and what happens after the paper's 58 s."""
    in_bytes = {high: measure(run, Setting(1, high, 0)) for high in _HIGHS}
    packets = {high: measure(run, Setting(1, high, 0, "packets")) for high in _HIGHS}
    longer = {"duration": run.pick("5000 s", "2500 s"), "record.series": "false"}
    later_bytes = measure(run, Setting(1, 3, 0), longer)
    later_packets = measure(run, Setting(1, 2, 0, "packets"), longer)
    values: Values = {
        "F7a": _most_forward(in_bytes[2]),
        "F7a-1000": _most_forward(in_bytes[1]),
        "F7b": _most_forward(in_bytes[3]),
        "F7c": most([_most_return(at) for at in in_bytes.values()]),
        "F7d": most([at.goodput for at in in_bytes.values()]),
        "F7e-opens": _most_forward(packets[2]),
        "F7e-stays": _most_forward(packets[3]),
        "F7f": most([_most_return(at) for at in packets.values()]),
        "F7f-56": most([_most_return(at) for at in packets.values()]),
        "F7g": most([at.goodput for at in packets.values()]),
        "F7h-bytes": _most_return(later_bytes),
        "F7h-packets": _most_return(later_packets),
    }
    names = [f"high {high}" for high in _HIGHS]
    rows = {
        f"{unit}: {what}": [interval(of(at)) for at in runs.values()]
        for unit, runs in (("bytes", in_bytes), ("packets", packets))
        for what, of in (("forward opens at [s]", lambda at: at.forward.opens_at(0.0)), ("return, most", _most_return))
    }
    grid = Grid("Fig. 7 in numbers", "s or kb/s", "thresholds", names, rows)
    draw = partial(capacities, "Fig. 7: from zero capacity on, low threshold 1000 B", list(in_bytes.values()), "kB")
    cubic = {unit: [measure(run, Setting(1, high, 0, unit), TODAY) for high in _HIGHS] for unit in _UNITS}
    today: Values = {
        claim: most([at.goodput for at in cubic[unit]]) for claim, unit in zip(("F7d", "F7g"), _UNITS, strict=True)
    }
    return Outcome(judged(values), draw, [grid], under(_readings(run)), under({"CUBIC": today}))


def _readings(run: Run) -> dict[str, Values]:
    """What the paper's other low threshold and another receiver do where nothing is open at first."""
    found: dict[str, Values] = {}
    for name, low, changes in (("low 0, high 1 packet", 0, {}), ("ACK for each packet", 1, {"tcp.ack": "every"})):
        highs = (1,) if low == 0 else _HIGHS
        packets = [measure(run, Setting(low, high, 0, "packets"), changes) for high in highs]
        returns = most([_most_return(at) for at in packets])
        found[name] = {"F7f": returns, "F7f-56": returns, "F7g": most([at.goodput for at in packets])}
    in_bytes = [measure(run, Setting(0, high, 0)) for high in _HIGHS]
    found["low 0"] = {"F7d": most([at.goodput for at in in_bytes])}
    return found


def _most_forward(measured: Measured) -> Array:
    return measured.link("forward", "capacity_max_bps") / 1e3


def _most_return(measured: Measured) -> Array:
    return measured.link("reverse", "capacity_max_bps") / 1e3
