"""Scenario 2: one flow through fq_codel when the rate of the link falls."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.l4s.pairs import CONTROLS
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.report.paper import bars
from varicap.results.result import Result
from varicap.statistics import Array, Interval

_STEP_S = 30.0
_RATES = (25, 10, 5, 1)
_SPIKE_MS = 100.0
"""A round-trip time above that, a quarter over the path's, belongs to the spike."""


def reproduce(run: Run) -> Outcome:
    """How long the round-trip time is above the path's after the step, and its greatest value."""
    lasts: dict[tuple[str, int], Array] = {}
    peaks: dict[tuple[str, int], Array] = {}
    for control in ("cubic", "prague"):
        for rate in _RATES:
            changes = {
                "duration": "60 s" if rate > 1 else "90 s",  # as the tests' runs; at 1 Mb/s they saw no end
                "flows.flow.tcp.congestion": CONTROLS[control],
                "topology.dumbbell.forward.capacity.steps.rates": f'["50 Mbit/s", "{rate} Mbit/s"]',
            }
            result = run.simulate("step", changes, seeds=run.pick(10, 4))
            lasts[control, rate], peaks[control, rate] = _spike(result)
    values = {
        "S2-lasts": Value(sim=Interval.of(lasts["prague", 25])),
        "S2-longer": Value(sim=Interval.of(ratio(lasts["prague", 25], lasts["cubic", 25]))),
        "S2-greatest": Value(sim=Interval.of(peaks["prague", 1])),
        "S2-thirty": Value(sim=Interval.of(lasts["prague", 1])),
    }
    rows = {control: [Interval.of(lasts[control, rate]) for rate in _RATES] for control in ("cubic", "prague")}
    grid = Grid(f"How long the RTT is above {_SPIKE_MS:g} ms", "s", "Mb/s after the step", [*map(str, _RATES)], rows)
    return Outcome(values, partial(_draw, rows), [grid])


def _spike(result: Result) -> tuple[Array, Array]:
    """Time after the step with a long round trip [s], and the greatest round trip then [ms], in each replication."""
    rows = result.flow_series
    run, time_s, srtt_s = (rows[name].to_numpy(zero_copy_only=False) for name in ("replication", "time_s", "srtt_s"))
    rtt_ms = srtt_s.astype(np.float64) * 1e3  # smoothed, as the sockets' statistics that the tests read
    after = (time_s > _STEP_S) & np.isfinite(rtt_ms)
    lasts, peaks = [], []
    for number in range(result.runs):
        mine = after & (run == number)
        step_s = float(np.median(np.diff(time_s[mine])))
        lasts.append(float(np.count_nonzero(rtt_ms[mine] > _SPIKE_MS)) * step_s)
        peaks.append(float(rtt_ms[mine].max()))
    return np.array(lasts), np.array(peaks)


def _draw(rows: dict[str, list[Interval]]) -> Figure:
    names = [f"50 to {rate} Mb/s" for rate in _RATES]
    return bars(
        "Scenario 2: a step of the rate under fq_codel, 80 ms", names, list(rows.items()), "RTT above 100 ms [s]"
    )
