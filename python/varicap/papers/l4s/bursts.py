"""Scenario 2 with bursts: what a shallow threshold for marks costs where packets come in groups."""

from collections import deque
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.l4s.pairs import CONTROLS, QUEUES
from varicap.papers.run import Grid, Outcome, Run, ratio
from varicap.papers.verdict import Value
from varicap.queues import Packet
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_PACKETS = 16
_PAUSE_S = (800e-6, 5e-3)
"""The tests' `netem slot 800us 5ms packets 16`."""


class Slots:
    """A queue that pauses after every 16 packets, for a time between 0.8 and 5 ms: netem's slots."""

    def __init__(self, link: str) -> None:
        self._waiting: deque[Packet] = deque()
        self._left = _PACKETS
        self._opens_s = 0.0
        self._random = np.random.default_rng(list(link.encode()))

    def enqueue(self, now_s: float, packet: Packet) -> None:
        """Let everything in: the limit of the tests is never reached."""
        self._waiting.append(packet)

    def dequeue(self, now_s: float) -> Packet | float | None:
        """Give the next packet of an open slot, or say when the next one opens."""
        if not self._waiting:
            return None
        if now_s < self._opens_s:
            return self._opens_s
        self._left -= 1
        if self._left == 0:
            # To the nanosecond, as links count time.
            self._opens_s = round(now_s + float(self._random.uniform(*_PAUSE_S)), 9)
            self._left = _PACKETS
        return self._waiting.popleft()


def reproduce(run: Run) -> Outcome:
    """Goodput of Prague through DualPI2 and of CUBIC through fq_codel."""
    ours: dict[str, Array] = {}
    ways = [f"topology.chain.{way}.1" for way in ("forward", "reverse")]
    # Each packet asks Python: a third of the time shows as much.
    effort = run.pick({}, {"duration": "20 s", **{f"{way}.capacity.steps.at": '["0 s", "10 s"]' for way in ways}})
    for control, queue in (("cubic", "fq_codel"), ("prague", "dualpi2")):
        changes = {"flows.flow.tcp.congestion": CONTROLS[control]} | {f"{way}.queue": QUEUES[queue] for way in ways}
        changes |= effort
        flows = run.simulate("bursts", changes, seeds=run.pick(10, 2), queues={"slots": Slots}).flows
        ours[f"{control} through {queue}"] = samples(flows, "flow", "goodput_bps") / 1e6
    cubic, prague = ours.values()
    values = {"S2-bursts": Value(sim=Interval.of(ratio(prague, cubic)))}
    rows = {name: [Interval.of(each)] for name, each in ours.items()}
    grid = Grid("Goodput with bursts of about 4 ms", "Mb/s", "rate", ["50, then 25 Mb/s"], rows)
    return Outcome(values, partial(_draw, rows), [grid])


def _draw(rows: dict[str, list[Interval]]) -> Figure:
    names = [name.replace(" through ", ",\n") for name in rows]
    values = [("one flow", [row[0] for row in rows.values()])]
    return bars("Scenario 2 with bursts: 50 and then 25 Mb/s, 20 ms", names, values, "goodput [Mb/s]")
