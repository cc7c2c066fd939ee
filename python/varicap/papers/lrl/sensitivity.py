"""The effect on Figs. 3, 7 and 8 of each choice that the paper does not document."""

from functools import partial

import numpy as np

from varicap.papers.lrl.link import FORWARD, REVERSE, Measured, Setting, interval, measure
from varicap.papers.lrl.panels import bars
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array


def _both(key: str, value: str) -> dict[str, str]:
    return {f"{link}.{key}": value for link in (FORWARD, REVERSE)}


_CONTROL = "capacity.load-reactive"
VARIANTS: dict[str, dict[str, str]] = {
    "as the paper": {},
    "window 32": {"tcp.max_window": "32 packets"},
    "window 64": {"tcp.max_window": "64 packets"},
    "window 128": {"tcp.max_window": "128 packets"},
    "Reno": {"tcp.recovery": "reno"},
    "NewReno": {"tcp.recovery": "newreno"},
    "SACK": {"tcp.recovery": "sack"},
    "SACK, window 64": {"tcp.recovery": "sack", "tcp.max_window": "64 packets"},
    "ACK for each packet": {"tcp.ack": "every"},
    "drop-tail of 50 packets": _both("queue", '{ drop-tail = { limit = "50 packets" } }'),
    "gentle RED": _both("queue.red.gentle", "true"),
    "RED, uniform spacing": _both("queue.red.spacing", "uniform"),
    "thresholds not strict": _both(f"{_CONTROL}.control.hysteresis.strict", "false"),
    "packet in service counts": _both(f"{_CONTROL}.counts_in_service", "true"),
    "mean of the interval": _both(f"{_CONTROL}.occupancy", "mean"),
    "samples 50 ms later": _both(f"{_CONTROL}.phase", "50 ms"),
    "samples every 50 ms": _both(f"{_CONTROL}.interval", "50 ms"),
    "rate follows at once (fluid)": _both("service", "fluid"),
    "first RTO 3 s": {"tcp.timer.ticks.initial": "3 s"},
    "acknowledgements outside the control": _both(f"{_CONTROL}.control_packets", "outside"),
}
_FIG3, _FIG7, _FIG8 = Setting(2, 6, 20), Setting(1, 3, 0), Setting(1, 17, 20)


def reproduce(run: Run) -> Outcome:
    """A row for each variant."""
    fig3 = {name: measure(run, _FIG3, changes).throughput for name, changes in VARIANTS.items()}
    fig7 = {name: _opened(measure(run, _FIG7, changes)) for name, changes in VARIANTS.items()}
    fig8 = {name: measure(run, _FIG8, changes) for name, changes in VARIANTS.items()}
    closures = {name: at.forward.closures(20.0) for name, at in fig8.items()}
    plain = fig3["as the paper"]
    others = ("Reno", "NewReno", "SACK")
    values = {
        "S-window": fig3["window 128"] / plain,
        "S-window-64": fig3["window 64"] / plain,
        "S-variant": np.max([np.abs(fig3[name] / plain - 1.0) for name in others], axis=0),
        "S-tahoe-closes": closures["as the paper"],
        "S-others-stay": np.max([closures[name] for name in others], axis=0),
        "S-ack-each": fig3["ACK for each packet"] / plain,
        "S-not-strict": fig7["thresholds not strict"],
        "S-in-service": fig7["packet in service counts"],
        "S-outside": fig3["acknowledgements outside the control"] / plain,
    }
    columns = {
        "Fig. 3: throughput [kb/s]": fig3,
        "Fig. 7, 3000 B: capacity, most [kb/s]": fig7,
        "Fig. 8, 17000 B: throughput [kb/s]": {name: at.throughput for name, at in fig8.items()},
        "Fig. 8, 17000 B: closures": closures,
    }
    rows = {name: [interval(column[name]) for column in columns.values()] for name in VARIANTS}
    grid = Grid("What each choice does", "", "figure", list(columns), rows)
    shown = [
        ("Fig. 3", [rows[name][0] for name in VARIANTS]),
        ("Fig. 8, 17000 B", [rows[name][2] for name in VARIANTS]),
    ]
    of_claims = {key: Value(sim=interval(value)) for key, value in values.items()}
    return Outcome(
        of_claims, partial(bars, "What each choice does", list(VARIANTS), shown, "throughput [kb/s]"), [grid]
    )


def _opened(measured: Measured) -> Array:
    return measured.link("forward", "capacity_max_bps") / 1e3
