"""LEO links: what may change at a handover, and the settings that LeoReplayer suggests."""

from collections.abc import Mapping, Sequence

from varicap.papers.run import Run
from varicap.results.result import Result

CONTROLS = ("cubic", "copa", "vegas", "bbr", "bbr3")
LOW = ("copa", "cubic", "reno", "vegas")
"""LeoReplayer's algorithms of low throughput."""
HIGH = ("bbr", "bbr3")
"""Those of high throughput, but for LeoCC, which is not there."""

_LINK = "topology.dumbbell.forward"
_CAPACITY = (
    '{ slotted-markov = { step = "15 s", rates = ["5 Mbit/s", "20 Mbit/s", "35 Mbit/s"], '
    "transitions = [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]] } }"
)
_LOSS = 'outage = "80 ms", burst = "20 ms"'
_DELAY = 'delay_spread = "30 ms"'


def _handover(*what: str) -> str:
    keys = ", ".join(['period = "15 s"', *what])
    return f"{{ {keys} }}"


CHANGES: Mapping[str, Mapping[str, str]] = {
    "nothing": {},
    "delay": {f"{_LINK}.handover": _handover(_DELAY)},
    "loss": {f"{_LINK}.handover": _handover(_LOSS)},
    "capacity": {f"{_LINK}.capacity": _CAPACITY},
    "delay and loss": {f"{_LINK}.handover": _handover(_DELAY, _LOSS)},
    "all": {f"{_LINK}.handover": _handover(_DELAY, _LOSS), f"{_LINK}.capacity": _CAPACITY},
}
"""What is different after a handover."""


def starlink(run: Run, changes: Mapping[str, str], flows: Sequence[str]) -> Result:
    """Each of these controls alone on the link."""
    return run.simulate("starlink", changes, seeds=run.pick(20, 3), flows=flows)


def replayed(run: Run, loss: str, flows: Sequence[str]) -> Result:
    """The same with a delay and a capacity that change every 15 s, as in a recording, and LeoReplayer's random loss."""
    changes = {
        f"{_LINK}.handover": _handover(_DELAY),
        f"{_LINK}.capacity": _CAPACITY,
        f"{_LINK}.loss": f'"{loss}"',
    }
    return starlink(run, changes, flows)
