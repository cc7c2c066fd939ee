"""Trains of light opportunities for the trace of a saturated link, in CellReplay's format.

A line for each train of packets, with spaces between whole numbers: when it was sent [ms], the one-way delay [ms], and
how long after its first packet each of its packets came [ms].  The time of the last line is the period.  A recording
has both kinds; where there is only that of a saturated link, `light_trains` supposes that bursts on an idle link get a
share of its rate.  Source: [cellreplay], ``record/trace-processor`` of its repository.
"""

from pathlib import Path

import numpy as np

from varicap._files import write_whole
from varicap.traces.parameters import TraceError
from varicap.traces.trace import Millis, Trace, to_opportunities

EVERY_S = 0.1
"""Time from one train to the next in a recording [s].  Source: [cellreplay], ``calibration_train_size.py``."""
_LEAST_SHARE = 0.01


def light_trains(heavy: Trace, *, share: float = 0.5, packets: int = 25, every_s: float = EVERY_S) -> str:
    """Trains of so many packets every `every_s`, at a `share` of the rate that `heavy` has then, as the text of a file.

    The first packet of a train is sent at once.  Delays are those of `heavy`, zero if it has none.  Raises `TraceError`
    for what makes no trains.

    >>> from varicap.traces import generate_constant
    >>> light_trains(generate_constant(12e6, 1.0), packets=4).splitlines()[:2]
    ['0 0 0 2 4 6', '100 0 0 2 4 6']
    """
    if not _LEAST_SHARE <= share <= 1:
        raise TraceError(f"the share of the rate is {_LEAST_SHARE:g} to 1, not {share!r}")
    if isinstance(packets, bool) or not 1 <= packets <= 10_000:
        raise TraceError(f"a train has 1 to 10000 packets, not {packets!r}")
    if not 1e-3 <= every_s <= heavy.duration_s:
        length = f"{heavy.duration_s:g} s, the length of the trace"
        raise TraceError(f"trains come every 1 ms to {length}, not every {every_s!r} s")
    times = to_opportunities(heavy).time_ms
    period = int(times[-1])
    starts = np.rint(np.arange(0.0, heavy.duration_s - 1e-9, every_s) * 1e3).astype(np.int64)
    rounds = 2 + packets // len(times)
    coming = np.concatenate([times + turn * period for turn in range(rounds)])
    lines = [_line(int(start), heavy, coming, share, packets) for start in starts if start < period]
    _, *first = lines[0].split(" ")
    return "\n".join([*lines, " ".join([str(period), *first])]) + "\n"


def _line(start: int, heavy: Trace, coming: Millis, share: float, packets: int) -> str:
    delay = 0.0 if heavy.delay is None else float(heavy.delay.at(np.array([start / 1e3]))[0])
    after = coming[np.searchsorted(coming, start, side="right") :][: packets - 1] - start
    offsets = [0, *np.rint(after / share).astype(np.int64).tolist()]
    return " ".join(str(number) for number in (start, round(delay), *offsets))


def save_trains(text: str, path: str | Path) -> Path:
    """Write trains to a file, and return it."""
    return write_whole(path, text)
