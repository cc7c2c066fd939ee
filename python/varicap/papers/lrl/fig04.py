"""Fig. 4: the return link of the same run, which carries acknowledgements and never opens."""

from matplotlib.figure import Figure

from varicap.papers.lrl.fig03 import BASE
from varicap.papers.lrl.link import REVERSE, Measured, interval, measure
from varicap.papers.lrl.panels import over_time
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value

_WIDE = {f"{REVERSE}.capacity.load-reactive.minimum": "1 Mbit/s"}


def reproduce(run: Run) -> Outcome:
    """One flow, also with a return link that does not limit it."""
    base, wide = measure(run, BASE), measure(run, BASE, _WIDE)
    reverse = base.reverse
    late = reverse.after(10.0)
    values = {
        "F4a": reverse.capacity.max(axis=1),
        "F4b": reverse.waiting.max(axis=1),
        "F4c": reverse.throughput[:, late].mean(axis=1) / BASE.c0,
        "F4d": wide.throughput / base.throughput,
    }
    return Outcome({key: Value(sim=interval(value)) for key, value in values.items()}, lambda: _draw(base))


def _draw(base: Measured) -> Figure:
    return over_time("Fig. 4: the return link of the same run", base.reverse, BASE)
